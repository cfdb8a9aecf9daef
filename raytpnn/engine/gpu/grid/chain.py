"""One chain whose rows lie on one or several devices: the moves run here, passes over rows there.

A chain that looks at subsets alone has only these on the devices to pass over. One that screens proposals on
subsets has both, each with a callback in a record `Work` of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from raytpnn.engine.chain import Block, Chain, address_of, new_record, new_work
from raytpnn.engine.gpu.device import Device
from raytpnn.engine.gpu.grid.callbacks import place_callback
from raytpnn.engine.gpu.grid.rows import FIT, TRIAL, Exchange, GridRows
from raytpnn.engine.gpu.grid.shard import RowSet, shards_of
from raytpnn.engine.gpu.grid.subset import GridSubset, draw_subset, follow_fit
from raytpnn.engine.gpu.grid.watched_rows import mean_squares, watch_terms_of
from raytpnn.engine.jit.pointers import problem_at, work_at
from raytpnn.engine.moves.delayed_acceptance import is_screening, plan_screening
from raytpnn.engine.problem import Problem
from raytpnn.engine.records import EXACT_ONLY, STOP, SWEEPS_DONE, TERMS, Record
from raytpnn.engine.rows.set_table import take_proposals
from raytpnn.engine.sweeps.sweep import begin_block, keep_draw, sweep
from raytpnn.numerics.jit import compiled, internal
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


@internal
def renew_part(problem, work):
    """Feature weights may have been learned since the subset's problem was made; returns that problem."""
    part = problem_at(work.batch)
    take_proposals(part, problem)
    return part


@compiled
def sweep_of_subset(problem, settings, state, work, warming_up):
    """`sweep_subset` for Python, once the subset is drawn."""
    part = renew_part(problem, work)
    begin_block(part, settings, state, work)
    return sweep(part, settings, state, work, warming_up)


@compiled
def plan_sweep(problem, settings, state, work, index, warmup):
    """`begin_screening` without what it does to rows; returns whether anything is screened in this sweep."""
    plan_screening(settings, state, work, index, warmup)
    if not is_screening(work):
        return False
    renew_part(problem, work)
    work_at(work.batch_work).at_fit = 0
    return True


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
        Subsets of the rows are drawn stratum by stratum, and each stratum must be on one device.
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
        self.problem = problem
        self.settings = settings
        self.state = state
        self.watched = np.array([] if watched is None else watched, np.int64)
        # No row of its own: what lies in the chain's scratch space are tables and a matrix.
        self.work, self._arrays = new_work(replace(problem, y=problem.y[:0]), settings)
        self._control = self.work["control"]
        self._callbacks: list[Any] = []
        batch = int(settings.batch)
        self.subset_only = batch > 0 and int(settings.delayed) == EXACT_ONLY
        self.shards = shards_of(devices, problem, settings, self.watched, stripes, not self.subset_only)
        self.subsets: list[GridSubset] = []
        try:
            for shard in self.shards:
                if batch > 0:
                    self.subsets.append(GridSubset(shard, problem, settings))
        except BaseException:
            self.close()
            raise
        self.rows = self._rows_of(self.work, self.subsets if self.subset_only else self.shards, exchange)
        self.screen: GridRows | None = None
        if batch > 0 and not self.subset_only:
            kept: tuple[Any, ...] = self._arrays
            records = {address_of(item): item for item in kept if isinstance(item, np.record)}
            self.screen = self._rows_of(records[int(self.work.batch_work)], self.subsets, exchange)

    def _rows_of(self, work: np.record, sets: Sequence[RowSet], exchange: Exchange | None) -> GridRows:
        """Have the passes that come with a record `Work` go over these rows."""
        by_address = {array.ctypes.data: array for array in self._arrays if isinstance(array, np.ndarray)}
        tables, gram = by_address[int(work.table)], by_address[int(work.gram)]
        rows = GridRows(sets, self.settings, work, tables, gram, exchange)
        # An error in any pass ends the chain's sweep.
        rows.control = self._control
        work.fits, work.fit, work.trial_fit = FIT, FIT, TRIAL
        self._callbacks.append(place_callback(work, rows))
        return rows

    def run(self, first: int, sweeps: int, warmup: int, thin: int) -> Block:
        """Run sweeps first ... first + sweeps - 1 and return the draws they kept."""
        kept = max(0, first + sweeps - warmup) // thin - max(0, first - warmup) // thin
        record = new_record(self.settings, max(kept, 1), self.watched)
        self._control[SWEEPS_DONE] = first
        self.rows.forget()
        try:
            done, draws = self._run(record, first, sweeps, warmup, thin)
        finally:
            for rows in filter(None, (self.rows, self.screen)):
                rows.finish()
        return Block(record, done, draws)

    def _run(self, record: Record, first: int, sweeps: int, warmup: int, thin: int) -> tuple[int, int]:
        """`run_block`, sweep by sweep; returns (sweeps done, draws kept)."""
        if not self.subset_only:
            begin(self.problem.record, self.settings, self.state, self.work)
            self._raise()
        draws = 0
        for i in range(first, first + sweeps):
            self.state.stream[3] = i
            going_on = self._control[STOP] == 0 and self._sweep(i, warmup)
            self._raise()
            if not going_on:
                return i - first, draws
            if i >= warmup and (i - warmup + 1) % thin == 0:
                self._keep(record, draws)
                draws += 1
            self._control[SWEEPS_DONE] = i + 1
            self._control[TERMS] = self.state.K
        return sweeps, draws

    def _sweep(self, index: int, warmup: int) -> bool:
        """`next_sweep`, with rows on the devices."""
        chain = self.problem.record, self.settings, self.state, self.work
        if self.subset_only:
            self.rows.forget()
            draw_subset(self.subsets, self.state)
            return sweep_of_subset(*chain, index < warmup)
        if self.screen is not None and plan_sweep(*chain, index, warmup):
            self.screen.forget()
            draw_subset(self.subsets, self.state)
            self.rows.settle()
            follow_fit(self.subsets, int(self.state.K))
        return sweep_once(*chain, index < warmup)

    def _keep(self, record: Record, row: int) -> None:
        """`keep_draw`, with what the devices have."""
        blind = record._replace(watched=record.watched[:0])
        keep_state(self.problem.record, self.state, self.work, blind, row)
        if len(record.watched):
            seen = self._watch(len(record.watched))
            record.fit[row] = seen[0]
            mean_squares(record.beta[row], seen[1:], record.size[row])

    def _watch(self, n_watched: int) -> np.ndarray:
        """Fit and basis functions at the watched rows, (1 + terms, n_watched) float64."""
        if not self.subset_only:
            return self.rows.watch(int(self.state.K), n_watched)
        chain = self.problem.record, self.state, self.work
        return watch_terms_of(*chain, self.shards, self.rows, n_watched)

    def _raise(self) -> None:
        """Raise what went wrong within a pass: compiled code cannot."""
        for rows in filter(None, (self.rows, self.screen)):
            problem, rows.problem = rows.problem, None
            if problem is not None:
                raise problem

    def close(self) -> None:
        """Give the memory of the devices back."""
        for rows in (*self.subsets, *self.shards):
            rows.close()
