"""Birth of a term, random or stepwise, and death of one."""

from __future__ import annotations

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.signatures import CHAIN, FLAG, INTEGER
from raytpnn.engine.moves.coefficient import draw_coefficient, log_prior_over_proposal
from raytpnn.engine.moves.delayed_acceptance import (
    count_proposal,
    follow_death,
    follow_term,
    screen_birth,
    screen_death,
    second_stage,
)
from raytpnn.engine.moves.likelihood import likelihood_scale, log_likelihood_change
from raytpnn.engine.moves.proposed_term import build_phi, prior_factor, take_trial
from raytpnn.engine.records import (
    BIRTH,
    DEATH,
    FIT_LOGLIK,
    FOR_BIRTH_DEATH,
    FOR_NEW_BETA,
    FOR_NEW_FACTOR,
    FOR_NEW_SET,
    FOR_OUTPUT,
    FOR_SCREEN,
    MOST_VARIABLES,
    SCREEN_BIRTH_DEATH,
    SIGMA_BETA2,
)
from raytpnn.engine.rows.feature_sets import (
    draw_off_set,
    extension_weight,
    log_set_weight,
    sort_set,
    terms_on_set,
)
from raytpnn.engine.rows.outputs import drawn_output, select_output
from raytpnn.engine.rows.row_passes import evaluate, phi_moments, replace_term
from raytpnn.engine.rows.set_table import (
    MOST_IN_TABLE,
    draw_table_set,
    table_probability,
    weighted_probability,
)
from raytpnn.engine.rows.term_moments import moments_without
from raytpnn.families.base import DERIVATIVES
from raytpnn.numerics.elementary import log
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import uniforms

__all__ = ["birth_or_death", "copy_set", "draw_new_set", "draw_prior_set"]

# Attempt number of the uniform that decides whether a birth copies a set; features use smaller ones.
COPY_ATTEMPT = 1 + MOST_VARIABLES
# That of the uniforms that decide whether a birth takes a set from the table, and which.
TABLE_ATTEMPT = COPY_ATTEMPT + 1


@internal
def log_count_ratio(K, K_max):
    """Choosing a death at K + 1, over choosing a birth at K, times K + 1 for the unordered set of terms."""
    return log((K + 1.0) / (K_max - K))


@internal
def log_birth_ratio(problem, settings, state, features, d, K, skip):
    """Everything of the ratio K -> K + 1 but likelihood and coefficient; term `skip` counts as not there."""
    log_prior = log_set_weight(settings, state, features, d, skip)
    stepwise = extension_weight(problem, state, features, d, skip)
    alone = weighted_probability(problem, settings, features, d)
    proposal = (settings.M * alone + stepwise) / (settings.M + K)
    if problem.table_share > 0.0:
        tabled = table_probability(problem, features, d)
        proposal = (1.0 - problem.table_share) * proposal + problem.table_share * tabled
    if settings.sharing > 0.0:
        log_prior -= log(1.0 + settings.sharing * K)
        if K > 0:
            copied = terms_on_set(state, features, d, skip) / (1.0 * K)
            proposal = (1.0 - settings.q_copy) * proposal + settings.q_copy * copied
    return log_prior - log(proposal) - settings.log_count_penalty + log_count_ratio(K, settings.K_max)


@internal
def draw_prior_set(problem, settings, state, work, slot, v):
    """Set of a term from the prior of one by itself into work.trial_features; returns its order."""
    features = work.trial_features[0]
    d = 1
    while d < settings.max_order and v >= settings.order_cumulative[d - 1]:
        d += 1
    for i in range(d):
        # The value is a rank among the features not yet taken: step over the taken ones.
        pick, _ = uniforms(state, FOR_NEW_SET, slot, 1 + i)
        value = min(int(pick * (problem.p - i)), problem.p - i - 1)
        sort_set(work, features, i)
        for s in range(i):
            if value >= work.sorted_set[0, s]:
                value += 1
        features[i] = value
    return d


