"""Temperatures: where they start, and where adaptation leads them."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import make_case
from support.ensemble_cases import make_ensemble

from raytpnn.engine.records import TEMPERATURE
from raytpnn.engine.tempering.ladder import (
    LONGEST,
    WANTED,
    adaptation_sweeps,
    adapted_temperatures,
    first_temperatures,
    pair_barriers,
)
from raytpnn.engine.tempering.options import Tempering
from raytpnn.model.prior import Prior


@pytest.mark.parametrize("levels", [2, 3, 8, 40])
@pytest.mark.parametrize("t_min", [0.0, 0.3])
def test_first_ladder_rises_from_its_hot_end_to_one(levels, t_min):
    ladder = first_temperatures(levels, t_min, 500)
    assert len(ladder) == levels
    assert ladder[0] == pytest.approx(t_min, rel=1e-12)
    assert ladder[-1] == 1.0
    assert np.all(np.diff(ladder) > 0)


def test_the_ladder_is_adapted_at_fixed_sweeps_of_warm_up():
    assert adaptation_sweeps(1000) == [50, 100, 200, 400, 800]
    assert adaptation_sweeps(10) == [1, 2, 4, 8]
    assert adaptation_sweeps(0) == []


def test_barrier_is_the_rejection_of_short_steps_and_adds_up():
    small = np.array([0.01, 0.05])
    assert pair_barriers(small) == pytest.approx(small, rel=0.01)
    # Normal log-likelihoods: twice the distance is twice the barrier, far beyond where rejection saturates.
    from scipy.stats import norm

    rejection = 1.0 - 2.0 * norm.cdf(-np.array([0.5, 1.0, 2.0, 4.0]))
    barrier = pair_barriers(rejection)
    assert barrier[1:] == pytest.approx(2.0 * barrier[:-1], rel=1e-6)


def rejection_on(ladder: np.ndarray, barrier_of) -> np.ndarray:
    """Rejection probabilities of a model whose barrier function is known."""
    from scipy.stats import norm

    distance = np.diff(barrier_of(ladder))
    return 1.0 - 2.0 * norm.cdf(-distance / np.sqrt(2.0 / np.pi))


def data_rich(ladder: np.ndarray) -> np.ndarray:
    """log-like beyond T = 0.01."""
    return 1.2 * np.log1p(ladder / 0.01)


def data_poor(ladder: np.ndarray) -> np.ndarray:
    return 3.0 * np.sqrt(ladder)


@pytest.mark.parametrize("barrier_of", [data_rich, data_poor])
@pytest.mark.parametrize("t_min", [0.0, 0.05])
def test_adaptation_leads_to_equal_rejection(barrier_of, t_min):
    ladder = first_temperatures(10, t_min, 10_000)
    start = rejection_on(ladder, barrier_of)
    assert np.ptp(start) > 0.03
    for _ in range(5):
        ladder = adapted_temperatures(ladder, rejection_on(ladder, barrier_of), 10_000)
        assert np.all(np.diff(ladder) > 0)
    assert ladder[0] == pytest.approx(t_min, rel=1e-12)
    assert ladder[-1] == 1.0
    assert np.ptp(rejection_on(ladder, barrier_of)) < 0.02


def long_barrier(ladder: np.ndarray) -> np.ndarray:
    return 5.0 * np.log1p(ladder / 0.001)


def test_a_ladder_too_long_to_travel_is_cut_to_what_its_replicas_reach():
    ladder = first_temperatures(8, 0.0, 1000)
    for _ in range(4):
        ladder = adapted_temperatures(ladder, rejection_on(ladder, long_barrier), 1000, fixed_end=False)
    rejection = rejection_on(ladder, long_barrier)
    assert ladder[0] > 0.1
    assert rejection == pytest.approx(WANTED, abs=0.05)


def test_a_ladder_cut_too_short_grows_again():
    ladder = np.linspace(0.9, 1.0, 8)
    for _ in range(6):
        ladder = adapted_temperatures(ladder, rejection_on(ladder, long_barrier), 1000, fixed_end=False)
    assert rejection_on(ladder, long_barrier) == pytest.approx(WANTED, abs=0.05)


def test_a_ladder_that_can_reach_the_prior_ends_there():
    ladder = np.linspace(0.5, 1.0, 8)
    for _ in range(8):
        ladder = adapted_temperatures(ladder, rejection_on(ladder, data_poor), 100, fixed_end=False)
    assert ladder[0] == 0.0
    assert rejection_on(ladder, data_poor).max() < LONGEST


def test_the_ladder_moves_in_warm_up_only():
    case = make_case(n=30, p=5, prior=Prior(K_max=12))
    replicas = make_ensemble(case, Tempering(5))
    start = replicas.status().temperature
    replicas.run(0, 100, 200, 1)
    middle = replicas.status().temperature
    replicas.run(100, 100, 200, 1)
    end = replicas.status()
    assert not np.array_equal(start, middle)
    assert not np.array_equal(middle, end.temperature)
    assert replicas.ladder.rounds == 5
    assert end.tried.sum() == 0, "warm-up does not count"
    assert np.isnan(end.barrier)
    replicas.run(200, 300, 200, 1)
    after = replicas.status()
    assert np.array_equal(end.temperature, after.temperature)
    assert after.tried.tolist() == [150] * 4
    held = sorted(replicas.states.scalar[:, TEMPERATURE])
    assert np.array_equal(held, after.temperature)


def test_a_ladder_without_adaptation_stays():
    case = make_case(n=30, p=5, prior=Prior(K_max=12))
    replicas = make_ensemble(case, Tempering(5, t_min=0.2, adapt=False))
    replicas.run(0, 100, 80, 1)
    assert np.array_equal(replicas.status().temperature, first_temperatures(5, 0.2, 30))
