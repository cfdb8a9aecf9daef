"""Birth of a term, random or stepwise, and death of one."""

from __future__ import annotations

from raytpnn.engine.layout import (
    B_GAMMA,
    BIRTH,
    DEATH,
    FIT_LOGLIK,
    FOR_BIRTH_DEATH,
    FOR_NEW_BETA,
    FOR_NEW_FACTOR,
    FOR_NEW_SET,
    NUISANCE,
    SIGMA_BETA2,
    TEMPERATURE,
)
from raytpnn.engine.moves.coefficient import draw_coefficient, log_coefficient_proposal, log_normal
from raytpnn.engine.moves.likelihood import log_likelihood_change
from raytpnn.engine.moves.trial import build_phi
from raytpnn.engine.random import gamma_variate
from raytpnn.engine.rows import derivatives, phi_moments, remove_term, replace_term
from raytpnn.engine.sets import contains, draw_off_set, draw_uniform_set, extension_weight
from raytpnn.numerics.elementary import exp, log
from raytpnn.numerics.jit import internal
from raytpnn.numerics.philox import uniforms

__all__ = ["birth_or_death"]


@internal
def log_count_ratio(K, K_max):
    """Choosing a death at K + 1, over choosing a birth at K, times K + 1 for the unordered set of terms."""
    return log((K + 1.0) / (K_max - K))


@internal
def log_birth_ratio(problem, settings, state, features, d, K, skip):
    """Everything of the ratio K -> K + 1 but likelihood and coefficient; `skip` is the term left out, or -1."""
    log_prior = settings.log_set_prior[d]
    stepwise = extension_weight(problem, state, features, d, skip)
    log_proposal = log((settings.M * exp(log_prior) + stepwise) / (settings.M + K))
    return log_prior - log_proposal - settings.log_count_penalty + log_count_ratio(K, settings.K_max)


@internal
def draw_new_set(problem, settings, state, work, slot):
    """Set of a new term into work.trial_features; returns its order, 0 if there is none."""
    K = state.K
    most = settings.max_order
    features = work.trial_features
    u, v = uniforms(state.stream, FOR_NEW_SET, slot, 0)
    if u * (settings.M + K) < settings.M:
        d = 1
        while d < most and v >= settings.order_cumulative[d - 1]:
            d += 1
        p = problem.p
        pick = work.pick
        for i in range(d):
            u, v = uniforms(state.stream, FOR_NEW_SET, slot, 1 + i)
            pick[i] = min(int(u * (p - i)), p - i - 1)
        draw_uniform_set(d, pick, features, work.sorted_set)
        return d
    k = min(int(v * K), K - 1)
    d = state.order[k]
    if d >= most:
        return 0
    u, v = uniforms(state.stream, FOR_NEW_SET, slot, 1)
    j = draw_off_set(problem, state.features[k], d, u, work.sorted_set)
    if contains(state.features[k], d, j):
        return 0
    for i in range(d):
        features[i] = state.features[k, i]
    features[d] = j
    return d + 1


@internal
def birth(problem, settings, state, work, slot):
    """Try to add a term, with the derivatives at the fit in `work`; returns acceptance."""
    K = state.K
    d = draw_new_set(problem, settings, state, work, slot)
    if d == 0:
        return False
    most = settings.max_order
    for j in range(d):
        place = slot * most + j
        work.trial_b[j], _ = uniforms(state.stream, FOR_NEW_FACTOR, place, 0)
        variate = gamma_variate(state.stream, FOR_NEW_FACTOR, place + 65536, settings.a_gamma)
        work.trial_gamma[j] = state.scalar[B_GAMMA] * variate
    trial = settings.K_max
    if not build_phi(problem, work, work.trial_features, work.trial_b, work.trial_gamma, d, 0, trial):
        return False
    dot, norm = phi_moments(problem, work, trial)
    scale = state.scalar[TEMPERATURE] / state.scalar[NUISANCE]
    prior_precision = 1.0 / state.scalar[SIGMA_BETA2]
    precision = scale * norm + prior_precision
    mean = scale * dot / precision
    u, v = uniforms(state.stream, FOR_NEW_BETA, slot, 0)
    beta = draw_coefficient(settings, u, v, mean, precision, prior_precision)
    change = log_likelihood_change(
        problem, settings, state, work, trial, 0.0, 0.0, 0.0, trial, beta, dot, norm
    )
    log_ratio = scale * change + log_birth_ratio(problem, settings, state, work.trial_features, d, K, -1)
    log_ratio += log_normal(beta, 0.0, prior_precision)
    log_ratio -= log_coefficient_proposal(settings, beta, mean, precision, prior_precision)
    u, v = uniforms(state.stream, FOR_BIRTH_DEATH, slot, 1)
    if not log(u) < log_ratio:
        return False
    state.order[K] = d
    for j in range(d):
        state.features[K, j] = work.trial_features[j]
        state.b[K, j] = work.trial_b[j]
        state.gamma[K, j] = work.trial_gamma[j]
    state.beta[K] = beta
    state.K = K + 1
    state.scalar[FIT_LOGLIK] += change
    replace_term(problem, work, K, 0.0, trial, beta)
    return True


@internal
def death(problem, settings, state, work, slot, k):
    """Try to remove term k; returns acceptance."""
    K = state.K
    beta = state.beta[k]
    dot, norm = remove_term(problem, settings, work, k, beta)
    scale = state.scalar[TEMPERATURE] / state.scalar[NUISANCE]
    prior_precision = 1.0 / state.scalar[SIGMA_BETA2]
    precision = scale * norm + prior_precision
    mean = scale * dot / precision
    change = log_likelihood_change(problem, settings, state, work, k, beta, dot, norm, k, 0.0, 0.0, 0.0)
    d = state.order[k]
    log_ratio = scale * change - log_birth_ratio(problem, settings, state, state.features[k], d, K - 1, k)
    log_ratio -= log_normal(beta, 0.0, prior_precision)
    log_ratio += log_coefficient_proposal(settings, beta, mean, precision, prior_precision)
    u, v = uniforms(state.stream, FOR_BIRTH_DEATH, slot, 1)
    if not log(u) < log_ratio:
        return False
    last = K - 1
    replace_term(problem, work, k, beta, last, 0.0)
    state.order[k] = state.order[last]
    for j in range(state.order[last]):
        state.features[k, j] = state.features[last, j]
        state.b[k, j] = state.b[last, j]
        state.gamma[k, j] = state.gamma[last, j]
    state.beta[k] = state.beta[last]
    state.K = last
    state.scalar[FIT_LOGLIK] += change
    return True


@internal
def birth_or_death(problem, settings, state, work):
    """All attempts of a sweep."""
    at_fit = False
    for slot in range(settings.birth_death_attempts):
        K = state.K
        u, v = uniforms(state.stream, FOR_BIRTH_DEATH, slot, 0)
        if u * settings.K_max >= K:
            if not at_fit:
                derivatives(problem, settings, work)
            accepted = birth(problem, settings, state, work, slot)
            move = BIRTH
            at_fit = not accepted
        else:
            accepted = death(problem, settings, state, work, slot, min(int(v * K), K - 1))
            move = DEATH
            at_fit = False
        state.tally[move, 0] += 1
        if accepted:
            state.tally[move, 1] += 1
