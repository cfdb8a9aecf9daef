"""Replicas at neighbouring temperatures trade places: two numbers move, states stay where they are."""

from __future__ import annotations

from raytpnn.engine.records import FIT_LOGLIK, MOVE_NAMES, NUISANCE, TEMPERATURE
from raytpnn.numerics.elementary import exp, log
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import uniforms

__all__ = ["full_log_likelihood", "swap_neighbours"]

# Purposes of moves count up from 0, those of ensembles down from 255.
FOR_SWAP = 255
# What a replica met last: neither end of the ladder, the hot one, the cold one.
NEITHER, HOT, COLD = range(3)


@internal
def full_log_likelihood(settings, state):
    """Log-likelihood of a state, with all that depends on the dispersion."""
    if settings.dispersion_in_rows:
        return state.scalar[FIT_LOGLIK]
    nuisance = state.scalar[NUISANCE]
    value = state.scalar[FIT_LOGLIK] / nuisance
    if settings.dispersion:
        unit = settings.dispersion_log_unit + log(nuisance)
        value -= settings.dispersion_power * settings.weight_sum * unit
    return value


@internal
def log_swap_ratio(settings, hot, cold):
    """Log of the density ratio of two states that trade temperatures."""
    gap = cold.scalar[TEMPERATURE] - hot.scalar[TEMPERATURE]
    return gap * (full_log_likelihood(settings, hot) - full_log_likelihood(settings, cold))


@internal
def trade_places(left, right):
    """Exchange temperatures, and what belongs to a temperature: step sizes and tallies."""
    kept = left.scalar[TEMPERATURE]
    left.scalar[TEMPERATURE] = right.scalar[TEMPERATURE]
    right.scalar[TEMPERATURE] = kept
    for i in range(len(left.log_step)):
        step = left.log_step[i]
        left.log_step[i] = right.log_step[i]
        right.log_step[i] = step
        count = left.step_count[i]
        left.step_count[i] = right.step_count[i]
        right.step_count[i] = count
    for move in range(len(MOVE_NAMES)):
        for i in range(2):
            tally = left.tally[move, i]
            left.tally[move, i] = right.tally[move, i]
            right.tally[move, i] = tally


@internal
def note_travels(ladder):
    """Count replicas that came from the hot end to the cold one, and back."""
    hot = ladder.replica_at[0]
    cold = ladder.replica_at[ladder.levels - 1]
    if ladder.met[hot] == COLD:
        ladder.travels[1] += 1
    ladder.met[hot] = HOT
    if ladder.met[cold] == HOT:
        ladder.travels[0] += 1
        ladder.met[cold] = COLD


@internal
def swap_neighbours(settings, states, ladder, parity):
    """Try to swap levels (0, 1), (2, 3), ... or, at parity 1, (1, 2), (3, 4), ..."""
    for level in range(parity, ladder.levels - 1, 2):
        hot = ladder.replica_at[level]
        cold = ladder.replica_at[level + 1]
        log_ratio = log_swap_ratio(settings, states[hot], states[cold])
        u, _ = uniforms(states[0], FOR_SWAP, level, 0)
        accepted = log(u) < log_ratio
        ladder.tried[level] += 1
        if accepted:
            trade_places(states[hot], states[cold])
            ladder.replica_at[level] = cold
            ladder.replica_at[level + 1] = hot
            ladder.swapped[level] += 1
        if log_ratio < 0.0:
            ladder.rejection[level] += 1.0 - (exp(log_ratio) if log_ratio > -700.0 else 0.0)
    note_travels(ladder)
