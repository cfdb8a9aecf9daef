"""Adding, deleting or changing a variable of one term."""

from __future__ import annotations

from raytpnn.engine.layout import (
    ADDING,
    B_GAMMA,
    CHANGING,
    DELETING,
    FIT_LOGLIK,
    FOR_RESTRUCTURE,
    FOR_RESTRUCTURE_BETA,
    FOR_RESTRUCTURE_FACTOR,
    NUISANCE,
    SIGMA_BETA2,
    TEMPERATURE,
)
from raytpnn.engine.memory import doubles
from raytpnn.engine.moves.coefficient import draw_coefficient, log_coefficient_proposal, log_normal
from raytpnn.engine.moves.likelihood import log_likelihood_change
from raytpnn.engine.moves.trial import build_phi
from raytpnn.engine.random import gamma_variate
from raytpnn.engine.rows import copy_phi, phi_moments, remove_term, replace_term
from raytpnn.engine.sets import contains, draw_off_set, weight_off_set
from raytpnn.numerics.elementary import log
from raytpnn.numerics.jit import internal
from raytpnn.numerics.philox import uniforms

__all__ = ["restructure"]


@internal
def log_pick(problem, features, d, feature):
    """Log probability of drawing `feature` off the set of the first d features."""
    weight = doubles(problem.feature_weight, problem.p)[feature]
    return log(weight / weight_off_set(problem, features, d))


@internal
def log_adding_ratio(problem, settings, small, d, feature):
    """Set part of the ratio for d -> d + 1 variables by adding `feature` to the set `small`.

    Deleting is its negative: the reverse draws the feature off the smaller set, in both directions.
    """
    forward = log(settings.q_add) + log_pick(problem, small, d, feature)
    backward = log(settings.q_delete / (d + 1.0))
    return settings.log_set_prior[d + 1] - settings.log_set_prior[d] + backward - forward


@internal
def new_factor(settings, state, work, k, place):
    """Location and scale of the variable at `place` from their prior."""
    work.trial_b[place], _ = uniforms(state.stream, FOR_RESTRUCTURE_FACTOR, k, 0)
    variate = gamma_variate(state.stream, FOR_RESTRUCTURE_FACTOR, k + 65536, settings.a_gamma)
    work.trial_gamma[place] = state.scalar[B_GAMMA] * variate


@internal
def copy_term(state, work, k, skip):
    """Copy the variables of term k but the one at `skip` to the trial; returns their number."""
    kept = 0
    for j in range(state.order[k]):
        if j != skip:
            work.trial_features[kept] = state.features[k, j]
            work.trial_b[kept] = state.b[k, j]
            work.trial_gamma[kept] = state.gamma[k, j]
            kept += 1
    return kept


@internal
def propose_set(problem, settings, state, work, k):
    """Propose a set into the trial: (move, new order or 0 if impossible, first new place, log ratio)."""
    d = state.order[k]
    most = settings.max_order
    features = state.features[k]
    u, v = uniforms(state.stream, FOR_RESTRUCTURE, k, 0)
    pick, _ = uniforms(state.stream, FOR_RESTRUCTURE, k, 1)
    place = min(int(v * d), d - 1)
    if u < settings.q_add:
        if d >= most:
            return ADDING, 0, 0, 0.0
        j = draw_off_set(problem, features, d, pick, work.sorted_set)
        if contains(features, d, j):
            return ADDING, 0, 0, 0.0
        copy_term(state, work, k, -1)
        work.trial_features[d] = j
        new_factor(settings, state, work, k, d)
        return ADDING, d + 1, d, log_adding_ratio(problem, settings, features, d, j)
    if u < settings.q_add + settings.q_delete:
        if d == 1:
            return DELETING, 0, 0, 0.0
        copy_term(state, work, k, place)
        removed = features[place]
        ratio = -log_adding_ratio(problem, settings, work.trial_features, d - 1, removed)
        return DELETING, d - 1, 0, ratio
    if d >= problem.p:
        return CHANGING, 0, 0, 0.0
    j = draw_off_set(problem, features, d, pick, work.sorted_set)
    if contains(features, d, j):
        return CHANGING, 0, 0, 0.0
    removed = features[place]
    copy_term(state, work, k, place)
    work.trial_features[d - 1] = j
    new_factor(settings, state, work, k, d - 1)
    ratio = log_pick(problem, work.trial_features, d, removed) - log_pick(problem, features, d, j)
    return CHANGING, d, 0, ratio


@internal
def try_restructure(problem, settings, state, work, k, d, first, log_ratio):
    """Give the proposed set a coefficient, and accept or reject."""
    trial = settings.K_max
    if first > 0:
        copy_phi(problem, work, k, trial)
    if not build_phi(problem, work, work.trial_features, work.trial_b, work.trial_gamma, d, first, trial):
        return False
    old_beta = state.beta[k]
    old_dot, old_norm = remove_term(problem, settings, work, k, old_beta)
    dot, norm = phi_moments(problem, work, trial)
    scale = state.scalar[TEMPERATURE] / state.scalar[NUISANCE]
    prior_precision = 1.0 / state.scalar[SIGMA_BETA2]
    beta = old_beta
    if settings.conditional_beta:
        precision = scale * norm + prior_precision
        mean = scale * dot / precision
        old_precision = scale * old_norm + prior_precision
        old_mean = scale * old_dot / old_precision
        u, v = uniforms(state.stream, FOR_RESTRUCTURE_BETA, k, 0)
        beta = draw_coefficient(settings, u, v, mean, precision, prior_precision)
        log_ratio += log_normal(beta, 0.0, prior_precision) - log_normal(old_beta, 0.0, prior_precision)
        log_ratio += log_coefficient_proposal(settings, old_beta, old_mean, old_precision, prior_precision)
        log_ratio -= log_coefficient_proposal(settings, beta, mean, precision, prior_precision)
    change = log_likelihood_change(
        problem, settings, state, work, k, old_beta, old_dot, old_norm, trial, beta, dot, norm
    )
    u, v = uniforms(state.stream, FOR_RESTRUCTURE, k, 2)
    if not log(u) < log_ratio + scale * change:
        return False
    replace_term(problem, work, k, old_beta, trial, beta)
    state.order[k] = d
    for j in range(d):
        state.features[k, j] = work.trial_features[j]
        state.b[k, j] = work.trial_b[j]
        state.gamma[k, j] = work.trial_gamma[j]
    state.beta[k] = beta
    state.scalar[FIT_LOGLIK] += change
    return True


@internal
def restructure(problem, settings, state, work, k):
    """Propose one change of the set of term k."""
    move, d, first, log_ratio = propose_set(problem, settings, state, work, k)
    state.tally[move, 0] += 1
    if d > 0 and try_restructure(problem, settings, state, work, k, d, first, log_ratio):
        state.tally[move, 1] += 1