@internal
def draw_weighted_set(problem, settings, state, work, slot, v):
    """As `draw_prior_set`, with features drawn by weight; 0 if rounding led into the set."""
    d = 1
    while d < settings.max_order and v >= settings.order_cumulative[d - 1]:
        d += 1
    if d > MOST_IN_TABLE:
        # The probability of a set is a sum over all orders in which its features can be drawn.
        return draw_prior_set(problem, settings, state, work, slot, v)
    features = work.trial_features[0]
    for i in range(d):
        pick, _ = uniforms(state, FOR_NEW_SET, slot, 1 + i)
        j = draw_off_set(problem, work, features, i, pick)
        if j < 0:
            return 0
        features[i] = j
    return d


@internal
def copy_set(state, work, k):
    """Set of term k into work.trial_features; returns its order."""
    d = state.order[k]
    for i in range(d):
        work.trial_features[0, i] = state.features[k, i]
    return d


@unit(INTEGER(*CHAIN, INTEGER))
def draw_new_set(problem, settings, state, work, slot):
    """Set of a new term into work.trial_features; returns its order, 0 if there is none."""
    K = state.K
    u, v = uniforms(state, FOR_NEW_SET, slot, 0)
    if settings.sharing > 0.0 and K > 0:
        copied, _ = uniforms(state, FOR_NEW_SET, slot, COPY_ATTEMPT)
        if copied < settings.q_copy:
            return copy_set(state, work, min(int(v * K), K - 1))
    if problem.table_share > 0.0:
        tabled, which = uniforms(state, FOR_NEW_SET, slot, TABLE_ATTEMPT)
        if tabled < problem.table_share:
            return draw_table_set(problem, work, which)
    if u * (settings.M + K) < settings.M:
        if problem.weighted_births:
            return draw_weighted_set(problem, settings, state, work, slot, v)
        return draw_prior_set(problem, settings, state, work, slot, v)
    k = min(int(v * K), K - 1)
    d = state.order[k]
    if d >= settings.max_order:
        return 0
    pick, _ = uniforms(state, FOR_NEW_SET, slot, 1)
    j = draw_off_set(problem, work, state.features[k], d, pick)
    if j < 0:
        return 0
    copy_set(state, work, k)
    work.trial_features[0, d] = j
    return d + 1


@unit(FLAG(*CHAIN, INTEGER))
def birth(problem, settings, state, work, slot):
    """Try to add a term; returns acceptance."""
    K = state.K
    d = draw_new_set(problem, settings, state, work, slot)
    if d == 0:
        return False
    for j in range(d):
        prior_factor(settings, state, work, FOR_NEW_FACTOR, slot * MOST_VARIABLES + j, j)
    trial = settings.K_max
    features = work.trial_features[0]
    log_set = log_birth_ratio(problem, settings, state, features, d, K, trial)
    log_screen = 0.0
    if work.screen[SCREEN_BIRTH_DEATH] != 0:
        log_screen = screen_birth(problem, settings, state, work, d, log_set)
        u, _ = uniforms(state, FOR_SCREEN, slot, 0)
        if not log(u) < log_screen:
            count_proposal(problem, settings, state, work, SCREEN_BIRTH_DEATH, False, False)
            return False
    if not build_phi(problem, work, features, work.trial_b[0], work.trial_gamma[0], d, 0, trial):
        return False
    if settings.outputs > 1:
        u, _ = uniforms(state, FOR_OUTPUT, slot, 0)
        select_output(problem, settings, work, drawn_output(settings, u))
    if work.at_fit != 1 + work.output:
        evaluate(problem, settings, state, work, work.fit, 0, 0.0, 0, 0.0, DERIVATIVES, 0, features, 0)
        work.at_fit = 1 + work.output
    dot, norm = phi_moments(problem, work, trial)
    scale = likelihood_scale(settings, state)
    prior_precision = 1.0 / state.scalar[SIGMA_BETA2]
    precision = scale * norm + prior_precision
    mean = scale * dot / precision
    u, v = uniforms(state, FOR_NEW_BETA, slot, 0)
    beta = draw_coefficient(settings, work, u, v, mean, precision, prior_precision)
    change = log_likelihood_change(
        problem, settings, state, work, trial, 0.0, (0.0, 0.0), trial, beta, (dot, norm)
    )
    log_ratio = scale * change + log_set
    log_ratio += log_prior_over_proposal(settings, work, beta, mean, precision, prior_precision)
    u, _ = uniforms(state, FOR_BIRTH_DEATH, slot, 1)
    accepted = log(u) < second_stage(log_ratio, log_screen)
    count_proposal(problem, settings, state, work, SCREEN_BIRTH_DEATH, True, accepted)
    if not accepted:
        return False
    work.at_fit = 0
    take_trial(state, work, K, d, beta)
    state.output[K] = work.output
    state.K = K + 1
    state.scalar[FIT_LOGLIK] += change
    replace_term(problem, work, K, 0.0, trial, beta)
    follow_term(settings, state, work, K, 0.0)
    return True


