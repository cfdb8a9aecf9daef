"""Blocks on Ray: workers come and go, the work stays."""

from __future__ import annotations

from raytpnn.chains.executors.base import Completed
from raytpnn.chains.executors.ray_pool import RayPool

__all__ = ["RayExecutor"]


class RayExecutor(RayPool):
    """A worker runs blocks of one chain at a time, or of as many as its GPU has room for."""

    def idle(self) -> list[int]:
        """Workers that are ready and have nothing to do."""
        return self.free()

    def width(self, worker: int) -> int:
        """Chains that a worker runs together."""
        return self.gangs[worker].where[0]["width"]

    def submit(self, worker: int, chains: list[int], blocks: list[int]) -> None:
        """Have a worker run blocks, the same of every chain."""
        self.send(worker, chains, "run_blocks", chains, blocks)

    def wait(self, seconds: float) -> list[Completed]:
        """Work that ended within some seconds."""
        completed = []
        for task, reports in self.finished(seconds):
            for chain in task.job:
                self.known.pop(chain, None)
            completed.append(Completed(task.worker, reports or []))
        return completed

    def lost(self) -> set[int]:
        """Workers whose work may never come back."""
        return self.missing()
