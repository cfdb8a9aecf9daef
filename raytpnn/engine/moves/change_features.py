"""Adding, deleting or changing a variable of one term, taking another term's set, or changing its output."""

from __future__ import annotations

from numba import types

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.pointers import doubles
from raytpnn.engine.jit.signatures import CHAIN, DOUBLE, FLAG, INTEGER
from raytpnn.engine.moves.coefficient import draw_coefficient, log_prior_over_proposal
from raytpnn.engine.moves.delayed_acceptance import (
    count_proposal,
    follow_term,
    screen_restructure,
    second_stage,
)
from raytpnn.engine.moves.likelihood import likelihood_scale, log_likelihood_change
from raytpnn.engine.moves.proposed_term import build_phi, prior_factor, take_trial
from raytpnn.engine.records import (
    ADDING,
    CHANGING,
    DELETING,
    FIT_LOGLIK,
    FOR_JOINED_FACTOR,
    FOR_OUTPUT,
    FOR_RESTRUCTURE,
    FOR_RESTRUCTURE_BETA,
    FOR_RESTRUCTURE_FACTOR,
    FOR_SCREEN,
    JOINING,
    MOST_TERMS,
    MOST_VARIABLES,
    OUTPUT,
    SCREEN_ADD_DELETE,
    SCREEN_CHANGE,
    SIGMA_BETA2,
)
from raytpnn.engine.rows.feature_sets import draw_off_set, log_set_weight, terms_on_set, weight_off_set
from raytpnn.engine.rows.outputs import select_output
from raytpnn.engine.rows.row_passes import copy_phi, evaluate, replace_term
from raytpnn.engine.rows.term_moments import moments_without
from raytpnn.families.base import LIKELIHOOD
from raytpnn.numerics.elementary import log
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import uniforms

__all__ = ["change_outputs", "restructure"]

# Attempt number of the uniforms of joining; the other changes use smaller ones.
JOIN_ATTEMPT = 3
# First slot of the moves to another output; births use the slots below.
OUTPUT_SLOTS = 1 << 18
# First slot of the screens of this move; births and deaths use the slots below.
SCREEN_SLOTS = 1 << 20


@internal
def log_pick(problem, features, d, feature):
    """Log probability of drawing `feature` off the set of the first d features."""
    weight = doubles(problem.feature_weight, problem.p)[feature]
    return log(weight / weight_off_set(problem, features, d))


@internal
def log_prior_change(settings, state, work, k, d):
    """Log prior ratio of the trial's d features to the set of term k, given the other terms."""
    new = log_set_weight(settings, state, work.trial_features[0], d, k)
    return new - log_set_weight(settings, state, state.features[k], state.order[k], k)


@internal
def log_adding_ratio(problem, settings, small, d, feature):
    """Log proposals of the ratio for d -> d + 1 variables by adding `feature` to the set `small`."""
    forward = log(settings.q_add) + log_pick(problem, small, d, feature)
    backward = log(settings.q_delete / (d + 1.0))
    return backward - forward


@internal
def log_deleting_ratio(problem, settings, small, d, feature):
    """Log proposals of that for d + 1 -> d variables: the reverse draws `feature` off the smaller set."""
    return -log_adding_ratio(problem, settings, small, d, feature)


@internal
def propose_join(settings, state, work, k, slot):
    """Propose the set of another term, with factors from the prior: (order or 0 if impossible, log ratio).

    The way back takes the old set from another term that has it: if there is none, there is no way back.
    """
    others = state.K - 1
    left = terms_on_set(state, state.features[k], state.order[k], k)
    if others < 1 or left == 0:
        return 0, 0.0
    _, v = uniforms(state, FOR_RESTRUCTURE, slot, JOIN_ATTEMPT)
    other = min(int(v * others), others - 1)
    if other >= k:
        other += 1
    d = state.order[other]
    for j in range(d):
        work.trial_features[0, j] = state.features[other, j]
        prior_factor(settings, state, work, FOR_JOINED_FACTOR, slot * MOST_VARIABLES + j, j)
    joined = terms_on_set(state, state.features[other], d, k)
    return d, log_prior_change(settings, state, work, k, d) + log(left / (1.0 * joined))


