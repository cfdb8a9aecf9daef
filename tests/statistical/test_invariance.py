"""Each move alone leaves the joint law of state and data as it was.

States come from the prior, data from the model given the state, then the move is applied 40 times. If
it leaves the posterior invariant, no functional of (state, data) changes in mean. The differences are
paired, so that small mistakes show. A run makes up to 20 z-tests; each fails by chance with probability
7e-6 (|z| > 4.5), so that all tests of this file together raise a false alarm about once in 120 runs with
new seeds; the seeds are fixed.
"""

from __future__ import annotations

import pytest
from numba import njit
from support.chain_cases import make_case
from support.twins import (
    DISCOVERING_TWINS,
    FAMILIES,
    FAMILY_OF_TWIN,
    LIMIT,
    TWINS,
    largest_z,
    only,
    twin,
)

from raytpnn.engine.moves import langevin
from raytpnn.engine.moves.options import Moves
from raytpnn.model.prior import Prior

MOVES = {
    "birth_death": only(birth_death_attempts=5),
    "birth_death from the prior": only(birth_death_attempts=5, conditional_beta=False),
    "restructure": only(restructure=True),
    "restructure, beta kept": only(restructure=True, conditional_beta=False),
    "langevin": only(langevin=True, step_size=1.0),
    "langevin, raw gamma": only(langevin=True, step_size=0.05, log_gamma=False, preconditioned=False),
    "refit": only(langevin=True, factor_steps=3, step_size=1.0),
    "changing, location and scale kept": only(restructure=True, q_keep=1.0, q_change=1.0, q_join=0.0),
    "joint_beta": only(joint_beta_every=1, step_size=0.8),
    "intercept": only(intercept=True),
    "nuisance": only(nuisance=True),
    "scales": only(scales=True),
    "joining": only(restructure=True, q_join=0.95),
    "component": only(component_changes=5),
    "all together": Moves(adapt=False, step_size=0.9),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", MOVES)
def test_move_leaves_the_posterior_invariant(name, family):
    if name == "nuisance" and family != "gaussian":
        pytest.skip("only the gaussian family has a nuisance")
    z, changed = largest_z(MOVES[name], family, 2000)
    assert changed > 0.2, "the move never moves: nothing was tested"
    assert z < LIMIT


def test_large_counts_leave_the_posterior_invariant():
    prior = Prior(
        K_max=4, C0=0.1, max_order=3, intercept_sd=0.7, sigma_beta2_shape=2.0, sigma_beta2_scale=0.5
    )
    z, changed = largest_z(MOVES["all together"], "poisson", 2000, prior=prior)
    assert changed > 0.2
    assert z < LIMIT


# Terms are bounded, sets independent, scales fixed by the rule. Fewer terms, for the sake of time; an
# intercept that leaves counts finite.
DEFAULT = Prior(K_max=12, intercept_sd=0.5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "name",
    [
        "all together",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("birth_death", "restructure", "langevin", "refit", "joint_beta", "intercept")
        ),
    ],
)
def test_move_leaves_the_posterior_of_the_default_prior_invariant(name, family):
    z, changed = largest_z(MOVES[name], family, 1000, prior=DEFAULT)
    assert changed > 0.2, "the move never moves: nothing was tested"
    assert z < LIMIT


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prior", [None, DEFAULT], ids=["shared sets", "default prior"])
def test_births_by_weight_and_from_a_table_leave_the_posterior_invariant(family, prior):
    z, changed = largest_z(MOVES["birth_death"], family, 2000, prior=prior, discovering=True)
    assert changed > 0.2
    assert z < LIMIT


@pytest.mark.parametrize("name", DISCOVERING_TWINS)
def test_forgotten_proposal_of_a_birth_is_seen(name):
    block = twin(**DISCOVERING_TWINS[name])
    z, _ = largest_z(MOVES["birth_death"], "gaussian", 2000, block=block, discovering=True)
    assert z > LIMIT


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_moves_leave_the_posterior_of_the_paper_prior_invariant(family):
    """Unbounded terms, each with a set of its own."""
    prior = Prior(K_max=4, C0=0.1, max_order=3, bounded=False, sharing=0.0, sigma_beta2=0.05, v=8.0)
    z, changed = largest_z(MOVES["all together"], family, 2000, prior=prior)
    assert changed > 0.2
    assert z < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TWINS if "height" in name])
def test_forgotten_height_is_seen_with_the_default_prior(name):
    move, replacements = TWINS[name]
    z, _ = largest_z(MOVES[move], "gaussian", 4000, block=twin(**replacements), prior=DEFAULT)
    assert z > LIMIT


@pytest.mark.parametrize("name", TWINS)
def test_broken_twin_is_seen(name):
    move, replacements = TWINS[name]
    family = FAMILY_OF_TWIN.get(name, "gaussian")
    z, _ = largest_z(MOVES[move], family, 2000, block=twin(**replacements))
    assert z > LIMIT


def test_a_twin_with_nothing_broken_is_the_sampler_itself():
    same = twin(log_determinant=njit(langevin.log_determinant.py_func))
    moves = MOVES["langevin"]
    states = []
    for block in (None, same):
        case = make_case(moves=moves, run_block=block, n=20)
        case.load(case.prior_draw(), 5)
        case.chain.run(0, 30, 0, 1)
        states.append(case.chain.checkpoint())
    assert states[0] == states[1], "the copy took other decisions"
