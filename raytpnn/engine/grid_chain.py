"""One chain whose rows lie on one or several devices: the moves run here, passes over rows there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from raytpnn.engine.chain import Block, Chain, new_record, new_work
from raytpnn.engine.device import Device
from raytpnn.engine.grid_calls import place_callback
from raytpnn.engine.grid_rows import FIT, TRIAL, Exchange, GridRows
from raytpnn.engine.grid_shard import shards_of
from raytpnn.engine.layout import STOP, SWEEPS_DONE, TERMS, Record
from raytpnn.engine.setup import Problem
from raytpnn.engine.sweep import begin_block, keep_draw, sweep
from raytpnn.numerics.jit import compiled
from raytpnn.numerics.lanes import STRIPES

__all__ = ["GridChain"]


@compiled
def begin(problem, settings, state, work):
    """`begin_block` for Python."""
    begin_block(problem, settings, state, work)


@compiled
def sweep_once(problem, settings, state, work, warming_up):
    """`sweep` for Python."""
    return sweep(problem, settings, state, work, warming_up)


@compiled
def keep_state(problem, state, work, record, row):
    """`keep_draw` for Python; with no watched rows in the record it reads no row."""
    keep_draw(problem, state, work, record, row)


@compiled
def mean_squares(beta, phi, out):
    """Mean square of every term over the watched rows; phi is (terms, watched)."""
    for k in range(phi.shape[0]):
        total = 0.0
        for i in range(phi.shape[1]):
            value = beta[k] * phi[k, i]
            total += value * value
        out[k] = total / phi.shape[1]


class GridChain(Chain):
    """One chain of the sampler, draw for draw that of `Chain`.

    Parameters
    ----------
    problem, settings
        Shared by all chains, never written to.
    state : numpy.record of layout STATE
        Where the chain starts; it moves on with every block.
    devices : sequence of Device
        Each takes its share of the stripes; 1, 2, 4, 8 or 16 give equal shares. No draw depends on them.
    watched : (W,) int, optional
        Rows whose fit is kept in every draw, counted over all processes.
    stripes : (int, int)
        Stripes that the problem's rows are, if other processes have the others, equally many each.
    exchange : callable, optional
        Joins the sums of all processes: takes (16, columns) with those of this one's stripes and 0 elsewhere,
        and returns those of all stripes, in every process. See `grid_meeting`.
    """

    def __init__(
        self,
        problem: Problem,
        settings: np.record,
        state: np.record,
        devices: Sequence[Device],
        watched: np.ndarray | None = None,
        stripes: tuple[int, int] = (0, STRIPES),
        exchange: Exchange | None = None,
    ) -> None:
        if int(settings.batch) > 0:
            raise ValueError("a chain with its rows on devices has no subsets of them")
        self.problem = problem
        self.settings = settings
        self.state = state
        self.watched = np.array([] if watched is None else watched, np.int64)
        # No row of its own: what lies in the chain's scratch space are tables and a matrix.
        self.work, self._arrays = new_work(replace(problem, y=problem.y[:0]), settings)
        self.work.fit, self.work.trial_fit = FIT, TRIAL
        self._control = self.work["control"]
        by_address = {array.ctypes.data: array for array in self._arrays}
        tables, gram = by_address[int(self.work.table)], by_address[int(self.work.gram)]
        self.shards = shards_of(devices, problem, settings, self.watched, stripes)
        self.rows = GridRows(self.shards, settings, self.work, tables, gram, exchange)
        self._callback = place_callback(self.work, self.rows)

    def run(self, first: int, sweeps: int, warmup: int, thin: int) -> Block:
        """Run sweeps first ... first + sweeps - 1 and return the draws they kept."""
        kept = max(0, first + sweeps - warmup) // thin - max(0, first - warmup) // thin
        record = new_record(self.settings, max(kept, 1), self.watched)
        self._control[SWEEPS_DONE] = first
        self.rows.forget()
        try:
            done, draws = self._run(record, first, sweeps, warmup, thin)
        finally:
            for shard in self.shards:
                shard.finish()
        return Block(record, done, draws)

    def _run(self, record: Record, first: int, sweeps: int, warmup: int, thin: int) -> tuple[int, int]:
        """`run_block`, sweep by sweep; returns (sweeps done, draws kept)."""
        chain = self.problem.record, self.settings, self.state, self.work
        begin(*chain)
        self._raise()
        draws = 0
        for i in range(first, first + sweeps):
            self.state.stream[3] = i
            going_on = self._control[STOP] == 0 and sweep_once(*chain, i < warmup)
            self._raise()
            if not going_on:
                return i - first, draws
            if i >= warmup and (i - warmup + 1) % thin == 0:
                self._keep(record, draws)
                draws += 1
            self._control[SWEEPS_DONE] = i + 1
            self._control[TERMS] = self.state.K
        return sweeps, draws

    def _keep(self, record: Record, row: int) -> None:
        """`keep_draw`, with what the devices have."""
        blind = record._replace(watched=record.watched[:0])
        keep_state(self.problem.record, self.state, self.work, blind, row)
        if len(record.watched):
            K = int(self.state.K)
            seen = self.rows.watch(K, len(record.watched))
            record.fit[row] = seen[0]
            mean_squares(record.beta[row], seen[1:], record.size[row])

    def _raise(self) -> None:
        """Raise what went wrong within a pass: compiled code cannot."""
        problem, self.rows.problem = self.rows.problem, None
        if problem is not None:
            raise problem

    def close(self) -> None:
        """Give the memory of the devices back."""
        for shard in self.shards:
            shard.close()
