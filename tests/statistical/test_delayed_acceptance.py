"""Delayed acceptance is exact: it returns the prior without data and leaves the posterior invariant.

The tests are those of `test_invariance.py`, `test_prior_recovery.py` and `test_calibration.py`, with a subset
of 5 among 12 rows. Any odd function of the subset's log ratio is exact: the sampler's own leaves a margin, in
which it does not screen, so that a second one without any margin puts all weight on the two stages.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numba import njit
from support.calibration_cases import LEVEL, calibration
from support.chain_cases import make_case
from support.prior_recovery_cases import run_without_data
from support.twins import FAMILIES, LIMIT, largest_z, only, twin

from raytpnn.engine.jit.pointers import problem_at, work_at
from raytpnn.engine.moves.delayed_acceptance import log_birth_screen
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import DELAYED, DELAYED_IF_IT_PAYS
from raytpnn.engine.rows.row_passes import gather_fit
from raytpnn.engine.rows.subset import take_subset
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.engine.rows.term_moments import moments_without

SCREENED = SubsetUse(5, DELAYED, attempts=3)

MOVES = {
    "birth_death": only(birth_death_attempts=5),
    "birth_death from the prior": only(birth_death_attempts=5, conditional_beta=False),
    "restructure": only(restructure=True),
    "restructure, beta kept": only(restructure=True, conditional_beta=False),
    "walk": only(langevin=True, step_size=1.0),
    "walk, raw gamma": only(langevin=True, step_size=0.1, log_gamma=False, preconditioned=False),
    "all together": Moves(adapt=False, step_size=0.9),
}


@njit
def no_margin(log_ratio, squares, excess):
    return log_ratio


@njit
def check_forgets_screen(log_ratio, log_screen):
    return log_ratio


@njit
def no_check(log_ratio, log_screen):
    return 0.0


@njit
def death_on_another_subset(problem, settings, state, work, k, log_set):
    """Screen a death on a subset that the birth back would not look at."""
    part, own = problem_at(work.batch), work_at(work.batch_work)
    state.stream[3] += np.uint64(1000)
    take_subset(problem, state, work)
    gather_fit(problem, work, part, own, state.K)
    dot, norm, _, _ = moments_without(part, settings, state, own, k, state.beta[k], k)
    ratio = -log_birth_screen(problem, settings, part, state, dot, norm, log_set)
    state.stream[3] -= np.uint64(1000)
    take_subset(problem, state, work)
    gather_fit(problem, work, part, own, state.K)
    own.at_fit = 0
    return ratio


@njit
def no_determinant(precision, size):
    return 0.0


BROKEN = {
    "beyond_margin": no_margin,
    "second_stage": check_forgets_screen,
    "screen_death": death_on_another_subset,
    "log_determinant": no_determinant,
}


@cache
def twin_of(*names, without_check=False):
    """The sampler with some functions replaced; compiled once."""
    replaced = {name: BROKEN[name] for name in names}
    if without_check:
        replaced["second_stage"] = no_check
    return twin(**replaced)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", MOVES)
def test_screened_move_leaves_the_posterior_invariant(name, family):
    z, changed = largest_z(MOVES[name], family, 2000, subsets=SCREENED)
    assert changed > 0.2, "the move never moves: nothing was tested"
    assert z < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_screen_without_margin_leaves_the_posterior_invariant(family):
    block = twin_of("beyond_margin")
    for name in ("birth_death", "restructure", "all together"):
        z, changed = largest_z(MOVES[name], family, 2000, block=block, subsets=SCREENED)
        assert changed > 0.2
        assert z < LIMIT


def assert_seen(block, *moves):
    for move in moves:
        z, _ = largest_z(MOVES[move], "gaussian", 2000, block=block, subsets=SCREENED)
        assert z > LIMIT, move


def test_a_check_that_forgets_the_screen_is_seen():
    assert_seen(twin_of("beyond_margin", "second_stage"), "birth_death", "restructure")


@pytest.mark.slow
def test_no_check_on_all_rows_is_seen():
    assert_seen(twin_of("beyond_margin", without_check=True), "birth_death", "restructure")


@pytest.mark.slow
def test_another_subset_on_the_way_back_is_seen():
    assert_seen(twin_of("beyond_margin", "screen_death"), "birth_death")


@pytest.mark.slow
def test_scales_of_the_walk_without_their_determinant_are_seen():
    assert_seen(twin_of("log_determinant"), "walk")


@pytest.mark.parametrize("family", FAMILIES)
def test_screened_sampler_without_data_returns_the_prior(family):
    found = run_without_data(family, Moves(), subsets=SubsetUse(3, DELAYED))
    worst = max(found, key=lambda name: abs(found[name]))
    assert abs(found[worst]) < LIMIT, worst


def test_broken_twin_is_seen_without_data():
    block = twin_of("beyond_margin", "second_stage")
    found = run_without_data("gaussian", Moves(), block=block, subsets=SubsetUse(3, DELAYED))
    assert max(abs(z) for z in found.values()) > LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_ranks_are_uniform(family):
    p_values = calibration(family, 1000, subsets=SCREENED)
    assert p_values.min() > LEVEL, p_values


@pytest.mark.slow
def test_broken_twin_is_not_calibrated():
    block = twin_of("beyond_margin", "second_stage")
    assert calibration("gaussian", 1000, block, subsets=SCREENED).min() < LEVEL


def test_the_screen_screens():
    case = make_case(n=12, p=4, subsets=SCREENED)
    case.chain.run(0, 400, 0, 1)
    proposed, passed, accepted, _ = case.chain.state.screen_tally[:3, 1].T
    assert np.all(passed < proposed)
    assert np.all(accepted < passed)
    assert np.all(accepted > 0)


def tuned_chain(rows, sweeps):
    case = make_case(n=12, p=4, subsets=SubsetUse(rows, DELAYED_IF_IT_PAYS))
    case.chain.run(0, sweeps, 300, 1)
    return case.chain


def test_what_pays_is_decided_in_warm_up_and_then_kept():
    before, at, late = (tuned_chain(4, sweeps) for sweeps in (199, 201, 600))
    assert not before.state.screened.any()
    assert before.state.screen_tally[:, :, 0].min() > 0, "both ways were to be tried"
    assert np.array_equal(at.state.screened, late.state.screened)
    counted = late.state.screen_tally[:, :, 0] - at.state.screen_tally[:, :, 0]
    for group in range(3):
        assert counted[group, 1 - late.state.screened[group]] == 0, "the way not chosen went on"


def test_a_screen_of_nearly_all_rows_does_not_pay():
    chain = tuned_chain(11, 300)
    assert not chain.state.screened[:3].any()
    assert not any(group["screened"] for group in list(chain.screening().values())[:3])
