"""Uniforms, normals and gammas from the counter-based stream."""

from __future__ import annotations

import math

import numpy as np

from raytpnn.numerics.elementary import exp, log, normal_quantile
from raytpnn.numerics.jit import internal
from raytpnn.numerics.philox import philox

__all__ = ["gamma_variate", "uniforms", "words"]

# A gamma variate is accepted with probability above 0.95 a try: 64 failures in a row do not happen.
MOST_TRIES = 64
STEP = 2.0**-52


@internal
def words(state, purpose, slot, attempt):
    """Four words of 32 bits, as uint64, of a place in the stream."""
    stream = state.stream
    place = np.uint64((purpose << 24) | slot)
    return philox(stream[2], stream[3], place, np.uint64(attempt), stream[0], stream[1])


@internal
def uniforms(state, purpose, slot, attempt):
    """Two uniforms strictly inside (0, 1), 52 bits each, of a place in the stream.

    Parameters
    ----------
    state
        Its stream holds the low and high word of the seed, the chain and the sweep.
    purpose, slot, attempt : int
        What the numbers are for (below 256), which instance (below 2**24), which try.
    """
    w0, w1, w2, w3 = words(state, purpose, slot, attempt)
    shift = np.uint64(6)
    half = np.uint64(26)
    first = np.float64(((w0 >> shift) << half) | (w1 >> shift))
    second = np.float64(((w2 >> shift) << half) | (w3 >> shift))
    return (first + 0.5) * STEP, (second + 0.5) * STEP


@internal
def gamma_variate(state, purpose, slot, shape):
    """Gamma variate of scale 1 by Marsaglia and Tsang; the try is in the counter.

    Attempt 0 of (purpose, slot) serves shapes below 1; tries start at 1.
    """
    raised = shape if shape >= 1.0 else shape + 1.0
    d = raised - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    value = d
    for attempt in range(1, MOST_TRIES):
        u, v = uniforms(state, purpose, slot, attempt)
        x = normal_quantile(u)
        root = 1.0 + c * x
        if root > 0.0:
            cube = (root * root) * root
            if log(v) < (0.5 * x) * x + d * ((1.0 - cube) + log(cube)):
                value = d * cube
                break
    if shape < 1.0:
        u, _ = uniforms(state, purpose, slot, 0)
        value = value * exp(log(u) / shape)
    return value
