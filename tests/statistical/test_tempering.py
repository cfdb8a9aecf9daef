"""Replicas that trade temperatures keep their joint law, and do not depend on how they are run."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from support.chain_cases import make_case
from support.ensemble_cases import flat_case, make_ensemble
from support.prior_recovery_cases import PRIOR, checks
from support.tempering_cases import likelihood_of_fit_alone, twin
from support.twins import LIMIT

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import FIT_LOGLIK, NUISANCE, TEMPERATURE
from raytpnn.engine.sweeps.swap import full_log_likelihood
from raytpnn.engine.tempering.options import Tempering
from raytpnn.model.prior import Prior

FAMILIES = ["gaussian", "bernoulli", "poisson"]
SWEEPS = 20
FIXED = Tempering(2, t_min=0.0, adapt=False)


@njit
def flipped_ratio(settings, hot, cold):
    gap = hot.scalar[TEMPERATURE] - cold.scalar[TEMPERATURE]
    return gap * (full_log_likelihood(settings, hot) - full_log_likelihood(settings, cold))


def level_statistics(case, replicas) -> np.ndarray:
    """Functionals of every level's state and the data."""
    found = []
    for replica in replicas.ladder.replica_at[: replicas.tempering.replicas]:
        for name in ("K", "scalar", "beta", "order", "features", "b", "gamma"):
            case.chain.state[name] = replicas.states[replica][name]
        case.compute_fit()
        found.append(case.statistics())
    return np.concatenate(found)


def largest_z(family, cold=1.0, prior_draws=True, repetitions=1000, runner=None) -> tuple[float, float]:
    """Largest |z| of the change of a functional of the joint law, and the share of accepted swaps.

    The hot replica comes from the prior, whatever the data; the cold one from the prior too, with data from
    the likelihood to the power `cold`. For a Gaussian one that is a normal with its variance divided by the
    power, times a power of the variance that tilts the prior.
    """
    n = 6
    prior = Prior(
        K_max=3, C0=0.1, max_order=2, intercept_sd=0.5, v=12.0, sigma_beta2_shape=2.0, sigma_beta2_scale=0.3
    )
    case = make_case(family, n=n, p=3, prior=prior, moves=Moves(adapt=False, step_size=0.9))
    case.rng = np.random.default_rng(5)
    replicas = make_ensemble(case, FIXED, runner=runner)
    replicas.ladder.prior_draws = prior_draws
    steps = np.log(np.full(len(case.chain.state.log_step), 0.9))
    changes, swapped = [], 0
    for repetition in range(repetitions):
        replicas.ladder.replica_at[:2] = [0, 1]
        replicas._hand_out_temperatures(np.array([0.0, cold]))
        for replica in (0, 1):
            case.load(case.prior_draw(), repetition + (replica << 20))
            if replica == 1 and family == "gaussian":
                shape = 0.5 * (prior.v - n * (1.0 - cold))
                case.chain.state.scalar[NUISANCE] = 0.5 * case.settings.v_lambda / case.rng.gamma(shape)
            case.chain.state.scalar[TEMPERATURE] = (0.0, cold)[replica]
            case.chain.state.log_step[:] = steps
            replicas.states[replica] = case.chain.state
        fit = case.compute_fit()
        nuisance = case.chain.state.scalar[NUISANCE] / (cold if family == "gaussian" else 1.0)
        case.problem.y[:] = case.family.sample(case.rng, fit, nuisance)
        before = level_statistics(case, replicas)
        replicas.run(0, SWEEPS, 0, SWEEPS + 1)
        changes.append(level_statistics(case, replicas) - before)
        swapped += replicas.status().swapped.sum()
    change = np.array(changes)
    spread = change.std(axis=0)
    moved = spread > 1e-9
    z = change.mean(axis=0)[moved] / (spread[moved] / np.sqrt(repetitions))
    return float(np.abs(z).max()), swapped / (repetitions * SWEEPS / 2)


