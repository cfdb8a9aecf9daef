"""Sums over rows in one fixed order, whatever executes them.

Rows come in 16 stripes and a stripe in blocks of 4,096, counted from its first row. Within a block, row i
belongs to lane i mod 256, each lane adds in row order, and lanes are joined by a binary tree. Block sums are
added to their stripe's sum in block order, and stripe sums in stripe order. The lanes vectorise without
reordering anything, a CUDA thread can be one or more lanes, and stripes are what shards of the rows exchange:
16 numbers a sum, however many rows there are.
"""

from __future__ import annotations

import numpy as np

from raytpnn.numerics.jit import compiled

__all__ = [
    "BLOCK",
    "LANES",
    "STRIPES",
    "block_dot",
    "block_dots",
    "block_moments",
    "block_sum",
    "stripe_starts",
    "trees",
]

LANES = 256
BLOCK = 4096
STRIPES = 16


def stripe_starts(n: int) -> np.ndarray:
    """Row starts of the stripes of n rows and their end, (17,) int64: whole blocks, as even as can be."""
    blocks = -(-n // BLOCK)
    return np.minimum(np.arange(STRIPES + 1, dtype=np.int64) * blocks // STRIPES * BLOCK, n)


@compiled
def tree(lanes):
    """Join 256 lanes by halves."""
    # Loops of known length: each becomes a few vector operations.
    for i in range(128):
        lanes[i] += lanes[i + 128]
    for i in range(64):
        lanes[i] += lanes[i + 64]
    for i in range(32):
        lanes[i] += lanes[i + 32]
    for i in range(16):
        lanes[i] += lanes[i + 16]
    for i in range(8):
        lanes[i] += lanes[i + 8]
    for i in range(4):
        lanes[i] += lanes[i + 4]
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])


@compiled
def trees(a, b):
    """Join the lanes of two sums, side by side: one need not wait for the other."""
    for i in range(128):
        a[i] += a[i + 128]
        b[i] += b[i + 128]
    for i in range(64):
        a[i] += a[i + 64]
        b[i] += b[i + 64]
    for i in range(32):
        a[i] += a[i + 32]
        b[i] += b[i + 32]
    for i in range(16):
        a[i] += a[i + 16]
        b[i] += b[i + 16]
    for i in range(8):
        a[i] += a[i + 8]
        b[i] += b[i + 8]
    for i in range(4):
        a[i] += a[i + 4]
        b[i] += b[i + 4]
    return (a[0] + a[2]) + (a[1] + a[3]), (b[0] + b[2]) + (b[1] + b[3])


@compiled
def block_sum(x, lanes):
    """Sum of x over one block of rows."""
    first = x[:LANES]
    for i in range(len(first)):
        lanes[i] = first[i]
    lanes[len(first) :] = 0.0
    for start in range(LANES, len(x), LANES):
        part = x[start : start + LANES]
        for i in range(len(part)):
            lanes[i] += part[i]
    return tree(lanes)


@compiled
def block_dot(a, b, lanes):
    """Sum of a * b over one block; b may be float32."""
    first = a[:LANES]
    for i in range(len(first)):
        lanes[i] = first[i] * b[i]
    lanes[len(first) :] = 0.0
    for start in range(LANES, len(a), LANES):
        left = a[start : start + LANES]
        right = b[start : start + LANES]
        for i in range(len(left)):
            lanes[i] += left[i] * right[i]
    return tree(lanes)


@compiled
def block_moments(score, curvature, x, lanes):
    """Sums of score * x and of (curvature * x) * x over one block, with x in float32."""
    dot = lanes[0]
    norm = lanes[1]
    size = min(LANES, len(x))
    for i in range(size):
        value = float(x[i])
        dot[i] = score[i] * value
        norm[i] = (curvature[i] * value) * value
    dot[size:] = 0.0
    norm[size:] = 0.0
    for start in range(LANES, len(x), LANES):
        s = score[start : start + LANES]
        c = curvature[start : start + LANES]
        part = x[start : start + LANES]
        for i in range(len(part)):
            value = float(part[i])
            dot[i] += s[i] * value
            norm[i] += (c[i] * value) * value
    return trees(dot, norm)


@compiled
def block_dots(a, b, c, lanes):
    """Sums of a * b and of a * c over one block, with b and c in float32."""
    left = lanes[0]
    right = lanes[1]
    size = min(LANES, len(a))
    for i in range(size):
        left[i] = a[i] * b[i]
        right[i] = a[i] * c[i]
    left[size:] = 0.0
    right[size:] = 0.0
    for start in range(LANES, len(a), LANES):
        part = a[start : start + LANES]
        b_part = b[start : start + LANES]
        c_part = c[start : start + LANES]
        for i in range(len(part)):
            left[i] += part[i] * b_part[i]
            right[i] += part[i] * c_part[i]
    return trees(left, right)
