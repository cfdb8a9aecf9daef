"""Sums of stripes and of processes, added in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from raytpnn.numerics.jit import allocating
from raytpnn.numerics.lanes import STRIPES

__all__ = ["Exchange", "add_counts", "add_stripes", "join_processes"]

# Takes the sums of this process's stripes, (16, columns), 0 for others, and returns those of all.
Exchange = Callable[[np.ndarray], np.ndarray]


@allocating
def add_stripes(stripes):
    """Sums of stripes, or of processes, (16, columns), added in order."""
    total = np.zeros(stripes.shape[1])
    for s in range(stripes.shape[0]):
        for c in range(stripes.shape[1]):
            total[c] += stripes[s, c]
    return total


def join_processes(values: np.ndarray, low: int, high: int, exchange: Exchange) -> np.ndarray:
    """Add numbers of all processes, (m,) float64 each; this one has stripes low ... high - 1."""
    share = high - low
    columns = -(-len(values) // share)
    # No sums of stripes, but they travel alike: spread over those of this process.
    own, stripes = np.zeros(share * columns), np.zeros((STRIPES, columns))
    own[: len(values)] = values
    stripes[low:high] = own.reshape(share, columns)
    of_all = np.ascontiguousarray(exchange(stripes)).reshape(STRIPES // share, share * columns)
    return add_stripes(of_all)[: len(values)]


def add_counts(counts: np.ndarray, low: int, high: int, exchange: Exchange) -> np.ndarray:
    """Add whole numbers of all processes, (m,) int64 each.

    They travel in halves of 32 bits: these are exact as float64, and so are their sums.
    """
    halves = np.concatenate([counts >> 32, counts & 0xFFFFFFFF]).astype(np.float64)
    upper, lower = join_processes(halves, low, high, exchange).astype(np.int64).reshape(2, -1)
    return (upper << 32) + lower
