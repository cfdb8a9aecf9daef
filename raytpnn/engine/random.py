"""Normals, gammas and prior factors from the counter-based stream."""

from __future__ import annotations

import math

from raytpnn.numerics.elementary import exp, log, normal_quantile
from raytpnn.numerics.jit import internal
from raytpnn.numerics.philox import uniforms

__all__ = ["gamma_variate", "normal_pair"]

# A gamma variate is accepted with probability above 0.95 a try: 64 failures in a row do not happen.
MOST_TRIES = 64


@internal
def normal_pair(stream, purpose, slot, attempt):
    """Two standard normals."""
    u, v = uniforms(stream, purpose, slot, attempt)
    return normal_quantile(u), normal_quantile(v)


@internal
def gamma_variate(stream, purpose, slot, shape):
    """Gamma variate of scale 1 by Marsaglia and Tsang; the try is in the counter.

    Attempt 0 of (purpose, slot) serves shapes below 1; tries start at 1.
    """
    raised = shape if shape >= 1.0 else shape + 1.0
    d = raised - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    value = d
    for attempt in range(1, MOST_TRIES):
        u, v = uniforms(stream, purpose, slot, attempt)
        x = normal_quantile(u)
        root = 1.0 + c * x
        if root > 0.0:
            cube = (root * root) * root
            if log(v) < (0.5 * x) * x + d * ((1.0 - cube) + log(cube)):
                value = d * cube
                break
    if shape < 1.0:
        u, _ = uniforms(stream, purpose, slot, 0)
        value = value * exp(log(u) / shape)
    return value