@pytest.mark.parametrize(
    "prior_draws",
    [True, pytest.param(False, marks=pytest.mark.slow)],
    ids=["prior drawn", "prior sampled by moves"],
)
@pytest.mark.parametrize(
    "family",
    [
        "gaussian",
        pytest.param("bernoulli", marks=pytest.mark.slow),
        pytest.param("poisson", marks=pytest.mark.slow),
    ],
)
def test_joint_law_of_replicas_is_invariant(family, prior_draws):
    z, swapped = largest_z(family, prior_draws=prior_draws)
    assert swapped > 0.1, "hardly any swap: nothing was tested"
    assert z < LIMIT


@pytest.mark.slow
def test_joint_law_is_invariant_at_half_the_temperature():
    z, swapped = largest_z("gaussian", cold=0.5)
    assert swapped > 0.1
    assert z < LIMIT


@pytest.mark.parametrize(
    "broken",
    [{"log_swap_ratio": flipped_ratio}, {"full_log_likelihood": likelihood_of_fit_alone}],
    ids=["sign flipped", "noise variance forgotten"],
)
def test_broken_swap_is_seen(broken):
    z, _ = largest_z("gaussian", runner=twin(**broken))
    assert z > LIMIT


@pytest.mark.parametrize("family", FAMILIES)
def test_moves_at_temperature_zero_return_the_prior(family):
    case = make_case(family, n=6, p=4, prior=PRIOR)
    case.chain.state.scalar[TEMPERATURE] = 0.0
    record = case.chain.run(0, 40_000, 500, 1).record
    found = checks(case, record)
    worst = max(found, key=lambda name: abs(found[name]))
    assert abs(found[worst]) < LIMIT, worst
    assert np.isfinite(record.scalar[:, FIT_LOGLIK]).all()


def prior_draws(family, runner=None):
    case = make_case(family, n=6, p=4, prior=PRIOR)
    replicas = make_ensemble(case, FIXED, runner=runner)
    replicas._hand_out_temperatures(np.zeros(2))
    return checks(case, replicas.run(0, 10_000, 0, 1).record)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_replica_at_temperature_zero_draws_from_the_prior(family):
    found = prior_draws(family)
    worst = max(found, key=lambda name: abs(found[name]))
    assert abs(found[worst]) < LIMIT, worst


@njit
def one_term_too_few(settings, u):
    return int(u * settings.K_max)


def test_a_wrong_prior_draw_is_seen():
    found = prior_draws("gaussian", twin(prior_count=one_term_too_few))
    assert max(abs(z) for z in found.values()) > LIMIT


@pytest.mark.parametrize("family", FAMILIES)
def test_with_a_flat_likelihood_replicas_return_the_prior(family):
    case = flat_case(family, prior=PRIOR)
    replicas = make_ensemble(case, Tempering(3))
    found = checks(case, replicas.run(0, 20_000, 500, 1).record)
    worst = max(found, key=lambda name: abs(found[name]))
    assert abs(found[worst]) < LIMIT, worst
    status = replicas.status()
    assert np.array_equal(status.swapped, status.tried), "a flat likelihood refuses no swap"
    assert status.round_trips > 1000


def draws_of(replicas, blocks, warmup=40):
    """Everything an ensemble gives, block after block, as bytes."""
    parts = []
    for first, sweeps in blocks:
        block = replicas.run(first, sweeps, warmup, 2)
        parts += [np.asarray(field[: block.draws]).tobytes() for field in block.record]
        parts.append(block.level_loglik.tobytes())
    return parts, replicas.checkpoint()


BLOCKS = [(0, 30), (30, 30), (60, 30), (90, 30), (120, 30)]


@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_ensemble_equals_reference_decision_by_decision(family):
    case = make_case(family, n=20, p=5, prior=Prior(K_max=4), missing=0.1)
    blocks = [(0, 6), (6, 8)]
    compiled = draws_of(make_ensemble(case, Tempering(3)), blocks, warmup=8)
    reference = draws_of(make_ensemble(case, Tempering(3), backend="reference"), blocks, warmup=8)
    assert compiled == reference


