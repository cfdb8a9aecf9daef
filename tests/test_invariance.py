"""Each move alone leaves the joint law of state and data as it was.

States come from the prior, data from the model given the state, then the move is applied 40 times. If
it leaves the posterior invariant, no functional of (state, data) changes in mean. The differences are
paired, so that small mistakes show. A run makes up to 20 z-tests; each fails by chance with probability
7e-6 (|z| > 4.5), so that all tests of this file together raise a false alarm about once in 200 runs with
new seeds; the seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from chain_cases import NO_MOVES, make_case
from numba import njit

from raytpnn.engine.binding import rebuild
from raytpnn.engine.memory import doubles
from raytpnn.engine.moves import langevin
from raytpnn.engine.rows import multiply_factor
from raytpnn.engine.sets import terms_on_set, weight_off_set
from raytpnn.engine.settings import Moves
from raytpnn.engine.sweep import run_block
from raytpnn.engine.tables import SMALLEST_MEAN, factor_table, slope_tables
from raytpnn.model.prior import Prior
from raytpnn.numerics.elementary import log

LIMIT = 4.5
SWEEPS = 40
FAMILIES = ["gaussian", "bernoulli", "poisson"]


def only(**moves) -> Moves:
    return Moves(**{**NO_MOVES, "adapt": False, **moves})


MOVES = {
    "birth_death": only(birth_death_attempts=5),
    "birth_death from the prior": only(birth_death_attempts=5, conditional_beta=False),
    "restructure": only(restructure=True),
    "restructure, beta kept": only(restructure=True, conditional_beta=False),
    "langevin": only(langevin=True, step_size=1.0),
    "langevin, raw gamma": only(langevin=True, step_size=0.05, log_gamma=False, preconditioned=False),
    "changing, location and scale kept": only(restructure=True, q_keep=1.0, q_change=1.0, q_join=0.0),
    "joint_beta": only(joint_beta_every=1, step_size=0.8),
    "intercept": only(intercept=True),
    "nuisance": only(nuisance=True),
    "scales": only(scales=True),
    "joining": only(restructure=True, q_join=0.95),
    "component": only(component_changes=5),
    "all together": Moves(adapt=False, step_size=0.9),
}


def largest_z(
    moves: Moves, family: str, repetitions: int, block=None, seed: int = 3, prior: Prior | None = None, **more
) -> tuple[float, float]:
    """Largest |z| over the functionals, and the share of repetitions that changed anything."""
    case = make_case(family, n=12, p=4, prior=prior, moves=moves, run_block=block, seed=seed, **more)
    case.rng = np.random.default_rng(seed)
    case.chain.state.log_step[:] = np.log(moves.step_size)
    case.chain.state.walk_step[:] = np.log(moves.step_size)
    differences = []
    for repetition in range(repetitions):
        case.load(case.prior_draw(), repetition)
        case.simulate_response()
        case.compute_fit()
        before = case.statistics()
        case.chain.run(0, SWEEPS, SWEEPS, 1)
        differences.append(case.statistics() - before)
    change = np.array(differences)
    spread = change.std(axis=0)
    moved = spread > 1e-9
    z = change.mean(axis=0)[moved] / (spread[moved] / np.sqrt(repetitions))
    return float(np.abs(z).max(initial=0.0)), float(np.mean(np.any(np.abs(change) > 1e-9, axis=1)))


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
            for name in ("birth_death", "restructure", "langevin", "joint_beta", "intercept")
        ),
    ],
)
def test_move_leaves_the_posterior_of_the_default_prior_invariant(name, family):
    z, changed = largest_z(MOVES[name], family, 1000, prior=DEFAULT)
    assert changed > 0.2, "the move never moves: nothing was tested"
    assert z < LIMIT


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_moves_leave_the_posterior_of_the_paper_prior_invariant(family):
    """Unbounded terms, each with a set of its own."""
    prior = Prior(K_max=4, C0=0.1, max_order=3, bounded=False, sharing=0.0, sigma_beta2=0.05, v=8.0)
    z, changed = largest_z(MOVES["all together"], family, 2000, prior=prior)
    assert changed > 0.2
    assert z < LIMIT


def twin(**broken):
    """The compiled sampler with some functions replaced."""
    return rebuild(run_block, broken, lambda function: njit(function, nogil=True, error_model="numpy"))


@njit
def no_count_ratio(K, K_max):
    return 0.0


@njit
def deleting_by_the_old_complement(problem, settings, small, d, feature):
    """As published: the feature's weight over the complement of the larger set."""
    weight = doubles(problem.feature_weight, problem.p)[feature]
    off = weight_off_set(problem, small, d)
    forward = log(settings.q_add) + log(weight / (off - weight))
    backward = log(settings.q_delete / (d + 1.0))
    return forward - backward


