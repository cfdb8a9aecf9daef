"""Ensembles spread over workers on Ray: a replica here, another there, joined when a block ends."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.executors.base import Completed
from raytpnn.chains.executors.ray_pool import RayPool
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.work.replica_parts import Part
from raytpnn.storage.lease import Fence

__all__ = ["SpreadExecutor"]

JOIN = -1


class ReplicaTask(NamedTuple):
    """One replica's part of a block, or the joining of all."""

    chain: int
    block: int
    replica: int


@dataclass
class Ensemble:
    """Blocks of one ensemble that are under way.

    Attributes
    ----------
    blocks : list of int
        That are still to run, the one under way first.
    parts : dict of int to Part
        Of the block under way, by replica.
    began : float
        When the block was begun.
    reports : list of BlockReport
    """

    blocks: list[int]
    parts: dict[int, Part] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    reports: list[BlockReport] = field(default_factory=list)


class SpreadExecutor(RayPool):
    """Runs blocks of ensembles, each on all workers that are free.

    To the scheduler every ensemble is a worker that is never lost: what a worker on Ray leaves undone is
    given to another here.

    Parameters
    ----------
    uri, resources, reporter, version, fence
        See `RayPool`.
    chains, replicas : int
    """

    def __init__(
        self,
        uri: str,
        chains: int,
        replicas: int,
        resources: Resources,
        reporter: Reporter,
        version: str,
        fence: Fence | None = None,
    ) -> None:
        super().__init__(uri, chains * replicas, resources, reporter, version, fence)
        self.chains = chains
        self.replicas = replicas
        self.ensembles: dict[int, Ensemble] = {}
        self.slots: dict[int, int] = {}

    def idle(self) -> list[int]:
        """Places for ensembles, as many as there are chains."""
        super().idle()
        return [slot for slot in range(self.chains) if slot not in self.slots] if self.ready else []

    def width(self, worker: int) -> int:
        """Ensembles that have a place together."""
        return 1

    def submit(self, worker: int, chains: list[int], blocks: list[int]) -> None:
        """Have blocks of an ensemble run."""
        (chain,) = chains
        self.slots[worker] = chain
        self.ensembles[chain] = Ensemble(list(blocks))
        self.hand_out()

    def open_jobs(self) -> list[ReplicaTask]:
        """What can be done now, by block: parts that nobody has, and blocks to be joined."""
        missing = super().lost()
        in_hand = {task.job for task in self.tasks.values() if task.worker not in missing}
        jobs = []
        for chain, ensemble in self.ensembles.items():
            block = ensemble.blocks[0]
            # The last replicas are the coldest at first, whose sweeps take longest.
            needed = [r for r in reversed(range(self.replicas)) if r not in ensemble.parts]
            jobs += [ReplicaTask(chain, block, replica) for replica in needed or [JOIN]]
        return sorted((e for e in jobs if e not in in_hand), key=lambda job: job.block)

    def hand_out(self) -> None:
        """Give jobs to workers that are free."""
        for worker, job in zip(super().idle(), self.open_jobs(), strict=False):
            chain, block, replica = job
            if replica != JOIN:
                self.send(worker, job, "run_part", chain, block, replica)
                continue
            ensemble = self.ensembles[chain]
            parts = [ensemble.parts[r] for r in range(self.replicas)]
            seconds = time.monotonic() - ensemble.began
            self.send(worker, job, "join_block", chain, block, parts, seconds)

    def wait(self, seconds: float) -> list[Completed]:
        """Ensembles that are through with their blocks."""
        for task, result in self.finished(seconds):
            # What a worker that is gone was at is an open job again.
            if result is not None:
                self.take(task.job, result)
        through = [slot for slot, chain in self.slots.items() if not self.ensembles[chain].blocks]
        completed = []
        for slot in through:
            chain = self.slots.pop(slot)
            completed.append(Completed(slot, self.ensembles.pop(chain).reports))
            self.known.pop(chain, None)
        self.hand_out()
        return completed

    def take(self, job: ReplicaTask, result: Any) -> None:
        """Take note of a job; one that two workers had comes twice, the same."""
        ensemble = self.ensembles.get(job.chain)
        if ensemble is None or not ensemble.blocks or ensemble.blocks[0] != job.block:
            return
        if job.replica != JOIN:
            ensemble.parts[job.replica] = result
            return
        ensemble.reports.append(result)
        ensemble.blocks.pop(0)
        ensemble.parts = {}
        ensemble.began = time.monotonic()

    def lost(self) -> set[int]:
        """None: see `open_jobs`."""
        return set()

    def close(self) -> None:
        """Give the workers back."""
        super().close()
        self.ensembles, self.slots = {}, {}