@unit(types.Tuple((INTEGER, INTEGER, INTEGER, DOUBLE))(*CHAIN, INTEGER, INTEGER))
def propose_set(problem, settings, state, work, k, slot):
    """Propose a set into the trial: (move, new order or 0 if impossible, first new place, log ratio)."""
    d = state.order[k]
    features = state.features[k]
    trial = work.trial_features[0]
    if settings.sharing > 0.0:
        u, _ = uniforms(state, FOR_RESTRUCTURE, slot, JOIN_ATTEMPT)
        if u < settings.q_join:
            joined, ratio = propose_join(settings, state, work, k, slot)
            return JOINING, joined, 0, ratio
    u, v = uniforms(state, FOR_RESTRUCTURE, slot, 0)
    pick, w = uniforms(state, FOR_RESTRUCTURE, slot, 1)
    move = (
        ADDING if u < settings.q_add else (DELETING if u < settings.q_add + settings.q_delete else CHANGING)
    )
    # The variable at `place` goes; none does in Adding.
    place = d if move == ADDING else min(int(v * d), d - 1)
    kept = 0
    for j in range(d):
        if j != place:
            trial[kept] = features[j]
            work.trial_b[0, kept] = state.b[k, j]
            work.trial_gamma[0, kept] = state.gamma[k, j]
            kept += 1
    if move == DELETING:
        if kept == 0:
            return move, 0, 0, 0.0
        ratio = log_prior_change(settings, state, work, k, kept)
        return move, kept, 0, ratio + log_deleting_ratio(problem, settings, trial, kept, int(features[place]))
    if kept >= settings.max_order or d >= problem.p:
        return move, 0, 0, 0.0
    j = draw_off_set(problem, work, features, d, pick)
    if j < 0:
        return move, 0, 0, 0.0
    trial[kept] = j
    if move == CHANGING and w < settings.q_keep:
        # Much the same function if the two features go together: the way between near-twins.
        work.trial_b[0, kept] = state.b[k, place]
        work.trial_gamma[0, kept] = state.gamma[k, place]
    else:
        prior_factor(settings, state, work, FOR_RESTRUCTURE_FACTOR, slot, kept)
    if move == ADDING:
        ratio = log_prior_change(settings, state, work, k, d + 1)
        return move, d + 1, d, ratio + log_adding_ratio(problem, settings, features, d, j)
    ratio = log_prior_change(settings, state, work, k, d)
    ratio += log_pick(problem, trial, d, int(features[place])) - log_pick(problem, features, d, j)
    return move, d, 0, ratio


@unit(FLAG(*CHAIN, INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, DOUBLE))
def try_restructure(problem, settings, state, work, k, slot, group, d, first, log_ratio):
    """Give the proposed set a coefficient, and accept or reject."""
    log_screen = 0.0
    if work.screen[group] != 0:
        log_screen = screen_restructure(problem, settings, state, work, k, d, first, log_ratio)
        u, _ = uniforms(state, FOR_SCREEN, SCREEN_SLOTS + slot, 0)
        if not log(u) < log_screen:
            count_proposal(problem, settings, state, work, group, False, False)
            return False
    trial = settings.K_max
    features = work.trial_features[0]
    if first > 0:
        copy_phi(problem, work, k, trial)
    if not build_phi(problem, work, features, work.trial_b[0], work.trial_gamma[0], d, first, trial):
        return False
    old_beta = state.beta[k]
    old_dot, old_norm, dot, norm = moments_without(problem, settings, state, work, k, old_beta, trial)
    scale = likelihood_scale(settings, state)
    prior_precision = 1.0 / state.scalar[SIGMA_BETA2]
    beta = old_beta
    if settings.conditional_beta:
        precision = scale * norm + prior_precision
        mean = scale * dot / precision
        old_precision = scale * old_norm + prior_precision
        old_mean = scale * old_dot / old_precision
        u, v = uniforms(state, FOR_RESTRUCTURE_BETA, slot, 0)
        beta = draw_coefficient(settings, work, u, v, mean, precision, prior_precision)
        log_ratio += log_prior_over_proposal(settings, work, beta, mean, precision, prior_precision)
        log_ratio -= log_prior_over_proposal(
            settings, work, old_beta, old_mean, old_precision, prior_precision
        )
    change = log_likelihood_change(
        problem, settings, state, work, k, old_beta, (old_dot, old_norm), trial, beta, (dot, norm)
    )
    u, _ = uniforms(state, FOR_RESTRUCTURE, slot, 2)
    accepted = log(u) < second_stage(log_ratio + scale * change, log_screen)
    count_proposal(problem, settings, state, work, group, True, accepted)
    if not accepted:
        return False
    replace_term(problem, work, k, old_beta, trial, beta)
    take_trial(state, work, k, d, beta)
    follow_term(settings, state, work, k, old_beta)
    state.scalar[FIT_LOGLIK] += change
    return True


