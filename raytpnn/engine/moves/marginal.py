"""The Gaussian model with the intercept and all coefficients integrated out.

With Q the precision of (intercept, beta_1, ..., beta_K) given the rest, P = Q^-1 and their mean are kept up
to date by rank-one changes. What a term adds to the log marginal likelihood is then read off P at once, and
what another term would add takes its products with the others. Index 0 is the intercept, k + 1 term k.
"""

from __future__ import annotations

import math

from raytpnn.engine.layout import (
    FOR_JOINT_BETA,
    INTERCEPT,
    JOINT_BETA,
    NUISANCE,
    SIGMA_BETA2,
    TEMPERATURE,
)
from raytpnn.engine.memory import double_rows
from raytpnn.engine.moves.joint_beta import cholesky
from raytpnn.engine.moves.scalars import refresh_likelihood
from raytpnn.engine.random import uniforms
from raytpnn.engine.rows import (
    TOTALS,
    copy_phi,
    cross_moments,
    evaluate,
    fit_from_terms,
    phi_moments,
    rank_one_update,
    weighted_rows,
)
from raytpnn.engine.types import CHAIN, DOUBLE, FLAG, INTEGER, NOTHING, SETTINGS_T, STATE_T, WORK_T
from raytpnn.engine.units import unit
from raytpnn.model.families.base import DERIVATIVES
from raytpnn.numerics.elementary import log, normal_quantile
from raytpnn.numerics.jit import internal

__all__ = ["begin_marginal", "draw_coefficients", "gain_of_term", "gain_of_trial", "put_in", "take_out"]

# Rows of Work.vector.
CROSS, PROJECTED, MEAN, COLUMN = range(4)
# Places in Work.sums: precision and mean of the trial's coefficient.
TRIAL_PRECISION, TRIAL_MEAN = range(2)


@internal
def covariance(settings, work):
    """P, in the place of the Gram matrix."""
    side = settings.K_max + 1
    return double_rows(work.gram, side, side)


@unit(DOUBLE(*CHAIN, INTEGER, INTEGER))
def gain_of_trial(problem, settings, state, work, size, skip):
    """Log marginal likelihood with the trial over that without it, index `skip` left out (0: none).

    Leaves what `put_in` needs. Minus infinity if rounding has eaten the trial's precision.
    """
    P = covariance(settings, work)
    cross, projected, mean = work.vector[CROSS], work.vector[PROJECTED], work.vector[MEAN]
    scale = state.scalar[TEMPERATURE] / state.scalar[NUISANCE]
    prior_precision = 1.0 / state.scalar[SIGMA_BETA2]
    dot, norm = phi_moments(problem, work, settings.K_max)
    cross_moments(problem, work, size - 1, settings.K_max, cross)
    for i in range(size):
        cross[i] = scale * cross[i]
    if skip > 0:
        cross[skip] = 0.0
    weighted_rows(P, cross, size, projected)
    explained = 0.0
    fitted = 0.0
    for i in range(size):
        explained += cross[i] * projected[i]
        fitted += cross[i] * mean[i]
    if skip > 0:
        share = projected[skip] / P[skip, skip]
        explained -= share * projected[skip]
        fitted -= share * mean[skip]
        for i in range(size):
            projected[i] -= share * P[skip, i]
    precision = (scale * norm + prior_precision) - explained
    # In exact arithmetic it is never below that of the prior.
    if not precision > 0.5 * prior_precision:
        work.sums[TRIAL_PRECISION] = prior_precision
        work.sums[TRIAL_MEAN] = 0.0
        return -math.inf
    centre = (scale * dot - fitted) / precision
    work.sums[TRIAL_PRECISION] = precision
    work.sums[TRIAL_MEAN] = centre
    return 0.5 * (log(prior_precision / precision) + (precision * centre) * centre)


@internal
def gain_of_term(settings, state, work, index):
    """Log marginal likelihood over that without the term at an index."""
    variance = covariance(settings, work)[index, index]
    centre = work.vector[MEAN, index]
    return 0.5 * (log(variance / state.scalar[SIGMA_BETA2]) + (centre / variance) * centre)


