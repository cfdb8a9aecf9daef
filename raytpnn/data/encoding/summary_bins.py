"""From the summary of a column to the bins that the encoder makes of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from raytpnn.data.encoding.summary import Numbers, first_of_runs

__all__ = ["ColumnBins", "bins_of"]

# A value has many rows if it has a quarter of a bin's.
HEAVY = 4


@dataclass(frozen=True)
class ColumnBins:
    """Bins of one numeric column.

    Attributes
    ----------
    points : (.,) float64
        What the encoder keeps: see `Encoder.narrow`.
    n_bins : int
    exact : bool
        One bin a distinct value.
    narrow : bool
        Whether float32 holds the points.
    """

    points: np.ndarray
    n_bins: int
    exact: bool
    narrow: bool


def bins_of(summary: Numbers, max_bins: int) -> ColumnBins:
    """Bins of a column: of an exact summary, those of `bin_sorted` bit by bit."""
    values, counts = summary.values, summary.counts
    if len(values) <= max_bins:
        return ColumnBins(values, len(values), True, fit_float32(values))
    ends = np.cumsum(counts)
    total = int(ends[-1])
    first = first_of_runs(((2 * ends - counts) * max_bins) // (2 * total))
    low, high = values[first[1:] - 1], values[first[1:]]
    middle = 0.5 * low + 0.5 * high
    cuts = np.where(low < middle, middle, high)
    with np.errstate(over="ignore"):
        rounded = middle.astype(np.float32).astype(np.float64)
    rounded = np.where((low < rounded) & (rounded <= high), rounded, high)
    if summary.error:
        # What lies between two values is not known. Beside a value with many rows it goes to the other side:
        # it would take on the rank of these rows.
        heavy = HEAVY * counts * max_bins >= total
        after, before = heavy[first[1:] - 1], heavy[first[1:]]
        close = np.where(before, high, np.nextafter(low, np.inf))
        cuts, rounded = (np.where(after | before, close, cut) for cut in (cuts, rounded))
    narrow = fit_float32(rounded)
    rows = np.add.reduceat(counts, first)
    # Medians of the end bins, as rows of the sorted column.
    ranks = [rows[0] // 2, total - 1 - rows[-1] // 2]
    ends_of = values[np.searchsorted(ends, ranks, side="right")]
    points = np.concatenate([ends_of[:1], rounded if narrow else cuts, ends_of[1:]])
    return ColumnBins(points, len(first), False, narrow)


def fit_float32(values: np.ndarray) -> bool:
    """Whether float32 holds all of some numbers."""
    with np.errstate(over="ignore"):
        return bool(np.all(values.astype(np.float32) == values))
