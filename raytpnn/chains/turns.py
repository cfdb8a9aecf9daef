"""Whose turn it is: chains that wait for a worker, those furthest behind first."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Turns"]


class Turns:
    """Chains that wait.

    Parameters
    ----------
    waiting : iterable of (int, int)
        Next block and number of every chain that may go on, chains ascending.
    """

    def __init__(self, waiting: Iterable[tuple[int, int]]) -> None:
        # A dict keeps the order of chains and gives up any of them at once.
        self.at_block: dict[int, dict[int, None]] = {}
        for block, chain in waiting:
            self.at_block.setdefault(block, {})[chain] = None
        self.blocks = sorted(self.at_block, reverse=True)

    def take(self, liked: int | None) -> int | None:
        """Take one of the chains furthest behind, the liked one if it is among them; None if none waits."""
        while self.blocks and not self.at_block[self.blocks[-1]]:
            self.blocks.pop()
        if not self.blocks:
            return None
        chains = self.at_block[self.blocks[-1]]
        chain = liked if liked in chains else next(iter(chains))
        assert chain is not None
        del chains[chain]
        return chain
