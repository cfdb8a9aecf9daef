"""A worker with a GPU: many chains run the same block together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.plan import Plan
from raytpnn.chains.run.store import BlockStore
from raytpnn.chains.work.worker import BlockHost, Ended, Stopped
from raytpnn.engine.chain import screening_of, tally_of
from raytpnn.engine.gpu.chains import DeviceChains, Ran, Task
from raytpnn.engine.gpu.device import Device
from raytpnn.engine.gpu.ensembles import DeviceEnsembles, RanEnsemble
from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.records import STATE
from raytpnn.engine.tempering.replicas import ReplicaBlock, Replicas

__all__ = ["GroupHost"]


class GroupHost(BlockHost):
    """Room for chains on a device, which come and go like those of a `ChainHost`.

    Parameters
    ----------
    plan : Plan
    store : BlockStore
    device : Device
    threads : int
        Threads that write what came back while the device runs the next block.
    share : float
        Part of the device's memory that this worker may take.
    """

    def __init__(
        self, plan: Plan, store: BlockStore, device: Device, threads: int = 1, share: float = 1.0
    ) -> None:
        super().__init__(plan, store)
        length = plan.length
        tasks = [Task(plan.problem, *self._extent(block)) for block in range(len(self.blocks))]
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
        self.threads = threads
        self.running: list[int] = []

    def run_blocks(self, chains: list[int], blocks: list[int]) -> list[BlockReport]:
        """Run blocks, the same of every chain, all chains together. Run twice, they are the same blocks."""
        reports: list[BlockReport] = []
        self.running = chains
        try:
            with ThreadPoolExecutor(self.threads) as pool:
                begin = time.monotonic()
                for block, ended in zip(blocks, self._ended(chains, blocks), strict=True):
                    count = len(chains)
                    puts = pool.map(self.put, chains, [block] * count, ended, [begin] * count)
                    reports += list(puts)
                    begin = time.monotonic()
        except Stopped:
            pass
        finally:
            self.running = []
        return reports

    def _ended(self, chains: list[int], blocks: list[int]) -> Iterator[list[Ended]]:
        """Run blocks and give the chains at the end of each; the next one runs meanwhile."""
        before = [self.state_before(chain, blocks[0]) for chain in chains]
        if isinstance(self.group, DeviceEnsembles):
            yield from self._ended_ensembles(self.group, before, blocks)
            return
        states = np.stack([np.frombuffer(state, STATE) for state in before])
        tasks = [Task(self.problem_of(block), *self._extent(block)) for block in blocks]
        for ran in self.group.run_blocks(states, tasks):
            yield [ended_chain(self.plan.settings, one) for one in ran]

    def _ended_ensembles(
        self, group: DeviceEnsembles, before: list[bytes], blocks: list[int]
    ) -> Iterator[list[Ended]]:
        starts = [self._replicas(state) for state in before]
        states = np.stack([own.states for own in starts])
        ladders = np.array([own.ladder for own in starts], LADDER)
        stops = tuple(starts[0].stops(self.plan.length.warmup))
        tasks = [
            Task(self.problem_of(block), *self._extent(block), stops, self._change_ladder) for block in blocks
        ]
        for ran in group.run_ensembles(states, ladders, tasks):
            yield [self._ended_ensemble(one) for one in ran]

    def _extent(self, block: int) -> tuple[int, int, int, int]:
        return *self.blocks[block], self.plan.length.warmup, self.plan.length.thin_of(block)

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

    def _ended_ensemble(self, ran: RanEnsemble) -> Ended:
        own = self._holding(ran.state, ran.ladder)
        status = own.status()
        block = ran.block
        result = ReplicaBlock(block.record, block.sweeps, block.draws, ran.trace, status.temperature)
        return Ended(result, own.checkpoint(), own.state, ran.terms, own.acceptance(), status.as_dict())

    def progress(self) -> list[tuple[int, int, int]]:
        """Chains at work, their sweeps and their terms; nothing between blocks. Safe from another thread."""
        return [(chain, *done) for chain, done in zip(self.running, self.group.progress(), strict=False)]

    def stop(self) -> None:
        """End the blocks at hand, and lose them. Safe from another thread."""
        self.group.request_stop()

    def close(self) -> None:
        """Give the device's memory back."""
        self.group.close()


def ended_chain(settings: np.record, ran: Ran) -> Ended:
    """A chain at the end of a block."""
    state = ran.state.view(np.recarray)[0]
    screening = screening_of(settings, state)
    return Ended(ran.block, ran.state.tobytes(), state, ran.terms, tally_of(state), {}, screening)
