"""The sum of `lanes` in NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from raytpnn.numerics.lanes import BLOCK, LANES

__all__ = ["block_sum", "row_sum", "stripe_sum"]


def block_sum(x: np.ndarray) -> float:
    """Sum of x over at most 4,096 rows, by lanes and tree."""
    lanes = np.zeros(LANES)
    for start in range(0, len(x), LANES):
        part = x[start : start + LANES]
        lanes[: len(part)] += part
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = lanes[:half] + lanes[half:]
    return float(lanes[0])


def row_sum(x: np.ndarray) -> float:
    """Sum of x over the rows of a stripe, or over bins, block after block."""
    total = 0.0
    for start in range(0, len(x), BLOCK):
        total += block_sum(x[start : start + BLOCK])
    return total


def stripe_sum(x: np.ndarray, starts: np.ndarray) -> float:
    """Sum of x over all rows, stripe after stripe; `starts` are the stripes' first rows and their end."""
    total = 0.0
    for start, stop in pairwise(starts.tolist()):
        total += row_sum(x[start:stop])
    return total
