"""Langevin step of the numbers of one term: theta = (b, log gamma or gamma, beta).

q(theta' | theta) = N(theta + eps^2/2 D U, eps^2 D) with D diagonal. D depends on the state (the curvature
of every coordinate), so the ratio carries it at both ends, log-determinants included.
"""

from __future__ import annotations

import math

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.signatures import (
    CHAIN,
    DOUBLE,
    FEATURES,
    FLAG,
    INTEGER,
    PROBLEM_T,
    SETTINGS_T,
    VECTOR,
    WORK_T,
)
from raytpnn.engine.moves.adaptation import adapt_step
from raytpnn.engine.moves.delayed_acceptance import count_step, follow_term
from raytpnn.engine.moves.likelihood import likelihood_scale
from raytpnn.engine.moves.proposed_term import take_trial
from raytpnn.engine.records import (
    B_GAMMA,
    FIT_LOGLIK,
    FOR_LANGEVIN,
    LANGEVIN,
    SIGMA_BETA2,
)
from raytpnn.engine.rows.factor_tables import SMALLEST_MEAN, factor_table, slope_tables
from raytpnn.engine.rows.row_passes import MOMENTS, copy_phi, evaluate, multiply_factor, take_trial_fit
from raytpnn.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.numerics.elementary import exp, log, normal_quantile
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import uniforms

__all__ = [
    "HERE",
    "PRECISION",
    "PRECISION_THERE",
    "THERE",
    "gradient_and_precision",
    "langevin",
    "log_prior_of_term",
    "log_proposal",
    "point_of_term",
    "propose_point",
    "take_step",
    "term_tables",
]

# Rows of Work.point.
HERE, GRADIENT, PRECISION, THERE, GRADIENT_THERE, PRECISION_THERE = range(6)
# Precision of b under its uniform prior: its scale where the likelihood says nothing.
UNIFORM_PRECISION = 12.0


@unit(FLAG(PROBLEM_T, SETTINGS_T, WORK_T, FEATURES, VECTOR, VECTOR, INTEGER))
def term_tables(problem, settings, work, features, b, gamma, d):
    """Factor and slope tables of a term; False if a factor has no mass."""
    for j in range(d):
        c = factor_table(problem, work, j, features[j], b[j], gamma[j])
        if not c >= SMALLEST_MEAN:
            return False
        slope_tables(problem, work, settings.max_order, j, features[j], b[j], gamma[j], c)
    return True


@internal
def log_gamma_prior(settings, gamma, b_gamma):
    """Log prior of one scale in the coordinate that moves: the Jacobian of log gamma adds one log gamma."""
    power = settings.a_gamma if settings.log_gamma else settings.a_gamma - 1.0
    return power * log(gamma) - gamma / b_gamma


@internal
def log_prior_of_term(settings, state, gamma, beta, d):
    """Log prior of the term's numbers, up to a constant: the log target without the likelihood."""
    value = -0.5 * (beta * beta) / state.scalar[SIGMA_BETA2]
    for j in range(d):
        value += log_gamma_prior(settings, gamma[j], state.scalar[B_GAMMA])
    return value


@internal
def gradient_and_precision(settings, state, sums, gamma, beta, d, gradient, precision):
    """Gradient of the log target and the inverse of D from the row sums."""
    scale = likelihood_scale(settings, state)
    prior_precision = 1.0 / state.scalar[SIGMA_BETA2]
    curvature = scale * (beta * beta)
    for j in range(d):
        gradient[j] = scale * beta * sums[3 + 4 * j]
        precision[j] = curvature * sums[4 + 4 * j] + UNIFORM_PRECISION
        in_log_gamma = scale * beta * sums[5 + 4 * j]
        if settings.log_gamma:
            gradient[d + j] = in_log_gamma + settings.a_gamma - gamma[j] / state.scalar[B_GAMMA]
        else:
            gradient[d + j] = (in_log_gamma + settings.a_gamma - 1.0) / gamma[j] - 1.0 / state.scalar[B_GAMMA]
        precision[d + j] = curvature * sums[6 + 4 * j] + settings.a_gamma
    gradient[2 * d] = scale * sums[1] - beta * prior_precision
    precision[2 * d] = scale * sums[2] + prior_precision
    if not settings.preconditioned:
        for i in range(2 * d + 1):
            precision[i] = 1.0


@internal
def log_determinant(precision, size):
    """Half the log-determinant of D^-1: part of the log density of a proposal from there."""
    total = 0.0
    for i in range(size):
        total += log(precision[i])
    return 0.5 * total


@internal
def log_proposal(origin, gradient, precision, target, step, size):
    """Log density of proposing `target` from `origin`, up to a constant."""
    total = 0.0
    for i in range(size):
        drift = (0.5 * step) * step * gradient[i] / precision[i]
        gap = target[i] - origin[i] - drift
        total += (gap * gap) * precision[i]
    return log_determinant(precision, size) - 0.5 * total / (step * step)


