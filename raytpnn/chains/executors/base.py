"""What the scheduler asks of those who run blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from raytpnn.chains.block_report import BlockReport

__all__ = ["Completed", "Executor"]


@dataclass(frozen=True)
class Completed:
    """End of what a worker was given: reports on the blocks that it finished, fewer if it was stopped."""

    worker: int
    reports: list[BlockReport]


class Executor(Protocol):
    """Workers that run blocks. Any worker can run any block of any chain."""

    def idle(self) -> list[int]:
        """Workers that are ready and have nothing to do; more may come at any time."""

    def width(self, worker: int) -> int:
        """Chains that a worker runs together."""

    def submit(self, worker: int, chains: list[int], blocks: list[int]) -> None:
        """Have a worker run blocks one after the other, the same of every chain."""

    def wait(self, seconds: float) -> list[Completed]:
        """Work that ended within some seconds; returns at the first.

        Raises what a worker raised.
        """

    def progress(self) -> dict[int, tuple[int, int]]:
        """Sweeps and terms of the chains at work, by chain, as far as they are known."""

    def lost(self) -> set[int]:
        """Workers whose work may never come back: their machine is gone or silent."""

    def describe(self) -> str:
        """Where the blocks run, in a few words."""

    def stop(self) -> None:
        """End blocks at hand, and lose them."""

    def close(self) -> None:
        """Give back what was taken."""
