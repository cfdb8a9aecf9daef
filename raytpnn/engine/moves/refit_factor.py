"""Location and scale of one factor of a term, then its coefficient.

With the other factors fixed, the log-likelihood around the fit without the term is, up to its second order,

    beta * sum_u A[u] g[u] - beta^2 / 2 * sum_u B[u] g[u]^2

with g the factor's table over bins u, and A and B sums over the rows of a bin (`rows/bin_sums.py`): one pass
over the rows, after which any location and scale cost as many steps as there are bins. The coefficient is
integrated out. Each of `factor_steps` steps proposes location and scale, by a random walk or from the prior,
and accepts by this approximation; then the coefficient is drawn.

If the log-likelihood is quadratic, that is all. If not, the end of the steps is a proposal. The steps are one
reversible kernel repeated, and the approximation is the same from both ends, since it is made without the
term: the ratio is that of the likelihoods over that of their approximations.
"""

from __future__ import annotations

import math

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.signatures import CHAIN, DOUBLE, FLAG, INTEGER, NOTHING
from raytpnn.engine.moves.adaptation import adapted
from raytpnn.engine.moves.likelihood import likelihood_scale
from raytpnn.engine.records import (
    B_GAMMA,
    FACTOR,
    FIT_LOGLIK,
    FOR_FACTOR,
    MOST_TERMS,
    SIGMA_BETA2,
)
from raytpnn.engine.rows.bin_sums import bin_sums, rebuild_term
from raytpnn.engine.rows.factor_tables import SMALLEST_MEAN, bin_moments, factor_table, keep_table, kept_table
from raytpnn.engine.rows.row_passes import evaluate, multiply_factor, replace_term
from raytpnn.families.base import LIKELIHOOD
from raytpnn.model.limits import GAMMA_SLOTS
from raytpnn.numerics.elementary import exp, log, normal_quantile
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import gamma_variate, uniforms

__all__ = ["refit_factor"]

# Share of the steps that are a random walk; the others propose from the prior.
WALK_SHARE = 0.5
# Standard deviation of a step of the location, in units of that of the log scale.
LOCATION_WIDTH = 0.25
# Acceptance rate that walks of two dimensions do best with.
FACTOR_ACCEPTANCE = 0.35
# Rows of Work.point that the steps use: location, scale, its logarithm, and the moments along the factor.
NOW, NEXT = 0, 1
LOCATION, SCALE, LOG_SCALE, DOT, NORM = range(5)


@internal
def log_evidence(settings, state, dot, norm):
    """Log evidence of a coefficient from the moments along its basis function, up to a constant."""
    scale = likelihood_scale(settings, state)
    precision = scale * norm + 1.0 / state.scalar[SIGMA_BETA2]
    slope = scale * dot
    return 0.5 * (slope * slope / precision - log(precision))


@internal
def log_scale_ratio(settings, state, now, after):
    """Log prior ratio of two scales in the coordinate that walks: its Jacobian adds one log gamma."""
    log_ratio = settings.a_gamma * (after[LOG_SCALE] - now[LOG_SCALE])
    return log_ratio - (after[SCALE] - now[SCALE]) / state.scalar[B_GAMMA]


@internal
def log_correction(settings, state, change, gain):
    """Log ratio of the likelihoods over that of their approximations."""
    return likelihood_scale(settings, state) * (change - gain)


@internal
def propose_factor(settings, state, work, k, turn, step):
    """Location and scale of a step into work.point[NEXT].

    Returns the log of the uniform that decides, whether the step is a walk, and the log prior ratio.
    """
    now, after = work.point[NOW], work.point[NEXT]
    u, v = uniforms(state, FOR_FACTOR, k, 2 + 2 * turn)
    first, second = uniforms(state, FOR_FACTOR, k, 3 + 2 * turn)
    walks = v < WALK_SHARE
    log_ratio = 0.0
    if walks:
        after[LOCATION] = now[LOCATION] + (LOCATION_WIDTH * step) * normal_quantile(first)
        after[LOG_SCALE] = now[LOG_SCALE] + step * normal_quantile(second)
        if not (after[LOCATION] > 0.0 and after[LOCATION] < 1.0 and abs(after[LOG_SCALE]) < 600.0):
            return log(u), walks, -math.inf
        after[SCALE] = exp(after[LOG_SCALE])
        log_ratio = log_scale_ratio(settings, state, now, after)
    else:
        after[LOCATION] = first
        variate = gamma_variate(state, FOR_FACTOR, GAMMA_SLOTS + k + MOST_TERMS * turn, settings.a_gamma)
        after[SCALE] = state.scalar[B_GAMMA] * variate
        if not after[SCALE] > 0.0:
            return log(u), walks, -math.inf
        after[LOG_SCALE] = log(after[SCALE])
    return log(u), walks, log_ratio


