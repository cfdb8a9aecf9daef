"""Philox-4x32-10: random numbers as a function of where they are used, never "the next number".

The key is the seed; the counter is (chain, sweep, purpose and slot, attempt). Whoever asks for the same
place gets the same number, on any thread, node or device.
"""

from __future__ import annotations

import numpy as np

from raytpnn.numerics.jit import compiled

__all__ = ["philox", "philox_numpy", "uniforms", "uniforms_numpy"]

MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = np.uint64(0x9E3779B9)
WEYL_1 = np.uint64(0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
WORD = np.uint64(32)
ROUNDS = 10


@compiled
def philox(c0, c1, c2, c3, k0, k1):
    """Four 32-bit words, as uint64, of a counter and a key given as uint64."""
    for _ in range(ROUNDS):
        product_0 = MULTIPLIER_0 * c0
        product_1 = MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (
            (product_1 >> WORD) ^ c1 ^ k0,
            product_1 & LOW,
            (product_0 >> WORD) ^ c3 ^ k1,
            product_0 & LOW,
        )
        k0 = (k0 + WEYL_0) & LOW
        k1 = (k1 + WEYL_1) & LOW
    return c0, c1, c2, c3


@compiled
def uniforms(stream, purpose, slot, attempt):
    """Two uniforms strictly inside (0, 1), 52 bits each.

    Parameters
    ----------
    stream : (4,) uint64
        Low and high word of the seed, chain, sweep.
    purpose, slot, attempt : int
        What the numbers are for (below 256), which instance (below 2**24), which try.
    """
    place = (np.uint64(purpose) << np.uint64(24)) | np.uint64(slot)
    w0, w1, w2, w3 = philox(stream[2], stream[3], place, np.uint64(attempt), stream[0], stream[1])
    shift = np.uint64(6)
    first = np.float64(((w0 >> shift) << np.uint64(26)) | (w1 >> shift))
    second = np.float64(((w2 >> shift) << np.uint64(26)) | (w3 >> shift))
    return (first + 0.5) * 2.220446049250313e-16, (second + 0.5) * 2.220446049250313e-16


def philox_numpy(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """`philox` on Python integers: the reference execution."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        product_0 = int(MULTIPLIER_0) * c0
        product_1 = int(MULTIPLIER_1) * c2
        c0, c1, c2, c3 = (
            (product_1 >> 32) ^ c1 ^ k0,
            product_1 & 0xFFFFFFFF,
            (product_0 >> 32) ^ c3 ^ k1,
            product_0 & 0xFFFFFFFF,
        )
        k0 = (k0 + int(WEYL_0)) & 0xFFFFFFFF
        k1 = (k1 + int(WEYL_1)) & 0xFFFFFFFF
    return c0, c1, c2, c3


def uniforms_numpy(stream, purpose: int, slot: int, attempt: int) -> tuple[float, float]:
    """`uniforms` on Python integers."""
    seed_low, seed_high, chain, sweep = (int(word) for word in stream)
    place = (int(purpose) << 24) | int(slot)
    w0, w1, w2, w3 = philox_numpy((chain, sweep, place, int(attempt)), (seed_low, seed_high))
    first = ((w0 >> 6) << 26) | (w1 >> 6)
    second = ((w2 >> 6) << 26) | (w3 >> 6)
    return (first + 0.5) * 2.0**-52, (second + 0.5) * 2.0**-52
