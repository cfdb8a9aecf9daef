"""From lane sums of f to the mean response, summed over draws."""

from __future__ import annotations

import numpy as np

from raytpnn.families import Family
from raytpnn.forward.fast_math import fast
from raytpnn.numerics.elementary import exp

__all__ = ["add_mean_response"]


@fast
def add_logistic(sums, intercept, offset, total):
    """Add 1 / (1 + exp(-f)) of every draw to the total of a row."""
    for i in range(len(total)):
        value = 0.0
        for lane in range(len(intercept)):
            value += 1.0 / (1.0 + exp(-(np.float64(sums[i, lane]) + intercept[lane] + offset[i])))
        total[i] += value


@fast
def add_exponential(sums, intercept, offset, total):
    """Add exp(f) of every draw to the total of a row."""
    for i in range(len(total)):
        value = 0.0
        for lane in range(len(intercept)):
            value += exp(np.float64(sums[i, lane]) + intercept[lane] + offset[i])
        total[i] += value


KERNELS = {"bernoulli": add_logistic, "poisson": add_exponential}


def add_mean_response(
    family: Family, sums: np.ndarray, intercept: np.ndarray, offset: np.ndarray, total: np.ndarray
) -> None:
    """Add the mean response of a group of draws to a running total.

    Parameters
    ----------
    family : Family
        Families without a kernel here go by their own `mean`.
    sums : (n, 8) float32
        f without intercept, one lane per draw.
    intercept : (m,) float64
        Intercepts of the draws; lanes from m on are empty.
    offset, total : (n,) float64
    """
    kernel = KERNELS.get(family.name)
    if kernel is not None:
        kernel(sums, intercept, offset, total)
    else:
        total += family.mean(sums[:, : len(intercept)] + intercept + offset[:, None]).sum(axis=1)
