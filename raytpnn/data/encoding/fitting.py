"""Learning the encoding of a training table, a block of columns at a time."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from raytpnn.data.encoding.binning import bin_sorted, encode_rows
from raytpnn.data.encoding.bins import Bins
from raytpnn.data.encoding.buffers import Growable, MarginalPool, Spill
from raytpnn.data.encoding.encoder import BLOCK_CELLS, LEVEL, MISSING, NUMERIC, Encoder, code_dtype
from raytpnn.data.tables.cells import numbers_or_text, refuse_infinite
from raytpnn.data.tables.tables import Table, quoted
from raytpnn.data.tables.text_columns import judge_text

__all__ = ["MOST_BINS", "MOST_LEVELS", "fit_encoder"]

MOST_BINS = 65_535
MOST_LEVELS = 255
# A text column all of whose cells differ names rows; below this many rows it may be chance.
FEWEST_IDENTIFIERS = 20


def fit_encoder(table: Table, max_bins: int, missing_indicators: bool) -> tuple[Encoder, Bins]:
    """See `Encoder.fit`."""
    max_bins = checked_bins(max_bins)
    table = table.select(range(len(table.names)))
    refuse_few_rows(table.n_rows)
    fitting = Fitting(table, max_bins, missing_indicators)
    fitting.run()
    return fitting.finish()


def checked_bins(max_bins: Any) -> int:
    """Number of bins that a user may ask for, or an error."""
    try:
        max_bins = operator.index(max_bins)
    except TypeError:
        raise TypeError(f"max_bins must be a whole number, not {max_bins!r}") from None
    if not 2 <= max_bins <= MOST_BINS:
        raise ValueError(f"max_bins must be from 2 to {MOST_BINS:,}, not {max_bins}")
    return max_bins


def refuse_few_rows(n_rows: int) -> None:
    """Raise if there is nothing to learn from."""
    if n_rows < 2:
        raise ValueError(f"X has n_samples={n_rows} row(s); at least two are needed to learn anything")


class Fitting:
    """State of one fit: what is known of the encoded features so far, in the order of the columns."""

    def __init__(self, table: Table, max_bins: int, missing_indicators: bool) -> None:
        self.table = table
        self.max_bins = max_bins
        self.missing_indicators = missing_indicators
        self.missing_code = int(np.iinfo(code_dtype(max_bins)).max)
        self.names: list[str] = []
        self.dropped: list[str] = []
        self.levels: dict[int, tuple[str, ...]] = {}
        self.pool = MarginalPool()
        p = len(table.names)
        self.codes = Growable(code_dtype(max_bins), (table.n_rows,), p)
        self.column, self.level = Growable(np.int32, (), p), Growable(np.int32, (), p)
        self.marginal = Growable(np.int32, (), p)
        self.kind, self.exact = Growable(np.uint8, (), p), Growable(np.bool_, (), p)
        self.narrow, self.wide = Spill(np.float32), Spill(np.float64)
        self.narrow_length, self.wide_length = Growable(np.int32, (), p), Growable(np.int32, (), p)
        self.scratch = BinScratch(min(table.n_rows, max_bins))

    def run(self) -> None:
        """Go through all columns, plain ones in blocks."""
        plain = self.table.plain
        p, n = len(plain), self.table.n_rows
        step = max(1, BLOCK_CELLS // max(n, 1))
        start = 0
        while start < p:
            stop = start + 1
            if plain[start]:
                while stop < p and plain[stop] and stop - start < step:
                    stop += 1
                self.add_numbers(np.arange(start, stop), self.table.block(range(start, stop)))
            else:
                self.add_column(start)
            start = stop

    def add_column(self, i: int) -> None:
        """Features of a column that is not plain."""
        numeric, cells = numbers_or_text(self.table.column(i), self.table.names[i])
        if numeric:
            self.add_numbers(np.array([i]), np.require(cells[None, :], requirements=["C", "W"]))
        else:
            self.add_text(i, cells)

    def add_numbers(self, columns: np.ndarray, x: np.ndarray) -> None:
        """Features of numeric columns.

        Parameters
        ----------
        columns : (k,) int
        x : (k, n) float32 or float64
        """
        names = self.table.names
        refuse_infinite(x, [names[i] for i in columns])
        found = self.scratch.learn(x, self.max_bins)
        kept = found.n_bins > 1
        self.dropped.extend(names[i] for i in columns[~kept])
        holes = np.isnan(x).any(axis=1) & self.missing_indicators
        # Features stand in the order of the columns, an indicator right after the column it belongs to.
        rows = np.cumsum(kept.astype(np.int64) + holes) - holes - kept
        codes = self.codes.reserve(int(kept.sum() + holes.sum()))
        encode_rows(
            x.astype(np.float64, copy=False),
            found.cuts,
            found.n_bins - 1,
            self.missing_code,
            np.where(kept, rows, -1),
            codes,
        )
        for j in np.flatnonzero(kept | holes):
            i = columns[j]
            if kept[j]:
                self.describe(names[i], found.counts[j, : found.n_bins[j]])
            if holes[j]:
                missing = np.isnan(x[j])
                codes[rows[j] + kept[j]] = missing
                self.describe(f"{names[i]} is missing", np.array([np.sum(~missing), np.sum(missing)]))
        source = np.repeat(np.arange(len(columns)), kept.astype(np.int64) + holes)
        is_number = np.zeros(len(source), bool)
        is_number[rows[kept]] = True
        self.column.append(columns[source])
        self.kind.append(np.where(is_number, NUMERIC, MISSING))
        self.level.append(np.zeros(len(source), int))
        self.keep_points(found, kept, source, is_number)

    def keep_points(
        self, found: BinScratch, kept: np.ndarray, source: np.ndarray, is_number: np.ndarray
    ) -> None:
        """Store the points of a block, each feature's as float32 or as float64; indicators have none.

        Parameters
        ----------
        found : BinScratch
            Bins of k columns.
        kept : (k,) bool
            Columns that give a numeric feature.
        source : (features,) int
            Column of every feature of the block.
        is_number : (features,) bool
            Whether it is the numeric one of its column.
        """
        length = np.where(found.exact, found.n_bins, found.n_bins + 1)
        filled = np.arange(found.points.shape[1]) < length[:, None]
        for narrow, store, lengths in (
            (True, self.narrow, self.narrow_length),
            (False, self.wide, self.wide_length),
        ):
            chosen = kept & (found.narrow == narrow)
            store.append(found.points[chosen][filled[chosen]])
            lengths.append(np.where(is_number & chosen[source], length[source], 0))
        self.exact.append(found.exact[source] | ~is_number)

    def add_text(self, i: int, text: np.ndarray) -> None:
        """Features of a text column: one for each level, or a single one if there are two levels."""
        import pandas as pd

        name = self.table.names[i]
        place, found = pd.factorize(text, use_na_sentinel=True)
        missing = place < 0
        declared = self.table.declared_levels(i)
        if declared is None:
            judge_text(text, name)
        refuse_identifiers(name, found, int(np.sum(~missing)))
        order = sort_levels(found, declared)
        levels = tuple(str(found[k]) for k in order)
        if len(levels) < 2:
            self.dropped.append(name)
        else:
            self.levels[i] = levels
            for k in range(len(levels)) if len(levels) > 2 else (1,):
                self.add_binary(f"{name}={levels[k]}", i, LEVEL, place == order[k], missing, k)
        if self.missing_indicators and missing.any():
            self.add_binary(f"{name} is missing", i, MISSING, missing)

    def add_binary(
        self,
        name: str,
        i: int,
        kind: int,
        ones: np.ndarray,
        missing: np.ndarray | None = None,
        level: int = 0,
    ) -> None:
        """Add a feature that is 1 in some rows and perhaps missing in others."""
        codes = self.codes.reserve(1)[0]
        codes[...] = ones
        present = len(ones)
        if missing is not None:
            codes[missing] = self.missing_code
            present -= np.sum(missing)
        self.describe(name, np.array([present - np.sum(ones), np.sum(ones)]))
        for store, value in (
            (self.column, i),
            (self.kind, kind),
            (self.level, level),
            (self.exact, True),
            (self.narrow_length, 0),
            (self.wide_length, 0),
        ):
            store.append(np.array([value]))

    def describe(self, name: str, counts: np.ndarray) -> None:
        """Note the name and the marginal of the next feature."""
        self.names.append(name)
        self.marginal.append(np.array([self.pool.number(counts)]))

    def finish(self) -> tuple[Encoder, Bins]:
        """Put together encoder and bins; warn of what was dropped."""
        check_features(self.names, self.column.array, self.kind.array, self.table.names, self.dropped)
        names, annotation = tuple(self.names), self.table.annotation
        encoder = Encoder(
            input_names=self.table.names,
            named=self.table.named,
            max_bins=self.max_bins,
            names=names,
            column=self.column.finish(),
            kind=self.kind.finish(),
            level=self.level.finish(),
            levels=self.levels,
            dropped=tuple(self.dropped),
            exact=self.exact.finish(),
            narrow_first=offsets(self.narrow_length),
            narrow=self.narrow.finish(),
            wide_first=offsets(self.wide_length),
            wide=self.wide.finish(),
            preparation=self.table.preparation,
            annotation=None if annotation is None else annotation.about(self.table.names),
        )
        first, pool = np.array(self.pool.first, dtype=np.int64), self.pool
        codes, marginal = self.codes.finish(), self.marginal.finish()
        return encoder, Bins(codes, names, marginal, first, pool.value.finish(), pool.weight.finish())


class BinScratch:
    """Working memory of `bin_sorted`, used again for every block.

    Parameters
    ----------
    width : int
        Most bins that a feature can have.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.resize(0)

    def resize(self, k: int) -> None:
        """Make room for k features."""
        self.counts = np.zeros((k, self.width), dtype=np.int64)
        self.points = np.zeros((k, self.width + 1))
        self.cuts = np.zeros((k, self.width))
        self.n_bins = np.zeros(k, dtype=np.int64)
        self.exact = np.zeros(k, dtype=np.bool_)
        self.narrow = np.zeros(k, dtype=np.bool_)

    def learn(self, x: np.ndarray, max_bins: int) -> BinScratch:
        """Bins of the rows of x, (k, n); the arrays hold the answer until the next call."""
        if len(x) != len(self.n_bins):
            self.resize(len(x))
        # Sorted as given, which is faster for float32; compiled for float64 only, to compile once.
        ordered = np.sort(x, axis=1).astype(np.float64, copy=False)
        bin_sorted(
            ordered, max_bins, self.counts, self.points, self.cuts, self.n_bins, self.exact, self.narrow
        )
        return self


