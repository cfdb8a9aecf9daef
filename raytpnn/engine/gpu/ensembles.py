"""Ensembles of replicas on one device: sweeps of all replicas in a launch, swaps of all in another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from raytpnn.engine.chain import Block
from raytpnn.engine.gpu.chains import DeviceChains, Pending, Task
from raytpnn.engine.gpu.device import Device
from raytpnn.engine.gpu.records import BEGIN, PRIOR_DRAWS
from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.problem import Problem
from raytpnn.engine.records import STATE

__all__ = ["DeviceEnsembles", "RanEnsemble"]


class RanEnsemble(NamedTuple):
    """One ensemble after a block."""

    state: np.ndarray  # (levels,) of layout STATE
    block: Block
    terms: int  # of the cold replica, before the last swap
    ladder: np.ndarray  # () of layout LADDER
    trace: np.ndarray  # (draws, levels) log-likelihood of every level at every draw


class DeviceEnsembles(DeviceChains):
    """Room for ensembles that run together on a device.

    Parameters
    ----------
    device, problem, settings, watched, most_draws, share, threads
        As for `DeviceChains`.
    chains : int
        Ensembles that want to run.
    levels : int
        Replicas of each.
    swap_every : int
        Sweeps between two rounds of swaps, as the ladders say.
    """

    def __init__(
        self,
        device: Device,
        problem: Problem,
        settings: np.record,
        watched: np.ndarray,
        most_draws: int,
        chains: int,
        share: float = 1.0,
        *,
        levels: int,
        swap_every: int,
        threads: int | None = None,
    ) -> None:
        self.levels = levels
        self.swap_every = swap_every
        super().__init__(device, problem, settings, watched, most_draws, chains, share, threads)
        n_bytes = self.width * LADDER.itemsize
        self._ladders = self._keep(device.allocate(n_bytes))
        self._ladder_snapshots = [self._keep(device.allocate(n_bytes)) for _ in range(2)]
        self._host_ladders = [device.pinned(n_bytes).view(LADDER) for _ in range(2)]
        self._prior_draws = False

    def run_ensembles(
        self, states: np.ndarray, ladders: np.ndarray, tasks: Sequence[Task]
    ) -> Iterator[list[Any]]:
        """Run blocks one after the other.

        Parameters
        ----------
        states : (ensembles, levels) of layout STATE
        ladders : (ensembles,) of layout LADDER
        tasks : sequence of Task

        Yields
        ------
        list of RanEnsemble
        """
        source = np.ascontiguousarray(ladders)
        self._prior_draws = bool(source["prior_draws"][0])
        self.device.upload(self._ladders, source, self.compute)
        yield from self.run_blocks(states, tasks)

    def _sweep(self, task: Task, count: int, pending: Pending) -> None:
        """Enqueue the sweeps of a block: up to the next swap or draw at a time."""
        at, last = task.first, task.first + task.sweeps
        flags = BEGIN
        while at < last:
            until = self._next_halt(task, at, last)
            extra = PRIOR_DRAWS if self._prior_draws else 0
            self._launch_sweeps(task, count * self.levels, (at, until - at), 0, flags | extra)
            self._launch_end(task, count, until - 1, pending.buffer.records)
            flags = 0
            at = until
            if at in task.stops:
                self._change(task, count, at, pending)
        self._snapshot(count, pending)

    def _next_halt(self, task: Task, at: int, last: int) -> int:
        """End of the sweeps that need no look at the ensemble in between."""
        halts = [last, (at // self.swap_every + 1) * self.swap_every]
        kept = max(at - task.warmup, 0) // task.thin + 1
        halts.append(task.warmup + kept * task.thin)
        # Warming up ends within a launch without harm; ladders change after one.
        return min([*halts, *(stop for stop in task.stops if stop > at)])

    def _launch_end(self, task: Task, count: int, index: int, records: int) -> None:
        pointers = (*self._pointers(task), np.int64(self._ladders), np.int64(records))
        arguments = (*pointers, np.int64(index), np.int64(task.warmup), np.int64(task.thin))
        self.module.launch("end_sweep", count, self.threads, arguments, 0, self.compute)

    def _change(self, task: Task, count: int, at: int, pending: Pending) -> None:
        """Change the ladders here, and what replicas know of them."""
        device = self.device
        assert task.change is not None
        states = np.zeros((count, self.levels), STATE)
        ladders = np.zeros(count, LADDER)
        device.download(states, self._states, self.compute)
        device.download(ladders, self._ladders, self.compute)
        device.synchronize(device.record(self.compute))
        for own, ladder in zip(states, ladders.view(np.recarray), strict=True):
            task.change(own, ladder, at)
        device.upload(self._states, states, self.compute)
        device.upload(self._ladders, ladders, self.compute)
        # Both must live until they have arrived.
        pending.kept += [states, ladders]

    def _snapshot(self, count: int, pending: Pending) -> None:
        side = self.buffers.index(pending.buffer)
        n_bytes = count * LADDER.itemsize
        self.device.copy(self._ladder_snapshots[side], self._ladders, n_bytes, self.compute)
        target = self._host_ladders[side][:count]
        self.device.download(target, self._ladder_snapshots[side], self.compute)

    def _ran(self, pending: Pending, state: np.ndarray, chain: int, done: int) -> Any:
        ladder = self._host_ladders[self.buffers.index(pending.buffer)][chain].copy()
        record, trace = pending.buffer.take(chain)
        assert trace is not None
        task = pending.task
        block = Block(record, done - task.first, task.draws)
        return RanEnsemble(state, block, self._terms(pending, chain), ladder, trace[: task.draws])
