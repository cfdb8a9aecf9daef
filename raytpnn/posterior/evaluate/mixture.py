"""The predictive distribution: the equal mixture over pooled draws of the family's distributions."""

from __future__ import annotations

import numpy as np

from raytpnn.families import Family
from raytpnn.parallel.threads import run_all

__all__ = ["mixture_cdf", "mixture_log_density", "mixture_quantiles"]

# Numbers worked on at once by one thread: 2 MB.
ENTRIES = 262_144
# A quantile is final when its last step was below this share of |y| and of the draws' quantiles' spread.
TOLERANCE = 1e-8
MAX_STEPS = 200


def mixture_cdf(family: Family, y: np.ndarray, f: np.ndarray, nuisance: np.ndarray) -> np.ndarray:
    """P(Y <= y) of the mixture.

    Parameters
    ----------
    family : Family
    y : (n,)
    f : (D, n)
    nuisance : (D,)

    Returns
    -------
    (n,) float64
    """
    return np.mean(family.cdf(y, f, nuisance[:, None]), axis=0)


def mixture_log_density(family: Family, y: np.ndarray, f: np.ndarray, nuisance: np.ndarray) -> np.ndarray:
    """Log density (or probability) of the mixture at y; shapes as in `mixture_cdf`."""

    def evaluate(rows: slice) -> np.ndarray:
        log_density = family.log_density(y[rows], f[:, rows], nuisance[:, None])
        top = np.max(log_density, axis=0)
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return top + np.log(np.mean(np.exp(log_density - top), axis=0))

    return np.concatenate(run_all(evaluate, row_slices(f)) or [np.empty(0)])


def mixture_quantiles(family: Family, q: np.ndarray, f: np.ndarray, nuisance: np.ndarray) -> np.ndarray:
    """Quantiles of the mixture: the smallest y with P(Y <= y) >= q.

    Found by a bracketed search on the mixture's distribution function, not by sampling.

    Parameters
    ----------
    family : Family
    q : (k,)
        Between 0 and 1, both excluded.
    f : (D, n)
    nuisance : (D,)

    Returns
    -------
    (n, k) float64
    """
    search = search_integers if family.discrete else search_reals

    def evaluate(rows: slice) -> np.ndarray:
        return np.stack([search(family, float(u), f[:, rows], nuisance) for u in q], axis=1)

    return np.concatenate(run_all(evaluate, row_slices(f)) or [np.empty((0, len(q)))])


def row_slices(f: np.ndarray) -> list[slice]:
    """Cut the columns of f into pieces of bounded size."""
    step = max(ENTRIES // max(len(f), 1), 1)
    return [slice(start, start + step) for start in range(0, f.shape[1], step)]


def search_reals(family: Family, q: float, f: np.ndarray, nuisance: np.ndarray) -> np.ndarray:
    """Newton steps on the distribution function, held to a shrinking bracket by bisection."""
    own = family.quantile(np.asarray(q), f, nuisance[:, None])
    # The mixture's quantile lies between the smallest and the largest quantile of its parts.
    low, high = own.min(axis=0), own.max(axis=0)
    tolerance = TOLERANCE * (high - low + np.maximum(np.abs(low), np.abs(high)))
    y = own.mean(axis=0)
    for _ in range(MAX_STEPS):
        excess = mixture_cdf(family, y, f, nuisance) - q
        low = np.where(excess < 0.0, y, low)
        high = np.where(excess >= 0.0, y, high)
        density = np.mean(np.exp(family.log_density(y, f, nuisance[:, None])), axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = y - excess / density
        # Not within the bracket, or not a number: halve the bracket instead.
        step = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
        moved, y = np.abs(step - y), step
        if np.all((moved <= tolerance) | (high - low <= tolerance)):
            break
    return y


def search_integers(family: Family, q: float, f: np.ndarray, nuisance: np.ndarray) -> np.ndarray:
    """Bisection over whole numbers."""
    own = family.quantile(np.asarray(q), f, nuisance[:, None])
    low, high = own.min(axis=0) - 1.0, own.max(axis=0)
    while np.any(high - low > 1.0):
        middle = np.floor(0.5 * (low + high))
        enough = mixture_cdf(family, middle, f, nuisance) >= q
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