@njit
def no_jacobian(settings, gamma, b_gamma):
    return (settings.a_gamma - 1.0) * log(gamma) - gamma / b_gamma


@njit
def no_weights(problem, features, d, feature):
    return 0.0


@njit
def no_determinant(precision, size):
    return 0.0


@njit
def height_forgotten_where_proposed(problem, settings, work, features, b, gamma, d):
    """Tables of a term; where they are of the proposed point, of one without heights."""
    proposed = b[0] == work.trial_b[0, 0]
    bounded = work.bounded
    if proposed:
        work.bounded = 0
    inside = True
    for j in range(d):
        c = factor_table(problem, work, j, features[j], b[j], gamma[j])
        inside = inside and c >= SMALLEST_MEAN
        if inside:
            slope_tables(problem, work, settings.max_order, j, features[j], b[j], gamma[j], c)
    work.bounded = bounded
    return inside


@njit
def height_forgotten_in_new_terms(problem, work, features, b, gamma, d, first, row):
    """Basis function of a term; of a proposed one, without heights."""
    bounded = work.bounded
    if b[0] == work.trial_b[0, 0]:
        work.bounded = 0
    inside = True
    for j in range(first, d):
        c = factor_table(problem, work, j, features[j], b[j], gamma[j])
        inside = inside and c >= SMALLEST_MEAN
        if inside:
            multiply_factor(problem, work, features[j], j, row)
    work.bounded = bounded
    return inside


@njit
def every_set_alone(settings, state, features, d, skip):
    return settings.log_set_prior[d]


@njit
def term_itself_counted(state, features, d, skip):
    """All terms on a set, the one that leaves it too."""
    return terms_on_set(state, features, d, -1)


@njit
def way_back_forgotten(problem, here, there, d, old, new):
    weight = doubles(problem.feature_weight, problem.p)[new]
    return -log(weight / weight_off_set(problem, here, d))


@njit
def never_taken(state, features, d):
    return False


TWINS = {
    "height forgotten in the ratio of a birth": ("birth_death", {"build_phi": height_forgotten_in_new_terms}),
    "height forgotten in the ratio of a changed set": (
        "restructure",
        {"build_phi": height_forgotten_in_new_terms},
    ),
    "height forgotten in the Langevin acceptance": (
        "langevin",
        {"term_tables": height_forgotten_where_proposed},
    ),
    "sharing forgotten in the ratio": ("birth_death", {"log_set_weight": every_set_alone}),
    "sharing forgotten when a set is changed": ("restructure", {"log_set_weight": every_set_alone}),
    "the term itself counted in joining": ("joining", {"terms_on_set": term_itself_counted}),
    "way back forgotten for a component": ("component", {"log_exchange_ratio": way_back_forgotten}),
    "component merged with another": ("component", {"is_taken": never_taken}),
    "log((K+1)/(Kmax-K)) dropped": ("birth_death", {"log_count_ratio": no_count_ratio}),
    "reverse complement forgotten in Deleting": (
        "restructure",
        {"log_deleting_ratio": deleting_by_the_old_complement},
    ),
    "weights of two exchanged features forgotten": (
        "changing, location and scale kept",
        {"log_pick": no_weights},
    ),
    "log-gamma Jacobian left out": ("langevin", {"log_gamma_prior": no_jacobian}),
    "log-determinant of the scale left out": ("langevin", {"log_determinant": no_determinant}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TWINS if "height" in name])
def test_forgotten_height_is_seen_with_the_default_prior(name):
    move, replacements = TWINS[name]
    z, _ = largest_z(MOVES[move], "gaussian", 4000, block=twin(**replacements), prior=DEFAULT)
    assert z > LIMIT


@pytest.mark.parametrize("name", TWINS)
def test_broken_twin_is_seen(name):
    move, replacements = TWINS[name]
    z, _ = largest_z(MOVES[move], "gaussian", 2000, block=twin(**replacements))
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
