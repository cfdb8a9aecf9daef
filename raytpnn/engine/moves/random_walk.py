"""Random walk of the numbers of one term, in the place of its Langevin step where proposals are screened.

A Langevin step looks at all rows for two gradients, some ten passes; this looks at them once, for the
log-likelihood of what is proposed. Its scales are curvatures from the sweep's subset, at both ends. The
subset's gradient is not used: it is off by sqrt(n/m) standard errors, so that a step along it is worse than
one without any.
"""

from __future__ import annotations

import math

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.pointers import problem_at, work_at
from raytpnn.engine.jit.signatures import CHAIN, DOUBLE, INTEGER
from raytpnn.engine.moves.adaptation import adapted
from raytpnn.engine.moves.delayed_acceptance import count_step
from raytpnn.engine.moves.langevin import (
    GRADIENT,
    GRADIENT_THERE,
    HERE,
    PRECISION,
    PRECISION_THERE,
    THERE,
    gradient_and_precision,
    log_prior_of_term,
    log_proposal,
    point_of_term,
    propose_point,
    take_step,
    term_tables,
)
from raytpnn.engine.moves.likelihood import likelihood_scale
from raytpnn.engine.moves.proposed_term import build_phi
from raytpnn.engine.records import FIT_LOGLIK, FOR_LANGEVIN, LANGEVIN
from raytpnn.engine.rows.row_passes import MOMENTS, evaluate, multiply_factor
from raytpnn.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.numerics.elementary import exp, log
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import uniforms

__all__ = ["walk"]

# Acceptance rate that walks of a few dimensions do best with.
WALK_ACCEPTANCE = 0.3


@internal
def scales_without_drift(settings, state, sums, gamma, beta, d, gradient, precision):
    """Precision of the proposal from the row sums; no gradient."""
    gradient_and_precision(settings, state, sums, gamma, beta, d, gradient, precision)
    for i in range(2 * d + 1):
        gradient[i] = 0.0


@unit(DOUBLE(*CHAIN, INTEGER, DOUBLE))
def propose_walk(problem, settings, state, work, k, step):
    """Propose with the subset's scales; what they and the prior add to the log ratio, or minus infinity."""
    part, own = problem_at(work.batch), work_at(work.batch_work)
    d = state.order[k]
    size = 2 * d + 1
    trial = settings.K_max
    features = state.features[k]
    point = work.point
    need = DERIVATIVES + MOMENTS
    own.at_fit = 0
    if not term_tables(part, settings, own, features, state.b[k], state.gamma[k], d):
        return -math.inf
    evaluate(part, settings, state, own, own.fit, k, 0.0, k, 0.0, need, k, features, d)
    beta = state.beta[k]
    gamma = state.gamma[k]
    point_of_term(settings, state, work, k)
    scales_without_drift(settings, state, own.sums, gamma, beta, d, point[GRADIENT], point[PRECISION])
    here = log_prior_of_term(settings, state, gamma, beta, d)
    if not propose_point(settings, state, work, k, step, size):
        return -math.inf
    new_gamma = work.trial_gamma[0]
    if not term_tables(part, settings, own, features, work.trial_b[0], new_gamma, d):
        return -math.inf
    for j in range(d):
        multiply_factor(part, own, features[j], j, trial)
    new_beta = point[THERE, 2 * d]
    evaluate(part, settings, state, own, own.fit, k, beta, trial, new_beta, need, trial, features, d)
    there_gradient, there_precision = point[GRADIENT_THERE], point[PRECISION_THERE]
    scales_without_drift(settings, state, own.sums, new_gamma, new_beta, d, there_gradient, there_precision)
    there = log_prior_of_term(settings, state, new_gamma, new_beta, d)
    back = log_proposal(point[THERE], there_gradient, there_precision, point[HERE], step, size)
    forth = log_proposal(point[HERE], point[GRADIENT], point[PRECISION], point[THERE], step, size)
    return there - here + back - forth


@internal
def log_ratio_of_walk(problem, settings, state, work, k, step):
    """Propose and evaluate: the log acceptance ratio, minus infinity if impossible."""
    d = state.order[k]
    trial = settings.K_max
    features = state.features[k]
    log_ratio = propose_walk(problem, settings, state, work, k, step)
    if log_ratio == -math.inf:
        return log_ratio
    if not build_phi(problem, work, features, work.trial_b[0], work.trial_gamma[0], d, 0, trial):
        return -math.inf
    beta = state.beta[k]
    new_beta = work.point[THERE, 2 * d]
    evaluate(
        problem,
        settings,
        state,
        work,
        work.fit,
        k,
        beta,
        trial,
        new_beta,
        LIKELIHOOD,
        0,
        work.trial_features[0],
        0,
    )
    scale = likelihood_scale(settings, state)
    return log_ratio + scale * (work.sums[0] - state.scalar[FIT_LOGLIK])


@internal
def walk(problem, settings, state, work, k, warming_up):
    """One random step of term k."""
    d = state.order[k]
    log_ratio = log_ratio_of_walk(problem, settings, state, work, k, exp(state.walk_step[d]))
    u, _ = uniforms(state, FOR_LANGEVIN, k, 0)
    accepted = log(u) < log_ratio
    state.tally[LANGEVIN, 0] += 1
    count_step(settings, state, work, d, accepted, (d + 2) * problem.n_all + (7 * d + 4) * settings.batch)
    if accepted:
        state.tally[LANGEVIN, 1] += 1
        take_step(problem, settings, state, work, k)
    if warming_up and settings.adapt:
        state.walk_count[d] += 1
        state.walk_step[d] = adapted(state.walk_step[d], state.walk_count[d], log_ratio, WALK_ACCEPTANCE)