def refuse_identifiers(name: str, found: Sequence[str] | np.ndarray, present: int, number: str = "") -> None:
    """Raise if a text column has too many levels to be one of categories.

    Parameters
    ----------
    name : str
    found : sequence of str
        Its levels.
    present : int
        Rows with a text.
    number : str
        How many levels there are, in words, if `found` is only a part of them.
    """
    if len(found) <= FEWEST_IDENTIFIERS or (len(found) <= MOST_LEVELS and len(found) < present):
        return
    stray = not_a_number(found)
    if stray is not None:
        advice = (
            f"Most of it reads as numbers, but not {stray!r}: leave such cells empty, or use "
            f"pandas.to_numeric(X[{name!r}], errors='coerce')"
        )
    else:
        advice = "Drop it if it only names the rows, or group its rare levels"
    raise ValueError(
        f"column {name!r} is text with {number or len(found)} different values in {present} rows (such as "
        f"{quoted(list(found), 2)}), too many for categories. {advice}"
    )


def check_features(
    names: Sequence[str],
    column: np.ndarray,
    kind: np.ndarray,
    input_names: Sequence[str],
    dropped: Sequence[str],
) -> None:
    """Raise if no feature is left or two came out with one name; warn of what was dropped."""
    if not names:
        raise ValueError(
            f"no usable feature: every column of X is constant or empty ({quoted(dropped)}); give "
            "at least one column with two different values"
        )
    # Names of columns differ.
    if np.any(kind != NUMERIC):
        seen: dict[str, int] = {}
        for feature, name in enumerate(names):
            if name in seen:
                columns = [input_names[column[k]] for k in (seen[name], feature)]
                raise ValueError(
                    f"the columns {quoted(columns)} would both give a feature called {name!r}; rename one"
                )
            seen[name] = feature
    if dropped:
        warnings.warn(
            f"dropped {len(dropped)} constant or empty column(s): {quoted(dropped)}",
            stacklevel=5,
        )


def offsets(lengths: Growable) -> np.ndarray:
    """Where each of some ragged rows starts, and the end of the last, int64."""
    return np.concatenate([[0], np.cumsum(lengths.array)]).astype(np.int64)


def sort_levels(found: Sequence[str] | np.ndarray, declared: Sequence[str] | None = None) -> list[int]:
    """Order of levels: that declared, else as numbers if all of them read as numbers, else as text."""
    if declared and set(map(str, found)) <= set(declared):
        rank = {level: k for k, level in enumerate(declared)}
        return sorted(range(len(found)), key=lambda k: rank[str(found[k])])
    try:
        keys = [float(level) for level in found]
    except ValueError:
        return sorted(range(len(found)), key=lambda k: str(found[k]))
    return sorted(range(len(found)), key=lambda k: (keys[k], str(found[k])))


def not_a_number(found: Sequence[str] | np.ndarray) -> str | None:
    """Find the first value that does not read as a number, if most do."""
    stray = []
    for level in found:
        try:
            float(level)
        except ValueError:
            stray.append(level)
    return str(stray[0]) if stray and len(stray) < len(found) / 2 else None
