"""The functions of `elementary` for NumPy arrays: the reference execution, same bits."""

from __future__ import annotations

import math

import numpy as np

from raytpnn.numerics import constants as c

__all__ = ["exp", "log", "log1p_unit", "log_gamma", "normal_quantile"]


def horner(coefficients, x):
    """Polynomial with the highest coefficient first."""
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def exp(x):
    """e**x, with x held to [-708, 709]."""
    x = np.asarray(x, np.float64)
    x = np.where(x > c.EXP_MIN, x, c.EXP_MIN)
    x = np.where(x < c.EXP_MAX, x, c.EXP_MAX)
    shifted = x * c.LOG2_E + c.ROUND_TO_INT
    k = shifted - c.ROUND_TO_INT
    r = (x - k * c.LN2_HIGH) - k * c.LN2_LOW
    r2 = r * r
    q = c.EXP_COEFFICIENTS
    low = (q[0] + q[1] * r) + (q[2] + q[3] * r) * r2
    high = (q[4] + q[5] * r) + (q[6] + q[7] * r) * r2
    mantissa = 1.0 + (r + r2 * (low + high * (r2 * r2)))
    return mantissa * ((shifted.view(np.int64) + 1023) << 52).view(np.float64)


def artanh_series(s):
    """2 artanh(s) for |s| < 0.1716."""
    z = s * s
    return 2.0 * (s + s * (z * horner(c.ARTANH_COEFFICIENTS, z)))


def log(x):
    """Natural logarithm; minus infinity at 0, NaN below."""
    x = np.asarray(x, np.float64)
    bits = x.view(np.int64)
    exponent = (bits - c.SQRT_HALF_BITS) >> 52
    mantissa = (bits - (exponent << 52)).view(np.float64)
    e = exponent.astype(np.float64)
    with np.errstate(invalid="ignore"):
        value = e * c.LN2_HIGH + (artanh_series((mantissa - 1.0) / (mantissa + 1.0)) + e * c.LN2_LOW)
    edge = np.where(x == 0.0, -np.inf, np.where(x == np.inf, np.inf, np.nan))
    return np.where((x > 0.0) & (x < np.inf), value, edge)


def log1p_unit(z):
    """log(1 + z) for z in [0, 1]."""
    z = np.asarray(z, np.float64)
    large = z > c.SQRT_TWO - 1.0
    ratio = np.where(large, z - 1.0, z) / np.where(large, z + 3.0, z + 2.0)
    return np.where(large, c.LN2, 0.0) + artanh_series(ratio)


def log_gamma(x):
    """Logarithm of the gamma function of positive numbers, by Stirling's series at x + 7."""
    x = np.asarray(x, np.float64)
    product = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0) * (x + 6.0)
    z = x + 7.0
    inverse = 1.0 / z
    series = inverse * horner(c.STIRLING_COEFFICIENTS, inverse * inverse)
    return (((z - 0.5) * log(z) - z) + c.HALF_LOG_2_PI + series) - log(product)


def normal_quantile(u: float) -> float:
    """Inverse of the standard normal distribution function, 0 < u < 1."""
    q = u - 0.5

    def ratio(numerator, denominator, r):
        r = np.float64(r)
        return horner(numerator, r) / horner(denominator, r)

    if abs(q) <= 0.425:
        r = np.float64(0.180625 - q * q)
        centre = q * horner(c.PPND_CENTRE_NUMERATOR, r) / horner(c.PPND_CENTRE_DENOMINATOR, r)
        return float(centre)
    root = math.sqrt(-float(log(u if q < 0.0 else 1.0 - u)))
    if root <= 5.0:
        value = ratio(c.PPND_MIDDLE_NUMERATOR, c.PPND_MIDDLE_DENOMINATOR, root - 1.6)
    else:
        value = ratio(c.PPND_TAIL_NUMERATOR, c.PPND_TAIL_DENOMINATOR, root - 5.0)
    return float(-value if q < 0.0 else value)
