"""Sweeps of all replicas of an ensemble, with swaps in between."""

from __future__ import annotations

from raytpnn.engine.records import STOP, SWEEPS_DONE, TEMPERATURE, TERMS
from raytpnn.engine.sweeps.prior_draw import draw_from_prior
from raytpnn.engine.sweeps.swap import full_log_likelihood, swap_neighbours
from raytpnn.engine.sweeps.sweep import begin_block, keep_draw, sweep
from raytpnn.numerics.jit import compiled, internal

__all__ = ["begin_replicas", "end_sweep", "run_ensemble", "run_replica", "sweep_replicas"]


@internal
def sweep_replica(problem, settings, state, work, prior_draws, warming_up):
    """One sweep of one replica; False if it was stopped half-way."""
    if work.control[STOP] != 0:
        return False
    if prior_draws and state.scalar[TEMPERATURE] == 0.0:
        draw_from_prior(problem, settings, state, work)
        return True
    return sweep(problem, settings, state, work, warming_up)


@compiled
def begin_replicas(problem, settings, states, works):
    """Recompute what every replica derives from its terms."""
    for r in range(len(states)):
        begin_block(problem, settings, states[r], works[r])


@compiled
def sweep_replicas(problem, settings, states, works, ladder, start, stop, index, warming_up):
    """Sweep number `index` of replicas start ... stop - 1; False if it was stopped half-way."""
    for r in range(start, stop):
        states[r].stream[3] = index
        if not sweep_replica(problem, settings, states[r], works[r], ladder.prior_draws, warming_up):
            return False
    return True


@compiled
def end_sweep(problem, settings, states, works, ladder, record, trace, row, index, keep):
    """Keep the cold replica's draw in a row of the record, then swap if it is time to."""
    cold = ladder.replica_at[ladder.levels - 1]
    if keep:
        keep_draw(problem, states[cold], works[cold], record, row)
        for level in range(ladder.levels):
            trace[row, level] = full_log_likelihood(settings, states[ladder.replica_at[level]])
    works[0].control[SWEEPS_DONE] = index + 1
    works[0].control[TERMS] = states[cold].K
    if (index + 1) % ladder.swap_every == 0:
        swap_neighbours(settings, states, ladder, (index + 1) // ladder.swap_every % 2)


@compiled
def run_replica(problem, settings, states, works, ladder, record, trace, r, first, sweeps, warmup, thin):
    """Sweeps first ... first + sweeps - 1 of one replica, without swaps.

    The trace takes its log-likelihood at every kept sweep, in the column of its level; the record its draws
    if it is the cold one.

    Returns
    -------
    (int, int)
        Sweeps done and draws kept.
    """
    level = 0
    while ladder.replica_at[level] != r:
        level += 1
    begin_block(problem, settings, states[r], works[r])
    row = 0
    for i in range(first, first + sweeps):
        if not sweep_replicas(problem, settings, states, works, ladder, r, r + 1, i, i < warmup):
            return i - first, row
        if i >= warmup and (i - warmup + 1) % thin == 0:
            trace[row, level] = full_log_likelihood(settings, states[r])
            if level == ladder.levels - 1:
                keep_draw(problem, states[r], works[r], record, row)
            row += 1
        works[0].control[SWEEPS_DONE] = i + 1
        works[0].control[TERMS] = states[r].K
    return sweeps, row


@compiled
def run_ensemble(problem, settings, states, works, ladder, record, trace, row, first, sweeps, warmup, thin):
    """Sweeps first ... first + sweeps - 1, draws into the record from `row` on.

    Returns
    -------
    (int, int)
        Sweeps done and the first free row.
    """
    for i in range(first, first + sweeps):
        if not sweep_replicas(problem, settings, states, works, ladder, 0, len(states), i, i < warmup):
            return i - first, row
        keep = i >= warmup and (i - warmup + 1) % thin == 0
        end_sweep(problem, settings, states, works, ladder, record, trace, row, i, keep)
        if keep:
            row += 1
    return sweeps, row