@unit(FLAG(*CHAIN, INTEGER, INTEGER))
def death(problem, settings, state, work, slot, k):
    """Try to remove term k; returns acceptance."""
    last = state.K - 1
    beta = state.beta[k]
    log_set = log_birth_ratio(problem, settings, state, state.features[k], state.order[k], last, k)
    log_screen = 0.0
    if work.screen[SCREEN_BIRTH_DEATH] != 0:
        log_screen = screen_death(problem, settings, state, work, k, log_set)
        u, _ = uniforms(state, FOR_SCREEN, slot, 0)
        if not log(u) < log_screen:
            count_proposal(problem, settings, state, work, SCREEN_BIRTH_DEATH, False, False)
            return False
    select_output(problem, settings, work, state.output[k])
    dot, norm, _, _ = moments_without(problem, settings, state, work, k, beta, k)
    scale = likelihood_scale(settings, state)
    prior_precision = 1.0 / state.scalar[SIGMA_BETA2]
    precision = scale * norm + prior_precision
    mean = scale * dot / precision
    change = log_likelihood_change(problem, settings, state, work, k, beta, (dot, norm), k, 0.0, (0.0, 0.0))
    log_ratio = scale * change
    log_ratio -= log_set
    log_ratio -= log_prior_over_proposal(settings, work, beta, mean, precision, prior_precision)
    u, _ = uniforms(state, FOR_BIRTH_DEATH, slot, 1)
    accepted = log(u) < second_stage(log_ratio, log_screen)
    count_proposal(problem, settings, state, work, SCREEN_BIRTH_DEATH, True, accepted)
    if not accepted:
        return False
    work.at_fit = 0
    # The last term moves into the gap.
    replace_term(problem, work, k, beta, last, 0.0)
    follow_death(work, k, beta, last)
    state.order[k] = state.order[last]
    state.beta[k] = state.beta[last]
    state.output[k] = state.output[last]
    for j in range(state.order[last]):
        state.features[k, j] = state.features[last, j]
        state.b[k, j] = state.b[last, j]
        state.gamma[k, j] = state.gamma[last, j]
    state.K = last
    state.scalar[FIT_LOGLIK] += change
    return True


@internal
def birth_or_death(problem, settings, state, work):
    """All attempts of a sweep."""
    work.at_fit = 0
    for slot in range(settings.birth_death_attempts):
        K = state.K
        u, v = uniforms(state, FOR_BIRTH_DEATH, slot, 0)
        if u * settings.K_max >= K:
            accepted = birth(problem, settings, state, work, slot)
            move = BIRTH
        else:
            accepted = death(problem, settings, state, work, slot, min(int(v * K), K - 1))
            move = DEATH
        state.tally[move, 0] += 1
        if accepted:
            state.tally[move, 1] += 1
