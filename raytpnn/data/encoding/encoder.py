"""Encoded features: what was learned from the training table, and its application to new rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.encoding.binning import encode_rows, midpoints
from raytpnn.data.encoding.bins import Bins
from raytpnn.data.tables.cells import as_numbers, as_text, is_missing, refuse_infinite
from raytpnn.data.tables.tables import Table, as_table, quoted

if TYPE_CHECKING:
    from raytpnn.data.gene_symbols import Annotation
    from raytpnn.data.preparation import Preparation

__all__ = ["BLOCK_CELLS", "LEVEL", "MISSING", "NUMERIC", "Encoder", "code_dtype"]

NUMERIC, LEVEL, MISSING = 0, 1, 2
# Cells worked on at once: small enough to stay in cache and to be no burden on memory.
BLOCK_CELLS = 1 << 15


def code_dtype(max_bins: int) -> np.dtype:
    """uint8 up to 255 bins, then uint16; the largest code is kept for missing."""
    return np.dtype(np.uint8 if max_bins <= 255 else np.uint16)


@dataclass(frozen=True, eq=False)
class Encoder:
    """What every encoded feature is made of.

    A column of numbers gives one feature: its mid-rank in (0, 1), in at most `max_bins` bins; up to that
    many distinct values it is exact, and with two it is binary. Numbers beyond those seen in training go to
    the end bins.

    A column of text or categories becomes one 0/1 feature per level, called "column=level", missing in all of
    them where the cell is missing; with two levels it gives one only, for the second in sorted order. A level
    not seen in training warns and is 0 in every level (missing if there are just two levels, since 0 would
    mean the first).

    Attributes
    ----------
    input_names : tuple of str
        Columns of the training table.
    named : bool
        Whether they came with names. Only then, and if the new table has names, are columns matched by name.
    max_bins : int
    names : tuple of str
        Encoded features.
    column : (p,) int32
        Input column of a feature.
    kind : (p,) uint8
        NUMERIC, LEVEL (one category) or MISSING (indicator of missing cells).
    level : (p,) int32
        Which level of its column a feature stands for; 0 for other kinds.
    levels : dict of int to tuple of str
        Levels of the text columns, by input column.
    dropped : tuple of str
        Constant and empty input columns.
    exact : (p,) bool
        One bin a distinct value.
    narrow_first, wide_first : (p + 1,) int64
        Where a feature's points start in `narrow` and in `wide`; they are in one of the two.
    narrow, wide : (.,) float32, (.,) float64
        Points: the values of an exact feature; otherwise the median of the first bin, the cuts, the median of
        the last bin. None for levels and indicators.
    preparation : Preparation or None
        What is done to the values of new rows first.
    annotation : Annotation or None
        Gene symbols and accessions of the input columns.
    """

    input_names: tuple[str, ...]
    named: bool
    max_bins: int
    names: tuple[str, ...]
    column: np.ndarray
    kind: np.ndarray
    level: np.ndarray
    levels: dict[int, tuple[str, ...]]
    dropped: tuple[str, ...]
    exact: np.ndarray
    narrow_first: np.ndarray
    narrow: np.ndarray
    wide_first: np.ndarray
    wide: np.ndarray
    preparation: Preparation | None = None
    annotation: Annotation | None = None

    @staticmethod
    def fit(X: Any, max_bins: int = 255, missing_indicators: bool = False) -> tuple[Encoder, Bins]:
        """Learn the encoding of a training table and apply it.

        Parameters
        ----------
        X : DataFrame, 2-D array, sparse matrix, Arrow table or path
            See `raytpnn.data.tables.tables.as_table`. NaN, None and NA are missing.
        max_bins : int
            2 to 65,535. Cells take one byte up to 255, two above.
        missing_indicators : bool
            Give every column with missing cells a further binary feature "column is missing".

        Returns
        -------
        encoder : Encoder
        bins : Bins

        Raises
        ------
        ValueError, TypeError
            If a cell cannot be encoded, naming column, row and value, or no usable feature is left.

        Warns
        -----
        UserWarning
            Once, if constant columns are dropped.
        """
        from raytpnn.data.encoding.fitting import fit_encoder
        from raytpnn.data.tables.streamed_table import StreamedTable

        table = as_table(X)
        if isinstance(table, StreamedTable):
            return Encoder.fit_parquet(table, max_bins, missing_indicators)
        return fit_encoder(table, max_bins, missing_indicators)

    @staticmethod
    def fit_parquet(
        source: Any,
        max_bins: int = 255,
        missing_indicators: bool = False,
        codes: str | Path | None = None,
        executor: str = "auto",
        workers: int | None = None,
    ) -> tuple[Encoder, Bins]:
        """Learn the encoding of Parquet files that may be larger than memory, and apply it.

        See `raytpnn.data.encoding.streamed_fit.fit_parquet`.
        """
        from raytpnn.data.encoding.streamed_fit import fit_parquet

        return fit_parquet(source, max_bins, missing_indicators, codes, executor, workers)

    @property
    def n_features(self) -> int:
        """Number of encoded features p."""
        return len(self.names)

    @property
    def missing_code(self) -> int:
        """Code of a missing cell."""
        return int(np.iinfo(code_dtype(self.max_bins)).max)

    @property
    def n_bins(self) -> np.ndarray:
        """Number of bins of every encoded feature, (p,) int64."""
        points = np.diff(self.narrow_first) + np.diff(self.wide_first)
        return np.where(self.kind == NUMERIC, np.where(self.exact, points, points - 1), 2)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the encoded features for people: with the gene symbol where it is known."""
        if self.annotation is None:
            return self.names
        return tuple(
            self.annotation.label(name) if kind == NUMERIC else name
            for name, kind in zip(self.names, self.kind, strict=True)
        )

    @cached_property
    def column_labels(self) -> tuple[str, ...]:
        """Names of the input columns for people."""
        if self.annotation is None:
            return self.input_names
        return tuple(self.annotation.label(name) for name in self.input_names)

    @cached_property
    def _position(self) -> dict[str, int]:
        by_label = {name: i for i, name in enumerate(self.labels)} if self.annotation is not None else {}
        return by_label | {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _most_points(self) -> int:
        return max(int(np.diff(first).max(initial=0)) for first in (self.narrow_first, self.wide_first))

    def index(self, feature: int | str) -> int:
        """Position of an encoded feature given by position, name or label.

        Raises
        ------
        KeyError
            If there is none.
        """
        if isinstance(feature, str):
            if feature not in self._position:
                raise KeyError(f"no encoded feature {feature!r}; there are {quoted(self.names)}")
            return self._position[feature]
        if not -self.n_features <= feature < self.n_features:
            raise KeyError(f"no encoded feature {feature}; there are {self.n_features}")
        return int(feature) % self.n_features

    def source(self, feature: int | str) -> str:
        """Name of the input column that an encoded feature comes from."""
        return self.input_names[self.column[self.index(feature)]]

    def _points(self, feature: int) -> np.ndarray:
        """Points of a numeric feature, float64."""
        narrow = self.narrow[self.narrow_first[feature] : self.narrow_first[feature + 1]]
        wide = self.wide[self.wide_first[feature] : self.wide_first[feature + 1]]
        return (narrow if len(narrow) else wide).astype(np.float64)

    def bin_edges(self, feature: int | str) -> np.ndarray:
        """Cut points of a feature, (bins - 1,) float64: the bin of x is the number of cuts <= x."""
        feature = self.index(feature)
        if self.kind[feature] != NUMERIC:
            return np.array([0.5])
        points = self._points(feature)
        return midpoints(points) if self.exact[feature] else points[1:-1]

    def representatives(self, feature: int | str) -> np.ndarray:
        """Typical value of every bin on the original scale, (bins,) float64.

        The value itself where a bin holds one distinct value; otherwise the middle between the cuts, and the
        training median in the first and the last bin. 0 and 1 for a level or an indicator.
        """
        feature = self.index(feature)
        if self.kind[feature] != NUMERIC:
            return np.array([0.0, 1.0])
        points = self._points(feature)
        if self.exact[feature]:
            return points
        cuts = points[1:-1]
        return np.concatenate([points[:1], midpoints(cuts), points[-1:]])

    def transform(self, X: Any, features: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Encode new rows.

        Parameters
        ----------
        X : as for `fit`
            Columns are found by name if both tables have names, else by position. Only the columns of the
            features asked for are touched; others may be absent if columns have names.
        features : sequence of int, optional
            Encoded features wanted; all by default.

        Returns
        -------
        (len(features), n) uint8 or uint16
            Codes; the largest code of the dtype means missing.

        Raises
        ------
        ValueError, TypeError
            If columns are missing or hold what they did not in training.

        Warns
        -----
        UserWarning
            If there are categories that training did not have.
        """
        wanted = np.arange(self.n_features) if features is None else np.asarray(features, dtype=np.intp)
        if wanted.ndim != 1 or (len(wanted) and not 0 <= wanted.min() <= wanted.max() < self.n_features):
            raise ValueError(f"features must be positions from 0 to {self.n_features - 1}, not {features!r}")
        inputs = np.unique(self.column[wanted])
        given = as_table(X)
        table = self._find(given if self.preparation is None else self.preparation.apply(given), inputs)
        codes = np.empty((len(wanted), table.n_rows), code_dtype(self.max_bins))
        place = np.searchsorted(inputs, self.column[wanted])
        together = table.plain[place] & (self.kind[wanted] != LEVEL)
        self._encode_numbers(table, wanted, place, np.flatnonzero(together), codes)
        apart = np.flatnonzero(~together)
        # Each column is visited once, however many of its levels are wanted.
        apart = apart[np.argsort(place[apart], kind="stable")]
        starts = np.flatnonzero(np.diff(place[apart], prepend=-1))
        for group in np.split(apart, starts[1:]) if len(apart) else []:
            self._encode_column(table, int(place[group[0]]), wanted, group, codes)
        return codes

    def _find(self, table: Table, inputs: np.ndarray) -> Table:
        """Pick the given input columns of a new table, in that order."""
        if table.names == self.input_names:
            return table.select(inputs)
        if not (table.named and self.named):
            if len(table.names) != len(self.input_names):
                raise ValueError(
                    f"X has {len(table.names)} features, but Encoder is expecting {len(self.input_names)} "
                    "features as input"
                )
            return table.select(inputs)
        there = {name: i for i, name in enumerate(table.names)}
        absent = [self.input_names[i] for i in inputs if self.input_names[i] not in there]
        if absent and self.preparation is not None and len(absent) < len(inputs):
            # Platforms share many probes: what is there is used.
            return self._with_absent(table, inputs, absent)
        if absent:
            raise ValueError(f"X lacks {len(absent)} column(s) of the training data: {quoted(absent)}")
        return table.select([there[self.input_names[i]] for i in inputs])

    def _with_absent(self, table: Table, inputs: np.ndarray, absent: Sequence[str]) -> Table:
        """Input columns of expression data of which some are not there: these are missing in every row."""
        from raytpnn.data.tables.tables import PaddedTable

        warnings.warn(
            f"the data lack {len(absent):,} of the {len(inputs):,} features that the model uses, as data of "
            f"another platform do: these count as missing, and their effects as average: {quoted(absent)}",
            stacklevel=5,
        )
        there = {name: i for i, name in enumerate(table.names)}
        names = [self.input_names[i] for i in inputs]
        return PaddedTable(table, names, [there.get(name, -1) for name in names])

    def _encode_numbers(
        self, table: Table, wanted: np.ndarray, place: np.ndarray, rows: np.ndarray, codes: np.ndarray
    ) -> None:
        """Codes of the rows whose columns can be read together."""
        step = max(1, BLOCK_CELLS // max(table.n_rows, self._most_points, 1))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            x = table.block(place[part])
            refuse_infinite(x, [table.names[i] for i in place[part]])
            self._encode_block(x, wanted[part], part, codes)

    def _encode_block(self, x: np.ndarray, features: np.ndarray, rows: np.ndarray, codes: np.ndarray) -> None:
        """Codes of numbers x, (k, n), of k features of kind NUMERIC or MISSING."""
        edges = [self.bin_edges(int(feature)) for feature in features]
        n_cuts = np.array([len(edge) for edge in edges], dtype=np.int64)
        cuts = np.zeros((len(edges), max(int(n_cuts.max(initial=0)), 1)))
        for j, edge in enumerate(edges):
            cuts[j, : len(edge)] = edge
        indicator = self.kind[features] == MISSING
        rows_or_none = np.where(indicator, -1, rows).astype(np.int64)
        encode_rows(x.astype(np.float64, copy=False), cuts, n_cuts, self.missing_code, rows_or_none, codes)
        codes[rows[indicator]] = np.isnan(x[indicator])

    def _encode_column(
        self, table: Table, i: int, wanted: np.ndarray, rows: np.ndarray, codes: np.ndarray
    ) -> None:
        """Codes of the rows that come from one column of text, objects or a type of its own."""
        values, name = table.column(i), table.names[i]
        features = wanted[rows]
        number = rows[self.kind[features] == NUMERIC]
        if len(number):
            x = as_numbers(values, name)[None, :]
            refuse_infinite(x, [name])
            for row in number:
                self._encode_block(
                    np.require(x, requirements=["C", "W"]), wanted[[row]], np.array([row]), codes
                )
        for row in rows[self.kind[features] == MISSING]:
            codes[row] = is_missing(values)
        level = rows[self.kind[features] == LEVEL]
        if len(level):
            self._encode_levels(as_text(values, name), name, wanted[level], level, codes)

    def _encode_levels(
        self, text: np.ndarray, name: str, features: np.ndarray, rows: np.ndarray, codes: np.ndarray
    ) -> None:
        """Codes of level features of one column."""
        import pandas as pd

        known = self.levels[int(self.column[features[0]])]
        place, found = pd.factorize(text, use_na_sentinel=True)
        unseen = sorted(set(found) - set(known))
        if unseen:
            effect = "0 in every level" if len(known) > 2 else "missing"
            warnings.warn(
                f"column {name!r} holds levels that training did not have, encoded as {effect}: "
                f"{quoted(unseen)}",
                stacklevel=4,
            )
        position = {level: k for k, level in enumerate(known)}
        outside = len(known) if len(known) > 2 else -1
        # The last entry serves place -1, a missing cell.
        number = np.array([*(position.get(level, outside) for level in found), -1])[place]
        for row, feature in zip(rows, features, strict=True):
            codes[row] = np.where(number < 0, self.missing_code, number == self.level[feature])

    def save(self, folder: str | Path) -> None:
        """Write `encoder.json` and `encoder.parquet`, readable without this package; see `encoder_io`."""
        from raytpnn.data.encoding.encoder_io import save_encoder

        save_encoder(self, Path(folder))

    @staticmethod
    def load(folder: str | Path) -> Encoder:
        """Read what `save` wrote."""
        from raytpnn.data.encoding.encoder_io import load_encoder

        return load_encoder(Path(folder))

    def to_arrow(self) -> Any:
        """Arrow table, a row an encoded feature; what belongs to the whole is JSON in its metadata."""
        from raytpnn.data.encoding.encoder_io import encoder_to_arrow

        return encoder_to_arrow(self)

    @staticmethod
    def from_arrow(table: Any) -> Encoder:
        """Take back what `to_arrow` gave."""
        from raytpnn.data.encoding.encoder_io import encoder_from_arrow

        return encoder_from_arrow(table)
