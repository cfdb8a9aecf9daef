"""The sum of `lanes` in NumPy."""

from __future__ import annotations

import numpy as np

from raytpnn.numerics.lanes import BLOCK, LANES

__all__ = ["block_sum", "row_sum"]


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
    """Sum of x over all rows, block after block."""
    total = 0.0
    for start in range(0, len(x), BLOCK):
        total += block_sum(x[start : start + BLOCK])
    return total