@internal
def restructure_once(problem, settings, state, work, k, slot):
    """Propose one change of the set of term k."""
    move, d, first, log_ratio = propose_set(problem, settings, state, work, k, slot)
    state.tally[move, 0] += 1
    group = SCREEN_ADD_DELETE if move in (ADDING, DELETING) else SCREEN_CHANGE
    if d > 0 and try_restructure(problem, settings, state, work, k, slot, group, d, first, log_ratio):
        state.tally[move, 1] += 1


@internal
def restructure(problem, settings, state, work, k):
    """Propose a change of the set of term k; several where screening makes them cheap."""
    restructure_once(problem, settings, state, work, k, k)
    if work.screen[SCREEN_ADD_DELETE] != 0 and work.screen[SCREEN_CHANGE] != 0:
        for attempt in range(1, settings.screened_attempts):
            restructure_once(problem, settings, state, work, k, k + attempt * MOST_TERMS)


@internal
def log_output_ratio(settings, work, beta, moments, prior_precision, scale):
    """Log of pi(beta) / q(beta), q from the moments without the term in the output at hand."""
    precision = scale * moments[1] + prior_precision
    mean = scale * moments[0] / precision
    return log_prior_over_proposal(settings, work, beta, mean, precision, prior_precision)


@unit(FLAG(*CHAIN, INTEGER))
def change_output(problem, settings, state, work, slot):
    """Try to move a term to another output, with a new coefficient; returns acceptance.

    Outputs have equal prior probabilities, and the way back is as likely to be picked: only coefficients and
    likelihood enter the ratio.
    """
    if state.K == 0:
        return False
    place = OUTPUT_SLOTS + 2 * slot
    pick, choice = uniforms(state, FOR_OUTPUT, place, 0)
    chance, _ = uniforms(state, FOR_OUTPUT, place, 1)
    k = min(int(pick * state.K), state.K - 1)
    old = state.output[k]
    new = min(int(choice * (settings.outputs - 1)), settings.outputs - 2)
    if new >= old:
        new += 1
    scale = likelihood_scale(settings, state)
    prior_precision = 1.0 / state.scalar[SIGMA_BETA2]
    old_beta = state.beta[k]
    select_output(problem, settings, work, old)
    old_dot, old_norm, _, _ = moments_without(problem, settings, state, work, k, old_beta, k)
    log_ratio = -log_output_ratio(settings, work, old_beta, (old_dot, old_norm), prior_precision, scale)
    # The term is nowhere while the other output looks at it.
    replace_term(problem, work, k, old_beta, k, 0.0)
    select_output(problem, settings, work, new)
    dot, norm, _, _ = moments_without(problem, settings, state, work, k, 0.0, k)
    precision = scale * norm + prior_precision
    u, v = uniforms(state, FOR_OUTPUT, place + 1, 0)
    beta = draw_coefficient(settings, work, u, v, scale * dot / precision, precision, prior_precision)
    log_ratio += log_output_ratio(settings, work, beta, (dot, norm), prior_precision, scale)
    features = work.trial_features[0]
    evaluate(problem, settings, state, work, work.fit, k, 0.0, k, beta, LIKELIHOOD, 0, features, 0)
    loglik = work.sums[0]
    if not log(chance) < log_ratio + scale * (loglik - state.scalar[FIT_LOGLIK]):
        select_output(problem, settings, work, old)
        replace_term(problem, work, k, 0.0, k, old_beta)
        return False
    replace_term(problem, work, k, 0.0, k, beta)
    state.output[k] = new
    state.beta[k] = beta
    state.scalar[FIT_LOGLIK] = loglik
    return True


@internal
def change_outputs(problem, settings, state, work):
    """All attempts of a sweep."""
    for slot in range(settings.output_changes):
        state.tally[OUTPUT, 0] += 1
        if change_output(problem, settings, state, work, slot):
            state.tally[OUTPUT, 1] += 1
