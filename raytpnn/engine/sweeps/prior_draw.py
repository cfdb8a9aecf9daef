"""A whole state from the prior: a replica at inverse temperature 0 draws one instead of a sweep."""

from __future__ import annotations

import math

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.signatures import CHAIN, FLAG
from raytpnn.engine.moves.birth_death import copy_set, draw_prior_set
from raytpnn.engine.moves.proposed_term import build_phi, prior_factor, take_trial
from raytpnn.engine.moves.scalars import refresh_likelihood
from raytpnn.engine.records import (
    B_GAMMA,
    FIT_LOGLIK,
    FOR_INTERCEPT,
    FOR_NEW_BETA,
    FOR_NEW_FACTOR,
    FOR_NEW_SET,
    FOR_NUISANCE,
    FOR_OUTPUT,
    FOR_SCALES,
    INTERCEPT,
    MOST_TERMS,
    MOST_VARIABLES,
    NUISANCE,
    SIGMA_BETA2,
)
from raytpnn.engine.rows.outputs import drawn_output
from raytpnn.engine.sweeps.sweep import begin_block, fit_outputs
from raytpnn.numerics.elementary import exp, normal_quantile
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import gamma_variate, uniforms

__all__ = ["draw_from_prior"]

# Slots of a try's factors stay below GAMMA_SLOTS of `proposed_term.py`.
MOST_DRAWS = 64


@internal
def prior_scalars(settings, state, attempt):
    """Draw scales, dispersion and intercept; fixed ones keep their values."""
    if settings.learn_b_gamma:
        variate = gamma_variate(state, FOR_SCALES, 2 * attempt, settings.b_gamma_shape)
        state.scalar[B_GAMMA] = settings.b_gamma_scale / variate
    if settings.learn_sigma_beta2:
        variate = gamma_variate(state, FOR_SCALES, 2 * attempt + 1, settings.sigma_beta2_shape)
        state.scalar[SIGMA_BETA2] = settings.sigma_beta2_scale / variate
    if settings.dispersion:
        variate = gamma_variate(state, FOR_NUISANCE, attempt, 0.5 * settings.v)
        state.scalar[NUISANCE] = 0.5 * settings.v_lambda / variate
    u, v = uniforms(state, FOR_INTERCEPT, attempt, 0)
    spread = 1.0 / math.sqrt(settings.intercept_precision)
    state.scalar[INTERCEPT] = settings.intercept_mean + spread * normal_quantile(u)
    for output in range(1, settings.outputs):
        other, _ = uniforms(state, FOR_INTERCEPT, attempt, output)
        state.intercepts[output] = settings.intercept_means[output] + spread * normal_quantile(other)
    return v


@internal
def prior_count(settings, u):
    """Number of terms by inversion: weights exp(-penalty K)."""
    ratio = exp(-settings.log_count_penalty)
    total = 0.0
    weight = 1.0
    for _ in range(settings.K_max + 1):
        total += weight
        weight *= ratio
    K = 0
    weight = 1.0
    below = weight
    while settings.K_max > K and u * total >= below:
        weight *= ratio
        below += weight
        K += 1
    return K


@internal
def prior_set(problem, settings, state, work, k, slot):
    """Set of term k given those before it into the trial; returns its order."""
    u, v = uniforms(state, FOR_NEW_SET, slot, 0)
    if u * (1.0 + settings.sharing * k) < settings.sharing * k:
        return copy_set(state, work, min(int(v * k), k - 1))
    return draw_prior_set(problem, settings, state, work, slot, v)


@internal
def prior_terms(problem, settings, state, work, K, attempt):
    """K terms; False if a factor has no mass."""
    spread = math.sqrt(state.scalar[SIGMA_BETA2])
    for k in range(K):
        slot = attempt * MOST_TERMS + k
        d = prior_set(problem, settings, state, work, k, slot)
        for j in range(d):
            prior_factor(settings, state, work, FOR_NEW_FACTOR, slot * MOST_VARIABLES + j, j)
        features = work.trial_features[0]
        if not build_phi(problem, work, features, work.trial_b[0], work.trial_gamma[0], d, 0, k):
            return False
        u, _ = uniforms(state, FOR_NEW_BETA, slot, 0)
        take_trial(state, work, k, d, spread * normal_quantile(u))
        state.output[k] = 0
        if settings.outputs > 1:
            u, _ = uniforms(state, FOR_OUTPUT, slot, 0)
            state.output[k] = drawn_output(settings, u)
    state.K = K
    return True


@unit(FLAG(*CHAIN))
def draw_from_prior(problem, settings, state, work):
    """Replace the state by an independent draw from the prior, fit and log-likelihood included.

    Draws outside the support (a factor without mass, a log-likelihood that is not finite) are repeated. It
    takes the numbers of the moves it stands for: none of them runs in the same sweep. Returns False, with an
    empty state, if no draw was in the support.
    """
    for attempt in range(MOST_DRAWS):
        u = prior_scalars(settings, state, attempt)
        K = prior_count(settings, u)
        if prior_terms(problem, settings, state, work, K, attempt):
            fit_outputs(problem, settings, state, work)
            refresh_likelihood(problem, settings, state, work)
            if math.isfinite(state.scalar[FIT_LOGLIK]):
                return True
    state.K = 0
    state.scalar[INTERCEPT] = settings.intercept_mean
    for output in range(1, settings.outputs):
        state.intercepts[output] = settings.intercept_means[output]
    begin_block(problem, settings, state, work)
    return False