@pytest.mark.parametrize("swap_every", [1, 3])
def test_threads_do_not_change_the_draws(swap_every):
    case = make_case(n=30, p=5, prior=Prior(K_max=12))
    tempering = Tempering(5, swap_every=swap_every)
    one = draws_of(make_ensemble(case, tempering), BLOCKS)
    two = draws_of(make_ensemble(case, tempering, threads=2), BLOCKS)
    assert one == two


def test_a_block_depends_on_the_checkpoint_alone():
    case = make_case(n=30, p=5, prior=Prior(K_max=12))
    whole, end = draws_of(make_ensemble(case, Tempering(4)), BLOCKS)
    early = make_ensemble(case, Tempering(4))
    first, middle = draws_of(early, BLOCKS[:2])
    late = make_ensemble(case, Tempering(4))
    late.restore(middle)
    second, last = draws_of(late, BLOCKS[2:])
    assert first + second == whole
    assert last == end
    # In the middle of warm-up, with the ladder still to be adapted.
    again = make_ensemble(case, Tempering(4))
    draws_of(again, BLOCKS[:1])
    resumed = make_ensemble(case, Tempering(4))
    resumed.restore(again.checkpoint())
    assert draws_of(resumed, BLOCKS[1:])[1] == end


def test_replicas_have_streams_of_their_own():
    case = make_case(n=30, p=5, prior=Prior(K_max=12))
    replicas = make_ensemble(case, Tempering(6, t_min=0.5, adapt=False))
    replicas.run(0, 1, 100, 1)
    words = replicas.states.stream[:, 2]
    assert len(np.unique(words)) == 6
    assert len(np.unique(replicas.states.scalar[:, NUISANCE])) == 6


def test_swaps_carry_step_sizes_and_tallies_with_the_temperature():
    case = flat_case(prior=PRIOR, moves=Moves(adapt=False))
    replicas = make_ensemble(case, Tempering(4, adapt=False))
    for level in range(4):
        replicas.states[level].log_step[:] = -level
    replicas.run(0, 7, 0, 1)
    order = replicas.ladder.replica_at[:4]
    assert not np.array_equal(order, np.arange(4))
    for level, replica in enumerate(order):
        assert replicas.states[replica].scalar[TEMPERATURE] == replicas.status().temperature[level]
        assert np.all(replicas.states[replica].log_step == -level)
    assert replicas.acceptance()["intercept"][0] == 7


def test_a_stop_ends_the_block():
    case = make_case(n=30, p=5, prior=Prior(K_max=12))
    for threads in (1, 2):
        replicas = make_ensemble(case, Tempering(3), threads=threads)
        replicas.run(0, 10, 5, 1)
        assert replicas.progress[0] == 10
        replicas.request_stop()
        block = replicas.run(10, 10, 5, 1)
        assert (block.sweeps, block.draws) == (0, 0)
        assert block.level_loglik.shape == (0, 3)


def test_a_checkpoint_of_another_ensemble_is_refused():
    case = make_case(n=30, p=5, prior=Prior(K_max=12))
    with pytest.raises(ValueError, match="ensemble of 4 replicas has"):
        make_ensemble(case, Tempering(4)).restore(make_ensemble(case, Tempering(3)).checkpoint())


def test_chain_numbers_that_would_collide_are_refused():
    case = make_case(n=30, p=5)
    case.chain.state.stream[2] = 1 << 20
    with pytest.raises(ValueError, match="numbered below 1,048,576"):
        make_ensemble(case, Tempering(3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicas": 1}, "from 2 to 256, got 1"),
        ({"replicas": 8.0}, "whole number"),
        ({"replicas": True}, "whole number"),
        ({"swap_every": 0}, "swap_every must be a whole number from 1"),
        ({"t_min": 1.0}, r"None or lie in \[0, 1\), got 1.0"),
        ({"t_min": float("nan")}, "got nan"),
        ({"t_min": "0"}, "got '0'"),
        ({"adapt": 1}, "adapt must be True or False, got 1"),
    ],
)
def test_impossible_tempering_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Tempering(**options)
