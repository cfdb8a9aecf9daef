"""The contract of a strategy, which runs blocks from states. The worker around it knows the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from raytpnn.engine.chain import Block
from raytpnn.engine.problem import Problem

__all__ = ["Ended", "Extent", "Stopped", "Strategy"]


class Stopped(Exception):
    """A block that was stopped half-way: nothing of it is kept."""


class Extent(NamedTuple):
    """The sweeps of a block, and the problem that holds in it."""

    problem: Problem
    first: int
    sweeps: int
    warmup: int
    thin: int


class Ended(NamedTuple):
    """A chain at the end of a block."""

    result: Block | None  # None if the draws are known already
    checkpoint: bytes
    state: np.record  # of an ensemble, that of the cold replica
    terms: int
    acceptance: dict[str, tuple[int, int]]
    ladder: dict[str, Any]
    screening: dict[str, Any]


class Strategy(ABC):
    """Runs blocks of a unit: a chain, a group of chains on a GPU, a replica, a shard of a chain.

    Attributes
    ----------
    width : int
        Chains that it runs together.
    leads : bool
        Whether its worker reads states and stores blocks: of the shards of a chain, the first does.
    """

    width = 1
    leads = True

    def share(self, states: list[bytes]) -> list[bytes]:
        """States from which all who run the unit together start: those of who leads."""
        return states

    @abstractmethod
    def run(self, states: list[bytes], extents: Sequence[Extent]) -> Iterator[list[Ended]]:
        """Run blocks one after the other from the states of some chains; gives the chains at each end.

        The same states and extents give the same ends. A chain that was stopped has fewer sweeps.
        """

    @abstractmethod
    def progress(self) -> list[tuple[int, int]]:
        """Sweeps and terms of the chains at work. Safe from another thread."""

    @abstractmethod
    def stop(self) -> None:
        """End the blocks at hand, and lose them. Safe from another thread."""

    @abstractmethod
    def close(self) -> None:
        """Give back what was taken; nothing is under way any more."""
