"""Intercept, noise variance and the learned scales."""

from __future__ import annotations

import math

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.signatures import CHAIN, NOTHING, SETTINGS_T, STATE_T, WORK_T
from raytpnn.engine.moves.coefficient import GAUSSIAN, log_normal
from raytpnn.engine.records import (
    B_GAMMA,
    FIT_LOGLIK,
    FOR_INTERCEPT,
    FOR_NUISANCE,
    FOR_SCALES,
    INTERCEPT,
    INTERCEPT_MOVE,
    NUISANCE,
    SIGMA_BETA2,
    TEMPERATURE,
)
from raytpnn.engine.rows.row_passes import TOTALS, evaluate, shift_fit
from raytpnn.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.numerics.elementary import log, normal_quantile
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import gamma_variate, uniforms

__all__ = ["draw_nuisance", "draw_scales", "refresh_likelihood", "update_intercept"]


@internal
def totals(problem, settings, work):
    """Sums of score and curvature, and the log-likelihood, at the fit."""
    features = work.trial_features[0]
    need = DERIVATIVES + LIKELIHOOD + TOTALS
    evaluate(problem, settings, work, work.fit, 0, 0.0, 0, 0.0, need, 0, features, 0)
    return work.sums[1], work.sums[2], work.sums[0]


@internal
def newton_step(settings, state, value, score, curvature):
    """Mean and precision of the intercept's proposal from `value`."""
    scale = state.scalar[TEMPERATURE] / state.scalar[NUISANCE]
    precision = scale * curvature + settings.intercept_precision
    gradient = scale * score - settings.intercept_precision * (value - settings.intercept_mean)
    return value + gradient / precision, precision


@unit(NOTHING(*CHAIN))
def update_intercept(problem, settings, state, work):
    """Newton proposal of the intercept, exact for the Gaussian; leaves the fit's log-likelihood fresh."""
    scale = state.scalar[TEMPERATURE] / state.scalar[NUISANCE]
    old = state.scalar[INTERCEPT]
    score, curvature, loglik = totals(problem, settings, work)
    mean, precision = newton_step(settings, state, old, score, curvature)
    u, v = uniforms(state, FOR_INTERCEPT, 0, 0)
    new = mean + normal_quantile(u) / math.sqrt(precision)
    shift_fit(problem, work, new - old)
    state.tally[INTERCEPT_MOVE, 0] += 1
    new_score, new_curvature, new_loglik = totals(problem, settings, work)
    accepted = True
    if settings.family != GAUSSIAN:
        back_mean, back_precision = newton_step(settings, state, new, new_score, new_curvature)
        log_ratio = scale * (new_loglik - loglik)
        log_ratio += log_normal(new, settings.intercept_mean, settings.intercept_precision)
        log_ratio -= log_normal(old, settings.intercept_mean, settings.intercept_precision)
        log_ratio += log_normal(old, back_mean, back_precision) - log_normal(new, mean, precision)
        accepted = log(v) < log_ratio
    if accepted:
        state.scalar[INTERCEPT] = new
        state.scalar[FIT_LOGLIK] = new_loglik
        state.tally[INTERCEPT_MOVE, 1] += 1
    else:
        shift_fit(problem, work, old - new)
        state.scalar[FIT_LOGLIK] = loglik


@internal
def refresh_likelihood(problem, settings, state, work):
    """Log-likelihood of the fit from the rows, free of what increments have rounded away."""
    _, _, loglik = totals(problem, settings, work)
    state.scalar[FIT_LOGLIK] = loglik


@unit(NOTHING(SETTINGS_T, STATE_T, WORK_T))
def draw_nuisance(settings, state, work):
    """Noise variance of the Gaussian from its inverse gamma conditional."""
    if settings.family != GAUSSIAN:
        return
    temperature = state.scalar[TEMPERATURE]
    squares = -2.0 * state.scalar[FIT_LOGLIK]
    shape = 0.5 * (settings.v + temperature * settings.weight_sum)
    rate = 0.5 * (settings.v_lambda + temperature * squares)
    state.scalar[NUISANCE] = rate / gamma_variate(state, FOR_NUISANCE, 0, shape)


@unit(NOTHING(SETTINGS_T, STATE_T, WORK_T))
def draw_scales(settings, state, work):
    """Learned scales from their inverse gamma conditionals."""
    variables = 0
    gamma_sum = 0.0
    square_sum = 0.0
    for k in range(state.K):
        square_sum += state.beta[k] * state.beta[k]
        for j in range(state.order[k]):
            variables += 1
            gamma_sum += state.gamma[k, j]
    if settings.learn_b_gamma:
        shape = settings.b_gamma_shape + settings.a_gamma * variables
        variate = gamma_variate(state, FOR_SCALES, 0, shape)
        state.scalar[B_GAMMA] = (settings.b_gamma_scale + gamma_sum) / variate
    if settings.learn_sigma_beta2:
        shape = settings.sigma_beta2_shape + 0.5 * state.K
        variate = gamma_variate(state, FOR_SCALES, 1, shape)
        state.scalar[SIGMA_BETA2] = (settings.sigma_beta2_scale + 0.5 * square_sum) / variate