@unit(NOTHING(SETTINGS_T, STATE_T, WORK_T, INTEGER, INTEGER))
def take_out(settings, state, work, size, index):
    """Leave out an index: its row and column of P become 0."""
    P = covariance(settings, work)
    mean, column = work.vector[MEAN], work.vector[COLUMN]
    pivot = P[index, index]
    share = mean[index] / pivot
    for i in range(size):
        column[i] = P[index, i]
        mean[i] -= share * column[i]
    rank_one_update(P, column, -1.0 / pivot, size)
    for i in range(size):
        P[index, i] = 0.0
        P[i, index] = 0.0
    mean[index] = 0.0


@unit(NOTHING(SETTINGS_T, STATE_T, WORK_T, INTEGER, INTEGER))
def put_in(settings, state, work, size, index):
    """Add the trial scored last at an index that is not in use; `size` counts it."""
    P = covariance(settings, work)
    mean, projected = work.vector[MEAN], work.vector[PROJECTED]
    for i in range(size):
        P[index, i] = 0.0
        P[i, index] = 0.0
    mean[index] = 0.0
    projected[index] = -1.0
    for i in range(size):
        mean[i] -= work.sums[TRIAL_MEAN] * projected[i]
    rank_one_update(P, projected, 1.0 / work.sums[TRIAL_PRECISION], size)


@internal
def move_index(settings, work, size, source, target):
    """Rename an index; `target` must be out."""
    P = covariance(settings, work)
    for i in range(size):
        P[target, i] = P[source, i]
    for i in range(size):
        P[i, target] = P[i, source]
    P[target, target] = P[source, source]
    work.vector[MEAN, target] = work.vector[MEAN, source]


@unit(NOTHING(*CHAIN))
def begin_marginal(problem, settings, state, work):
    """P and mean from the terms; the derivatives in `work` become those at the intercept's prior mean."""
    P = covariance(settings, work)
    features = work.trial_features[0]
    fit_from_terms(problem, work, 0, settings.intercept_mean, state.beta[:], work.trial_fit)
    need = DERIVATIVES + TOTALS
    evaluate(problem, settings, work, work.trial_fit, 0, 0.0, 0, 0.0, need, 0, features, 0)
    scale = state.scalar[TEMPERATURE] / state.scalar[NUISANCE]
    P[0, 0] = 1.0 / (scale * work.sums[2] + settings.intercept_precision)
    work.vector[MEAN, 0] = P[0, 0] * (scale * work.sums[1])
    for k in range(state.K):
        copy_phi(problem, work, k, settings.K_max)
        gain_of_trial(problem, settings, state, work, k + 1, 0)
        put_in(settings, state, work, k + 2, k + 1)


@unit(FLAG(*CHAIN))
def draw_coefficients(problem, settings, state, work):
    """Draw intercept and coefficients given the terms, and compute the fit; P is used up."""
    size = state.K + 1
    P = covariance(settings, work)
    mean, noise = work.vector[MEAN], work.vector[COLUMN]
    for i in range(0, size, 2):
        u, v = uniforms(state, FOR_JOINT_BETA, 0, 1 + i // 2)
        noise[i] = normal_quantile(u)
        if i + 1 < size:
            noise[i + 1] = normal_quantile(v)
    state.tally[JOINT_BETA, 0] += 1
    possible = cholesky(P, size)
    if possible:
        state.tally[JOINT_BETA, 1] += 1
        for i in range(size):
            for j in range(i + 1):
                mean[i] += P[i, j] * noise[j]
    state.scalar[INTERCEPT] = settings.intercept_mean + mean[0]
    for k in range(state.K):
        state.beta[k] = mean[k + 1]
    fit_from_terms(problem, work, state.K, state.scalar[INTERCEPT], state.beta[:], work.fit)
    refresh_likelihood(problem, settings, state, work)
    return possible
