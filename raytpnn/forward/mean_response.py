"""From lane sums of f to the mean response, summed over draws."""

from __future__ import annotations

import numpy as np

from raytpnn.families import Family

__all__ = ["add_mean_response"]


def add_mean_response(
    family: Family, sums: np.ndarray, intercept: np.ndarray, offset: np.ndarray, total: np.ndarray
) -> None:
    """Add the mean response of a group of draws to a running total.

    Parameters
    ----------
    family : Family
        One without `add_mean` goes by its `mean`.
    sums : (n, 8) float32
        f without intercept, one lane per draw.
    intercept : (m,) float64
        Intercepts of the draws; lanes from m on are empty.
    offset, total : (n,) float64
    """
    if family.add_mean is not None:
        family.add_mean(sums, intercept, offset, total)
    else:
        total += family.mean(sums[:, : len(intercept)] + intercept + offset[:, None]).sum(axis=1)