@internal
def propose_point(settings, state, work, k, step, size):
    """Proposed point in THERE and trial arrays; False if it lies outside the prior's support."""
    d = state.order[k]
    point = work.point
    for i in range(size):
        if i % 2 == 0:
            u, spare = uniforms(state, FOR_LANGEVIN, k, 1 + i // 2)
        else:
            u = spare
        spread = step / math.sqrt(point[PRECISION, i])
        drift = (0.5 * step) * step * point[GRADIENT, i] / point[PRECISION, i]
        point[THERE, i] = point[HERE, i] + drift + spread * normal_quantile(u)
    for j in range(d):
        b = point[THERE, j]
        gamma = point[THERE, d + j]
        if settings.log_gamma:
            if not abs(gamma) < 600.0:
                return False
            gamma = exp(gamma)
        if not (b > 0.0 and b < 1.0 and gamma > 0.0):
            return False
        work.trial_b[0, j] = b
        work.trial_gamma[0, j] = gamma
    return True


@internal
def point_of_term(settings, state, work, k):
    """Coordinates of term k into HERE."""
    d = state.order[k]
    for j in range(d):
        work.point[HERE, j] = state.b[k, j]
        gamma = state.gamma[k, j]
        work.point[HERE, d + j] = log(gamma) if settings.log_gamma else gamma
    work.point[HERE, 2 * d] = state.beta[k]


@unit(DOUBLE(*CHAIN, INTEGER, DOUBLE))
def log_ratio_of_move(problem, settings, state, work, k, step):
    """Propose and evaluate: the log acceptance ratio, minus infinity if impossible."""
    d = state.order[k]
    size = 2 * d + 1
    features = state.features[k]
    point = work.point
    if not term_tables(problem, settings, work, features, state.b[k], state.gamma[k], d):
        return -math.inf
    need = DERIVATIVES + MOMENTS
    evaluate(problem, settings, state, work, work.fit, k, 0.0, k, 0.0, need, k, features, d)
    beta = state.beta[k]
    point_of_term(settings, state, work, k)
    gradient_and_precision(
        settings, state, work.sums, state.gamma[k], beta, d, point[GRADIENT], point[PRECISION]
    )
    here = log_prior_of_term(settings, state, state.gamma[k], beta, d)
    if not propose_point(settings, state, work, k, step, size):
        return -math.inf
    if not term_tables(problem, settings, work, features, work.trial_b[0], work.trial_gamma[0], d):
        return -math.inf
    for j in range(d):
        multiply_factor(problem, work, features[j], j, settings.K_max)
    new_beta = point[THERE, 2 * d]
    trial = settings.K_max
    need = DERIVATIVES + LIKELIHOOD + MOMENTS
    evaluate(problem, settings, state, work, work.fit, k, beta, trial, new_beta, need, trial, features, d)
    gamma = work.trial_gamma[0]
    gradient_and_precision(
        settings, state, work.sums, gamma, new_beta, d, point[GRADIENT_THERE], point[PRECISION_THERE]
    )
    there = log_prior_of_term(settings, state, gamma, new_beta, d)
    scale = likelihood_scale(settings, state)
    change = scale * (work.sums[0] - state.scalar[FIT_LOGLIK]) + there - here
    back = log_proposal(point[THERE], point[GRADIENT_THERE], point[PRECISION_THERE], point[HERE], step, size)
    forth = log_proposal(point[HERE], point[GRADIENT], point[PRECISION], point[THERE], step, size)
    return change + back - forth


@internal
def take_step(problem, settings, state, work, k):
    """Take the proposed point over, with its fit."""
    d = state.order[k]
    take_trial_fit(problem, work)
    copy_phi(problem, work, settings.K_max, k)
    for j in range(d):
        work.trial_features[0, j] = state.features[k, j]
    old_beta = state.beta[k]
    take_trial(state, work, k, d, work.point[THERE, 2 * d])
    follow_term(settings, state, work, k, old_beta)
    state.scalar[FIT_LOGLIK] = work.sums[0]


@internal
def langevin(problem, settings, state, work, k, warming_up):
    """One Langevin step of term k."""
    d = state.order[k]
    log_ratio = log_ratio_of_move(problem, settings, state, work, k, exp(state.log_step[d]))
    u, _ = uniforms(state, FOR_LANGEVIN, k, 0)
    accepted = log(u) < log_ratio
    state.tally[LANGEVIN, 0] += 1
    # A gradient costs six passes a variable at either end.
    count_step(settings, state, work, d, accepted, (7 * d + 4) * problem.n_all)
    if accepted:
        state.tally[LANGEVIN, 1] += 1
        take_step(problem, settings, state, work, k)
    if warming_up and settings.adapt:
        adapt_step(settings, state, d, log_ratio)
