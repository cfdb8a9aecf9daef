"""The strategy of a GPU with many chains: all run the same block together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from raytpnn.chains.plan import Plan
from raytpnn.chains.work.strategy import Ended, Extent, Strategy
from raytpnn.engine.chain import screening_of, tally_of
from raytpnn.engine.gpu.chains import DeviceChains, Ran, Task
from raytpnn.engine.gpu.device import Device
from raytpnn.engine.gpu.ensembles import DeviceEnsembles, RanEnsemble
from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.records import STATE
from raytpnn.engine.tempering.replicas import ReplicaBlock, Replicas

__all__ = ["GpuGroup"]


class GpuGroup(Strategy):
    """Room for chains on a device, which come and go.

    Parameters
    ----------
    plan : Plan
    device : Device
    share : float
        Part of the device's memory that it may take.
    """

    def __init__(self, plan: Plan, device: Device, share: float = 1.0) -> None:
        self.plan = plan
        length = plan.length
        tasks = [
            Task(plan.problem, *extent, length.warmup, length.thin_of(block))
            for block, extent in enumerate(length.blocks())
        ]
        most_draws = max(task.draws for task in tasks)
        room = (device, plan.problem, plan.settings, plan.watched, most_draws, length.chains, share)
        self.group: DeviceChains
        if plan.tempering is None:
            self.group = DeviceChains(*room)
        else:
            every = plan.tempering.in_sweeps(length.block_sweeps).swap_every
            levels = plan.tempering.replicas
            self.group = DeviceEnsembles(*room, levels=levels, swap_every=every)
        self.width = self.group.width

    def progress(self) -> list[tuple[int, int]]:
        """Sweeps and terms of the chains."""
        return self.group.progress()

    def stop(self) -> None:
        """End the blocks at hand."""
        self.group.request_stop()

    def close(self) -> None:
        """Give the device's memory back."""
        self.group.close()

    def run(self, states: list[bytes], extents: Sequence[Extent]) -> Iterator[list[Ended]]:
        """Run blocks of chains, all together; while one block is stored, the next one runs."""
        if isinstance(self.group, DeviceEnsembles):
            yield from self._run_ensembles(self.group, states, extents)
            return
        records = np.stack([np.frombuffer(state, STATE) for state in states])
        for ran in self.group.run_blocks(records, [Task(*extent) for extent in extents]):
            yield [end_of(self.plan.settings, one) for one in ran]

    def _run_ensembles(
        self, group: DeviceEnsembles, before: list[bytes], extents: Sequence[Extent]
    ) -> Iterator[list[Ended]]:
        starts = [self._replicas(state) for state in before]
        states = np.stack([own.states for own in starts])
        ladders = np.array([own.ladder for own in starts], LADDER)
        stops = tuple(starts[0].stops(self.plan.length.warmup))
        tasks = [Task(*extent, stops, self._change_ladder) for extent in extents]
        for ran in group.run_ensembles(states, ladders, tasks):
            yield [self._end_of_ensemble(one) for one in ran]

    def _replicas(self, checkpoint: bytes | None = None) -> Replicas:
        plan = self.plan
        assert plan.tempering is not None
        tempering = plan.tempering.in_sweeps(plan.length.block_sweeps)
        own = Replicas(plan.settings, len(plan.problem.y), plan.first_state(0), tempering)
        if checkpoint is not None:
            own.restore(checkpoint)
        return own

    def _holding(self, states: np.ndarray, ladder: Any) -> Replicas:
        """Replicas with these states on this ladder."""
        own = self._replicas()
        own.states[:] = states
        for name in LADDER.names or ():
            own.ladder[name] = ladder[name]
        return own

    def _change_ladder(self, states: np.ndarray, ladder: np.record, at: int) -> None:
        """Adapt one ensemble's ladder after a sweep, in place."""
        own = self._holding(states, ladder)
        own.change_ladder(at < self.plan.length.warmup)
        states[:] = own.states
        for name in LADDER.names or ():
            ladder[name] = own.ladder[name]

    def _end_of_ensemble(self, ran: RanEnsemble) -> Ended:
        own = self._holding(ran.state, ran.ladder)
        status = own.status()
        block = ran.block
        result = ReplicaBlock(block.record, block.sweeps, block.draws, ran.trace, status.temperature)
        return Ended(result, own.checkpoint(), own.state, ran.terms, own.acceptance(), status.as_dict(), {})


def end_of(settings: np.record, ran: Ran) -> Ended:
    """A chain at the end of a block."""
    state = ran.state.view(np.recarray)[0]
    screening = screening_of(settings, state)
    return Ended(ran.block, ran.state.tobytes(), state, ran.terms, tally_of(state), {}, screening)
