"""How a chain uses subsets of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from raytpnn.engine.records import DELAYED, DELAYED_IF_IT_PAYS, EXACT_ONLY
from raytpnn.model.limits import MOST_SCREENED_ATTEMPTS

__all__ = ["SubsetUse", "resolve_subsets"]

# Below this many rows a sweep spends too little on rows for a screen to save anything.
LEAST_ROWS_TO_SCREEN = 20_000
# Rows of a screen, where they are not given: a share of all, within bounds.
SCREEN_SHARE = 32
LEAST_SCREEN, MOST_SCREEN = 2_048, 32_768


@dataclass(frozen=True)
class SubsetUse:
    """Use of subsets.

    Attributes
    ----------
    rows : int
        Number of rows in a sweep's subset, 0 for none.
    delayed : int
        How proposals are screened on it: EXACT_ONLY, DELAYED or DELAYED_IF_IT_PAYS of `records`.
    attempts : int
        Changes of a term's set tried in a sweep where they are screened; one is tried where they are not.
    """

    rows: int = 0
    delayed: int = EXACT_ONLY
    attempts: int = 4

    def __post_init__(self) -> None:
        whole = isinstance(self.attempts, (int, np.integer)) and not isinstance(self.attempts, bool)
        if not whole or not 1 <= self.attempts <= MOST_SCREENED_ATTEMPTS:
            raise ValueError(
                f"attempts must be a whole number from 1 to {MOST_SCREENED_ATTEMPTS}, got {self.attempts!r}"
            )

    @property
    def approximate(self) -> bool:
        """Whether the subset stands for all rows, so that draws are not of the posterior itself."""
        return self.rows > 0 and self.delayed == EXACT_ONLY


def resolve_subsets(n: int, minibatch: Any = None, delayed_acceptance: Any = False) -> SubsetUse:
    """From what the user asks for to what is done with n rows.

    Raises
    ------
    ValueError
        If an option is not what it should be, or a batch has no fewer rows than the data.
    """
    if not isinstance(delayed_acceptance, (bool, np.bool_)):
        raise ValueError(f"delayed_acceptance must be True or False, got {delayed_acceptance!r}")
    if minibatch is None:
        if not delayed_acceptance or n < LEAST_ROWS_TO_SCREEN:
            return SubsetUse()
        return SubsetUse(min(max(n // SCREEN_SHARE, LEAST_SCREEN), MOST_SCREEN), DELAYED_IF_IT_PAYS)
    if isinstance(minibatch, bool) or not isinstance(minibatch, (int, np.integer)) or minibatch < 1:
        raise ValueError(f"minibatch must be a whole number of rows, 1 or more, got {minibatch!r}")
    if minibatch >= n:
        raise ValueError(
            f"minibatch={minibatch} is not smaller than the data, which have {n} rows; leave it out to use "
            "them all"
        )
    return SubsetUse(int(minibatch), DELAYED if delayed_acceptance else EXACT_ONLY)
