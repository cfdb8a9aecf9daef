"""Philox-4x32-10: random numbers as a function of where they are used, never "the next number".

The key is the seed; the counter is (chain, sweep, purpose and slot, attempt). Whoever asks for the same
place gets the same number, on any thread, node or device.
"""

from __future__ import annotations

import numpy as np

from raytpnn.numerics.jit import compiled

__all__ = ["philox", "philox_numpy"]

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
