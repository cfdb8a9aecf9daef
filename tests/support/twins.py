"""What `test_invariance` and other tests share: FAMILIES, LIMIT, SWEEPS, TWINS, largest_z, only, twin.

DISCOVERING_TWINS are for cases whose births draw by weights and from a table.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from support.chain_cases import NO_MOVES, make_case

from raytpnn.engine.jit.pointers import doubles
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.moves.refit_factor import LOG_SCALE, SCALE
from raytpnn.engine.records import B_GAMMA
from raytpnn.engine.reference.rebinding import rebuild
from raytpnn.engine.rows.factor_tables import SMALLEST_MEAN, factor_table, slope_tables
from raytpnn.engine.rows.feature_sets import terms_on_set, weight_off_set
from raytpnn.engine.rows.row_passes import multiply_factor
from raytpnn.engine.sweeps.sweep import run_block
from raytpnn.model.prior import Prior
from raytpnn.numerics.elementary import exp, log

LIMIT = 4.5

SWEEPS = 40

FAMILIES = ["gaussian", "bernoulli", "poisson"]


def only(**moves) -> Moves:
    return Moves(**{**NO_MOVES, "adapt": False, **moves})


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


@njit
def no_jacobian_of_the_walk(settings, state, now, after):
    log_ratio = (settings.a_gamma - 1.0) * (after[LOG_SCALE] - now[LOG_SCALE])
    return log_ratio - (after[SCALE] - now[SCALE]) / state.scalar[B_GAMMA]


@njit
def always_taken(settings, state, change, gain):
    return 0.0


# Twins that only another family than the gaussian shows.
FAMILY_OF_TWIN = {"likelihood forgotten after a refit": "poisson"}


@njit
def table_forgotten(problem, features, d):
    """As if no set of the table had been drawn from it."""
    return 0.0


@njit
def weights_forgotten(problem, settings, features, d):
    """As if the features of a set from the prior had been drawn uniformly."""
    return exp(settings.log_set_prior[d])


# Births that draw features by weight, and sets from a table.
DISCOVERING_TWINS = {
    "table forgotten in the ratio of a birth": {"table_probability": table_forgotten},
    "weights forgotten in the ratio of a birth": {"weighted_probability": weights_forgotten},
}

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
    "log-gamma Jacobian left out of a refit": ("refit", {"log_scale_ratio": no_jacobian_of_the_walk}),
    # A quadratic likelihood is not approximated.
    "likelihood forgotten after a refit": ("refit", {"log_correction": always_taken}),
}
