"""Intercept, dispersion and the learned scales."""

from __future__ import annotations

import math

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.signatures import CHAIN, NOTHING, SETTINGS_T, STATE_T, WORK_T
from raytpnn.engine.moves.coefficient import log_normal
from raytpnn.engine.moves.likelihood import likelihood_scale
from raytpnn.engine.records import (
    B_GAMMA,
    FIT_LOGLIK,
    FOR_INTERCEPT,
    FOR_NUISANCE,
    FOR_SCALES,
    INTERCEPT_MOVE,
    NUISANCE,
    SIGMA_BETA2,
    TEMPERATURE,
)
from raytpnn.engine.rows.outputs import centre_of, intercept_of, select_output, set_intercept
from raytpnn.engine.rows.row_passes import TOTALS, evaluate, shift_fit
from raytpnn.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.numerics.elementary import exp, log, normal_quantile
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import gamma_variate, uniforms

__all__ = ["draw_nuisance", "draw_scales", "refresh_likelihood", "update_intercept"]

# Steps of a random walk in one dimension, in standard deviations of its target.
WALK_WIDTH = 2.4


@internal
def totals(problem, settings, state, work):
    """Sums of score and curvature, and the log-likelihood, at the fit."""
    features = work.trial_features[0]
    need = DERIVATIVES + LIKELIHOOD + TOTALS
    evaluate(problem, settings, state, work, work.fit, 0, 0.0, 0, 0.0, need, 0, features, 0)
    return work.sums[1], work.sums[2], work.sums[0]


@internal
def newton_step(settings, state, centre, value, score, curvature):
    """Mean and precision of the intercept's proposal from `value`; `centre` is its prior mean."""
    scale = likelihood_scale(settings, state)
    precision = scale * curvature + settings.intercept_precision
    gradient = scale * score - settings.intercept_precision * (value - centre)
    return value + gradient / precision, precision


@internal
def propose_intercept(problem, settings, state, work):
    """Newton proposal of the intercept of the output at hand, exact if quadratic."""
    scale = likelihood_scale(settings, state)
    centre = centre_of(settings, work.output)
    old = intercept_of(state, work.output)
    score, curvature, loglik = totals(problem, settings, state, work)
    mean, precision = newton_step(settings, state, centre, old, score, curvature)
    u, v = uniforms(state, FOR_INTERCEPT, work.output, 0)
    new = mean + normal_quantile(u) / math.sqrt(precision)
    shift_fit(problem, work, new - old)
    state.tally[INTERCEPT_MOVE, 0] += 1
    new_score, new_curvature, new_loglik = totals(problem, settings, state, work)
    accepted = True
    if work.quadratic == 0:
        back_mean, back_precision = newton_step(settings, state, centre, new, new_score, new_curvature)
        log_ratio = scale * (new_loglik - loglik)
        log_ratio += log_normal(new, centre, settings.intercept_precision)
        log_ratio -= log_normal(old, centre, settings.intercept_precision)
        log_ratio += log_normal(old, back_mean, back_precision) - log_normal(new, mean, precision)
        accepted = log(v) < log_ratio
    if accepted:
        set_intercept(state, work.output, new)
        state.scalar[FIT_LOGLIK] = new_loglik
        state.tally[INTERCEPT_MOVE, 1] += 1
    else:
        shift_fit(problem, work, old - new)
        state.scalar[FIT_LOGLIK] = loglik


@internal
def shift_intercepts(problem, settings, state, work):
    """Draw what all outputs have in common, which the likelihood does not see, from its prior."""
    gap = 0.0
    for output in range(settings.outputs):
        gap += intercept_of(state, output) - centre_of(settings, output)
    gap = gap / settings.outputs
    u, _ = uniforms(state, FOR_INTERCEPT, settings.outputs, 0)
    amount = normal_quantile(u) / math.sqrt(settings.outputs * settings.intercept_precision) - gap
    for output in range(settings.outputs):
        select_output(problem, settings, work, output)
        shift_fit(problem, work, amount)
        set_intercept(state, output, intercept_of(state, output) + amount)


@unit(NOTHING(*CHAIN))
def update_intercept(problem, settings, state, work):
    """Update the intercept of every output; leaves the fit's log-likelihood fresh."""
    for output in range(settings.outputs):
        select_output(problem, settings, work, output)
        propose_intercept(problem, settings, state, work)
    if settings.shift_invariant:
        shift_intercepts(problem, settings, state, work)


@internal
def refresh_likelihood(problem, settings, state, work):
    """Log-likelihood of the fit from the rows, free of what increments have rounded away."""
    _, _, loglik = totals(problem, settings, state, work)
    state.scalar[FIT_LOGLIK] = loglik


@internal
def dispersion_shape(settings, state):
    """Shape of the inverse gamma conditional of a dispersion that divides the log-likelihood."""
    return 0.5 * settings.v + settings.dispersion_power * (state.scalar[TEMPERATURE] * settings.weight_sum)


@internal
def step_dispersion(problem, settings, state, work):
    """Random walk of the log of a dispersion that stands in the rows."""
    old = state.scalar[NUISANCE]
    temperature = state.scalar[TEMPERATURE]
    u, v = uniforms(state, FOR_NUISANCE, 0, 0)
    # As wide as suits a dispersion that divides: one over this root is about the deviation of its logarithm.
    log_step = WALK_WIDTH * normal_quantile(u) / math.sqrt(dispersion_shape(settings, state))
    new = old * exp(log_step)
    state.scalar[NUISANCE] = new
    features = work.trial_features[0]
    evaluate(problem, settings, state, work, work.fit, 0, 0.0, 0, 0.0, LIKELIHOOD, 0, features, 0)
    log_ratio = temperature * (work.sums[0] - state.scalar[FIT_LOGLIK])
    log_ratio -= 0.5 * (settings.v * log_step + settings.v_lambda * (1.0 / new - 1.0 / old))
    if log(v) < log_ratio:
        state.scalar[FIT_LOGLIK] = work.sums[0]
    else:
        state.scalar[NUISANCE] = old


@unit(NOTHING(*CHAIN))
def draw_nuisance(problem, settings, state, work):
    """Dispersion from its inverse gamma conditional, or by a random walk if it stands in the rows."""
    if not settings.dispersion:
        return
    if settings.dispersion_in_rows:
        step_dispersion(problem, settings, state, work)
        return
    rate = 0.5 * settings.v_lambda - state.scalar[TEMPERATURE] * state.scalar[FIT_LOGLIK]
    shape = dispersion_shape(settings, state)
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
