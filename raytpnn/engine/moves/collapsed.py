"""Births, deaths and changes of sets with the intercept and all coefficients integrated out (Gaussian).

Terms that share what they explain block each other when each is judged with the others' coefficients held
fixed. Here all coefficients give way; they are drawn anew at the end.
"""

from __future__ import annotations

from raytpnn.engine.layout import (
    BIRTH,
    DEATH,
    FOR_BIRTH_DEATH,
    FOR_NEW_FACTOR,
    FOR_RESTRUCTURE,
    MOST_VARIABLES,
)
from raytpnn.engine.moves.birth_death import draw_new_set, log_birth_ratio, move_term
from raytpnn.engine.moves.marginal import (
    begin_marginal,
    draw_coefficients,
    gain_of_term,
    gain_of_trial,
    move_index,
    put_in,
    take_out,
)
from raytpnn.engine.moves.restructure import propose_set
from raytpnn.engine.moves.trial import build_phi, prior_factor, take_trial
from raytpnn.engine.random import uniforms
from raytpnn.engine.rows import copy_phi
from raytpnn.engine.types import CHAIN, DOUBLE, FLAG, INTEGER
from raytpnn.engine.units import unit
from raytpnn.numerics.elementary import log
from raytpnn.numerics.jit import internal

__all__ = ["collapsed_moves"]


@unit(FLAG(*CHAIN, INTEGER))
def collapsed_birth(problem, settings, state, work, slot):
    """Try to add a term; returns acceptance."""
    K = state.K
    d = draw_new_set(problem, settings, state, work, slot)
    if d == 0:
        return False
    for j in range(d):
        prior_factor(settings, state, work, FOR_NEW_FACTOR, slot * MOST_VARIABLES + j, j)
    trial = settings.K_max
    features = work.trial_features[0]
    if not build_phi(problem, work, features, work.trial_b[0], work.trial_gamma[0], d, 0, trial):
        return False
    log_ratio = gain_of_trial(problem, settings, state, work, K + 1, 0)
    log_ratio += log_birth_ratio(problem, settings, state, features, d, K, trial)
    u, _ = uniforms(state, FOR_BIRTH_DEATH, slot, 1)
    if not log(u) < log_ratio:
        return False
    put_in(settings, state, work, K + 2, K + 1)
    copy_phi(problem, work, trial, K)
    take_trial(state, work, K, d, 0.0)
    state.K = K + 1
    return True


@unit(FLAG(*CHAIN, INTEGER, INTEGER))
def collapsed_death(problem, settings, state, work, slot, k):
    """Try to remove term k; returns acceptance. No pass over the rows unless it dies."""
    last = state.K - 1
    log_ratio = -gain_of_term(settings, state, work, k + 1)
    log_ratio -= log_birth_ratio(problem, settings, state, state.features[k], state.order[k], last, k)
    u, _ = uniforms(state, FOR_BIRTH_DEATH, slot, 1)
    if not log(u) < log_ratio:
        return False
    size = state.K + 1
    take_out(settings, state, work, size, k + 1)
    if k < last:
        move_index(settings, work, size, last + 1, k + 1)
        copy_phi(problem, work, last, k)
        move_term(state, last, k)
    state.K = last
    return True


@unit(FLAG(*CHAIN, INTEGER, INTEGER, INTEGER, DOUBLE))
def collapsed_change(problem, settings, state, work, k, d, first, log_ratio):
    """Accept or reject the proposed set of term k; `log_ratio` is that of the sets."""
    trial = settings.K_max
    features = work.trial_features[0]
    if first > 0:
        copy_phi(problem, work, k, trial)
    if not build_phi(problem, work, features, work.trial_b[0], work.trial_gamma[0], d, first, trial):
        return False
    size = state.K + 1
    log_ratio -= gain_of_term(settings, state, work, k + 1)
    log_ratio += gain_of_trial(problem, settings, state, work, size, k + 1)
    u, _ = uniforms(state, FOR_RESTRUCTURE, k, 2)
    if not log(u) < log_ratio:
        return False
    take_out(settings, state, work, size, k + 1)
    put_in(settings, state, work, size, k + 1)
    copy_phi(problem, work, trial, k)
    take_trial(state, work, k, d, 0.0)
    return True


@internal
def collapsed_moves(problem, settings, state, work):
    """All births and deaths of a sweep, then one change of each term's set."""
    begin_marginal(problem, settings, state, work)
    for slot in range(settings.birth_death_attempts):
        K = state.K
        u, v = uniforms(state, FOR_BIRTH_DEATH, slot, 0)
        if u * settings.K_max >= K:
            accepted = collapsed_birth(problem, settings, state, work, slot)
            move = BIRTH
        else:
            accepted = collapsed_death(problem, settings, state, work, slot, min(int(v * K), K - 1))
            move = DEATH
        state.tally[move, 0] += 1
        if accepted:
            state.tally[move, 1] += 1
    if settings.restructure:
        for k in range(state.K):
            move, d, first, log_ratio = propose_set(problem, settings, state, work, k)
            state.tally[move, 0] += 1
            if d > 0 and collapsed_change(problem, settings, state, work, k, d, first, log_ratio):
                state.tally[move, 1] += 1
    draw_coefficients(problem, settings, state, work)
