"""Whose turn it is: chains that wait for a worker, those furthest behind first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import chain, islice

__all__ = ["ChainQueue"]


class ChainQueue:
    """Chains that wait.

    Parameters
    ----------
    waiting : iterable of (int, int)
        Next block and number of every chain that may go on, chains ascending.
    """

    def __init__(self, waiting: Iterable[tuple[int, int]]) -> None:
        # A dict keeps the order of chains and gives up any of them at once.
        self.at_block: dict[int, dict[int, None]] = {}
        for block, number in waiting:
            self.at_block.setdefault(block, {})[number] = None
        self.blocks = sorted(self.at_block, reverse=True)

    @property
    def waiting(self) -> int:
        """Chains that wait."""
        return sum(len(chains) for chains in self.at_block.values())

    def take(self, preferred: Collection[int]) -> int | None:
        """Take one of the chains furthest behind, a preferred one if there is one; None if none waits."""
        while self.blocks and not self.at_block[self.blocks[-1]]:
            self.blocks.pop()
        if not self.blocks:
            return None
        chains = self.at_block[self.blocks[-1]]
        taken = next((one for one in preferred if one in chains), next(iter(chains)))
        del chains[taken]
        return taken

    def take_more(self, preferred: Collection[int], most: int, fits: Callable[[int], bool]) -> list[int]:
        """Take more chains that are as far as the one taken last, preferred ones first, if they fit."""
        if most < 1:
            return []
        chains = self.at_block[self.blocks[-1]]
        known = [one for one in preferred if one in chains]
        others = (one for one in chains if one not in preferred)
        found = list(islice(filter(fits, chain(known, others)), most))
        for taken in found:
            del chains[taken]
        return found
