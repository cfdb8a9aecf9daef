"""Mergeable summaries of a column: sorted values with counts of rows, few of them, with a bound on the error.

A summary of at most `size` distinct values is exact. One of more is thinned: its values are cut into `size`
stretches of about equally many rows, and each stretch is left with one of its values, the median, which
stands for all its rows. A value that holds more rows than two stretches stays alone, with its own count.
Ranks of other numbers are then off by at most half a stretch, which is added to `error`; when summaries are
merged, errors add up. The bound holds for any data in any order, and nothing is random.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

__all__ = ["Gatherer", "Levels", "Numbers", "summary_size"]

# Distinct values up to which a summary is exact; all numbers of 16 bits.
EXACT_VALUES = 65_536
VALUES_A_BIN = 16
# More texts than these are not counted: with a fraction of them a column is refused.
MOST_TEXTS = 65_536


def summary_size(max_bins: int) -> int:
    """Values that a summary keeps, for so many bins."""
    return max(EXACT_VALUES, VALUES_A_BIN * max_bins)


class Mergeable(Protocol):
    """What can be gathered."""

    def merged(self, later: Any, size: int) -> Any:
        """Summary of the rows of this one and then those of another."""


Kind = TypeVar("Kind", bound=Mergeable)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Summary of numbers.

    Attributes
    ----------
    values : (m,) float64
        Ascending, distinct, each of them in the column.
    counts : (m,) int64
        Rows that a value stands for; they add up to all rows that are not missing.
    missing : int
        Rows without a value.
    error : int
        The number of rows below any number x, and of those not above it, differs from the sum of counts by
        at most this. 0: the values are all there are, and the counts are theirs.
    """

    values: np.ndarray
    counts: np.ndarray
    missing: int = 0
    error: int = 0

    @staticmethod
    def of(x: np.ndarray, size: int) -> Numbers:
        """Summary of (n,) float32 or float64 numbers, NaN for missing."""
        missing = int(np.isnan(x).sum())
        ordered = np.sort(x)[: len(x) - missing]
        first = first_of_runs(ordered)
        counts = np.diff(first, append=len(ordered))
        # Adding zero makes one value of 0 and -0.
        return Numbers(ordered[first].astype(np.float64) + 0.0, counts, missing).thinned(size)

    @property
    def total(self) -> int:
        """Rows that are not missing."""
        return int(self.counts.sum())

    def merged(self, later: Numbers, size: int) -> Numbers:
        """Summary of the rows of both."""
        values = np.concatenate([self.values, later.values])
        # Both are sorted: a stable sort only merges them.
        order = np.argsort(values, kind="stable")
        values, counts = values[order], np.concatenate([self.counts, later.counts])[order]
        first = first_of_runs(values)
        counts = np.add.reduceat(counts, first) if len(first) else counts
        both = Numbers(values[first], counts, self.missing + later.missing, self.error + later.error)
        return both.thinned(size)

    def thinned(self, size: int) -> Numbers:
        """Summary of at most `size` values."""
        if len(self.values) <= size:
            return self
        ends = np.cumsum(self.counts)
        # By the middle of a value's rows: a value with two stretches of its own shares neither.
        stretch = ((2 * ends - self.counts) * size) // (2 * int(ends[-1]))
        first = first_of_runs(stretch)
        counts = np.add.reduceat(self.counts, first)
        before = ends[first] - self.counts[first]
        median = np.searchsorted(2 * ends, 2 * before + counts)
        below = ends[median] - self.counts[median] - before
        above = before + counts - ends[median]
        error = self.error + int(max(below.max(), above.max()))
        return Numbers(self.values[median], counts, self.missing, error)


def first_of_runs(ordered: np.ndarray) -> np.ndarray:
    """Where each run of equal elements starts."""
    return np.flatnonzero(np.concatenate([[len(ordered) > 0], ordered[1:] != ordered[:-1]])[: len(ordered)])


@dataclass(frozen=True, eq=False)
class Levels:
    """Summary of text.

    Attributes
    ----------
    counts : dict of str to int
        Rows of every level, in the order in which levels are met.
    missing : int
    present : int
        Rows with a text.
    more : bool
        Whether there are further levels, not counted.
    """

    counts: dict[str, int]
    missing: int = 0
    present: int = 0
    more: bool = False

    @staticmethod
    def of(levels: Iterable[str | None], counts: Iterable[int]) -> Levels:
        """Summary of levels, which may come more than once, and their rows; None is missing."""
        known: dict[str, int] = {}
        missing = present = 0
        more = False
        for level, count in zip(levels, counts, strict=True):
            if level is None:
                missing += count
                continue
            present += count
            if level in known or len(known) < MOST_TEXTS:
                known[level] = known.get(level, 0) + count
            else:
                more = True
        return Levels(known, missing, present, more)

    def merged(self, later: Levels, size: int = 0) -> Levels:
        """Summary of the rows of both."""
        del size  # levels are never thinned
        both = Levels.of([*self.counts, *later.counts], [*self.counts.values(), *later.counts.values()])
        more = self.more or later.more or both.more
        return Levels(both.counts, self.missing + later.missing, self.present + later.present, more)


class Gatherer:
    """Merges summaries in the order in which they are added, as a tree: two, four, eight at a time.

    The result depends on the summaries and their order alone, and a value goes through as many mergers as
    the number of summaries has binary digits.

    Parameters
    ----------
    size : int
        Values that a summary keeps.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.parts: list[tuple[int, Any]] = []

    def add(self, summary: Mergeable) -> None:
        """Add the summary of the next rows."""
        height = 0
        while self.parts and self.parts[-1][0] == height:
            _, earlier = self.parts.pop()
            summary, height = earlier.merged(summary, self.size), height + 1
        self.parts.append((height, summary))

    def result(self) -> Any:
        """Summary of everything added."""
        _, summary = self.parts[-1]
        for _, earlier in reversed(self.parts[:-1]):
            summary = earlier.merged(summary, self.size)
        return summary