@unit(FLAG(*CHAIN, INTEGER, INTEGER, FLAG))
def step_factor(problem, settings, state, work, k, j, warming_up):
    """All steps of factor j of term k; returns whether any was taken.

    Where they end stands in work.point[NOW], its table in work.table.
    """
    d = state.order[k]
    feature = int(state.features[k, j])
    now, after = work.point[NOW], work.point[NEXT]
    step = exp(state.log_step[d])
    here = log_evidence(settings, state, now[DOT], now[NORM])
    moved = False
    table_is_now = True
    keep_table(work, settings.max_order, j)
    for turn in range(settings.factor_steps):
        log_u, walks, log_ratio = propose_factor(settings, state, work, k, turn, step)
        there = here
        if log_ratio > -math.inf:
            table_is_now = False
            if factor_table(problem, work, j, feature, after[LOCATION], after[SCALE]) >= SMALLEST_MEAN:
                after[DOT], after[NORM] = bin_moments(problem, work, feature, j)
                there = log_evidence(settings, state, after[DOT], after[NORM])
                log_ratio += there - here
            else:
                log_ratio = -math.inf
        if log_u < log_ratio:
            for i in range(5):
                now[i] = after[i]
            here = there
            moved = True
            table_is_now = True
            keep_table(work, settings.max_order, j)
        if walks and warming_up and settings.adapt:
            state.step_count[d] += 1
            state.log_step[d] = adapted(state.log_step[d], state.step_count[d], log_ratio, FACTOR_ACCEPTANCE)
    if not table_is_now:
        kept_table(work, settings.max_order, j)
    return moved


@internal
def fitted_gain(beta, dot, norm):
    """Approximate gain of the log-likelihood by a coefficient."""
    return beta * dot - (0.5 * norm) * (beta * beta)


@unit(NOTHING(*CHAIN, INTEGER, INTEGER, FLAG, DOUBLE, DOUBLE))
def take_factor(problem, settings, state, work, k, j, moved, beta, gain):
    """Take location, scale and coefficient over; a likelihood that is not quadratic decides on them."""
    d = state.order[k]
    features = state.features[k]
    trial = settings.K_max
    old_beta = state.beta[k]
    now = work.point[NOW]
    change = gain
    if work.quadratic != 0:
        if moved:
            rebuild_term(problem, work, features, d, k, trial, old_beta, beta)
        else:
            replace_term(problem, work, k, old_beta, k, beta)
    else:
        row = k
        if moved:
            row = trial
            for i in range(d):
                multiply_factor(problem, work, features[i], i, trial)
        chosen = work.trial_features[0]
        evaluate(problem, settings, state, work, work.fit, k, old_beta, row, beta, LIKELIHOOD, 0, chosen, 0)
        change = work.sums[0] - state.scalar[FIT_LOGLIK]
        _, v = uniforms(state, FOR_FACTOR, k, 1)
        if not log(v) < log_correction(settings, state, change, gain):
            return
        replace_term(problem, work, k, old_beta, row, beta)
    state.scalar[FIT_LOGLIK] += change
    state.beta[k] = beta
    state.b[k, j] = now[LOCATION]
    state.gamma[k, j] = now[SCALE]
    if moved:
        state.tally[FACTOR, 1] += 1


@internal
def refit_factor(problem, settings, state, work, k, warming_up):
    """Draw location and scale of one factor of term k, and its coefficient."""
    d = state.order[k]
    pick, _ = uniforms(state, FOR_FACTOR, k, 0)
    j = min(int(pick * d), d - 1)
    state.tally[FACTOR, 0] += 1
    for i in range(d):
        c = factor_table(problem, work, i, state.features[k, i], state.b[k, i], state.gamma[k, i])
        if not c >= SMALLEST_MEAN:
            return
    bin_sums(problem, settings, state, work, k, j)
    now = work.point[NOW]
    now[LOCATION] = state.b[k, j]
    now[SCALE] = state.gamma[k, j]
    now[LOG_SCALE] = log(state.gamma[k, j])
    now[DOT], now[NORM] = bin_moments(problem, work, int(state.features[k, j]), j)
    old = fitted_gain(state.beta[k], now[DOT], now[NORM])
    moved = step_factor(problem, settings, state, work, k, j, warming_up)
    scale = likelihood_scale(settings, state)
    precision = scale * now[NORM] + 1.0 / state.scalar[SIGMA_BETA2]
    u, _ = uniforms(state, FOR_FACTOR, k, 1)
    beta = scale * now[DOT] / precision + normal_quantile(u) / math.sqrt(precision)
    gain = fitted_gain(beta, now[DOT], now[NORM]) - old
    take_factor(problem, settings, state, work, k, j, moved, beta, gain)
