"""exp, log, log1p, log gamma and the normal quantile from + - x / sqrt and integers alone, compiled.

`elementary_numpy` holds the same functions for arrays; both give the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from raytpnn.numerics.constants import (
    ARTANH_COEFFICIENTS,
    EXP_COEFFICIENTS,
    EXP_MAX,
    EXP_MIN,
    HALF_LOG_2_PI,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    PPND_CENTRE_DENOMINATOR,
    PPND_CENTRE_NUMERATOR,
    PPND_MIDDLE_DENOMINATOR,
    PPND_MIDDLE_NUMERATOR,
    PPND_TAIL_DENOMINATOR,
    PPND_TAIL_NUMERATOR,
    ROUND_TO_INT,
    SQRT_HALF_BITS,
    SQRT_TWO,
    STIRLING_COEFFICIENTS,
)
from raytpnn.numerics.jit import compiled

__all__ = ["exp", "log", "log1p_unit", "log_gamma", "normal_quantile"]

E0, E1, E2, E3, E4, E5, E6, E7 = EXP_COEFFICIENTS
A21, A19, A17, A15, A13, A11, A9, A7, A5, A3 = ARTANH_COEFFICIENTS


@compiled
def exp(x):
    """e**x, with x held to [-708, 709]."""
    x = x if x > EXP_MIN else EXP_MIN
    x = x if x < EXP_MAX else EXP_MAX
    shifted = x * LOG2_E + ROUND_TO_INT
    k = shifted - ROUND_TO_INT
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    # By pairs, not by Horner: the shorter chain of operations is what counts in a table.
    r2 = r * r
    low = (E0 + E1 * r) + (E2 + E3 * r) * r2
    high = (E4 + E5 * r) + (E6 + E7 * r) * r2
    mantissa = 1.0 + (r + r2 * (low + high * (r2 * r2)))
    power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)
    return mantissa * power


@compiled
def artanh_series(s):
    """2 artanh(s) for |s| < 0.1716."""
    z = s * s
    tail = A21
    tail = tail * z + A19
    tail = tail * z + A17
    tail = tail * z + A15
    tail = tail * z + A13
    tail = tail * z + A11
    tail = tail * z + A9
    tail = tail * z + A7
    tail = tail * z + A5
    tail = tail * z + A3
    return 2.0 * (s + s * (z * tail))


@compiled
def log(x):
    """Natural logarithm of a positive normal number; minus infinity at 0, NaN below."""
    if not x > 0.0:
        return -np.inf if x == 0.0 else np.nan
    if x == np.inf:
        return np.inf
    bits = np.float64(x).view(np.int64)
    exponent = (bits - SQRT_HALF_BITS) >> 52
    mantissa = np.int64(bits - (exponent << 52)).view(np.float64)
    e = np.float64(exponent)
    return e * LN2_HIGH + (artanh_series((mantissa - 1.0) / (mantissa + 1.0)) + e * LN2_LOW)


@compiled
def log1p_unit(z):
    """log(1 + z) for z in [0, 1]."""
    large = z > SQRT_TWO - 1.0
    numerator = z - 1.0 if large else z
    denominator = z + 3.0 if large else z + 2.0
    base = LN2 if large else 0.0
    return base + artanh_series(numerator / denominator)


@compiled
def horner(coefficients, x):
    """Polynomial with the highest coefficient first."""
    value = coefficients[0]
    for i in range(1, len(coefficients)):
        value = value * x + coefficients[i]
    return value


@compiled
def log_gamma(x):
    """Logarithm of the gamma function of a positive number, by Stirling's series at x + 7."""
    product = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0) * (x + 6.0)
    z = x + 7.0
    inverse = 1.0 / z
    series = inverse * horner(STIRLING_COEFFICIENTS, inverse * inverse)
    return (((z - 0.5) * log(z) - z) + HALF_LOG_2_PI + series) - log(product)


@compiled
def normal_quantile(u):
    """Inverse of the standard normal distribution function, 0 < u < 1."""
    q = u - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * horner(PPND_CENTRE_NUMERATOR, r) / horner(PPND_CENTRE_DENOMINATOR, r)
    r = math.sqrt(-log(u if q < 0.0 else 1.0 - u))
    if r <= 5.0:
        r = r - 1.6
        value = horner(PPND_MIDDLE_NUMERATOR, r) / horner(PPND_MIDDLE_DENOMINATOR, r)
    else:
        r = r - 5.0
        value = horner(PPND_TAIL_NUMERATOR, r) / horner(PPND_TAIL_DENOMINATOR, r)
    return -value if q < 0.0 else value
