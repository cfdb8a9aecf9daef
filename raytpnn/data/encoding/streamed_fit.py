"""Learning the encoding of Parquet files that may be larger than memory, in two passes.

The first pass makes a summary of every column (`raytpnn.data.encoding.summary`) and bins of it; the second
writes the codes of all rows and counts the rows of every bin, so that marginals are exact whatever the
summary left out. Both go over pieces of the files at the same time, a few columns after another; what comes
out does not depend on who does which piece.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.data.encoding.buffers import MarginalPool
from raytpnn.data.encoding.codes_file import CodesFile
from raytpnn.data.encoding.encoder import LEVEL, MISSING, NUMERIC, Encoder, code_dtype
from raytpnn.data.encoding.fitting import (
    check_features,
    checked_bins,
    refuse_few_rows,
    refuse_identifiers,
    sort_levels,
)
from raytpnn.data.encoding.summary import MOST_TEXTS, Gatherer, Levels, Numbers, summary_size
from raytpnn.data.encoding.summary_bins import ColumnBins, bins_of
from raytpnn.data.tables.arrow import ArrowTable, is_declared, is_text, level_counts
from raytpnn.data.tables.cells import numbers_or_text, refuse_infinite
from raytpnn.data.tables.parquet_pieces import Piece, read_batches
from raytpnn.data.tables.streamed_table import BATCH_ROWS, StreamedTable
from raytpnn.data.tables.text_columns import judge_levels
from raytpnn.parallel.ordered_map import in_order, on_ray

__all__ = ["fit_parquet"]

# Values that the summaries of the columns read together keep: bounds the memory of the first pass.
VALUES_TOGETHER = 1 << 20
# Features encoded together, unless one column has more: bounds that of the second.
FEATURES_TOGETHER = 32
# Codes held at a time by one worker.
CODES_TOGETHER = 1 << 23


def fit_parquet(
    source: Any,
    max_bins: int = 255,
    missing_indicators: bool = False,
    codes: str | Path | None = None,
    executor: str = "auto",
    workers: int | None = None,
) -> tuple[Encoder, Bins]:
    """Learn the encoding of Parquet files without holding them, and apply it.

    Columns of at most 65,536 distinct values, and text, are encoded exactly as by `fit`. For other
    columns every cut lies where that of `fit` lies to within a fraction of a bin's rows: a value that
    `fit` gives the bin floor(mid-rank * max_bins) goes to that bin or a neighbour. Codes then differ by
    at most one, unless some value holds more than half a bin's share of the rows: where such values
    leave bins empty, these are left out, and codes beyond may be counted from another number of them.
    Marginals are counted exactly. The result does not depend on the number of workers.

    Parameters
    ----------
    source : path, several paths, or StreamedTable
        Parquet files with the same columns, or a folder of them (taken in the order of their names).
    max_bins, missing_indicators
        As for `fit`.
    codes : path, optional
        .npy file to write the codes to; a temporary one if not given.
    executor : {"auto", "ray", "threads"}
        Where row groups are read and encoded. "auto": on Ray if a cluster is connected, whose nodes must
        all see the files; else in threads.
    workers : int, optional
        Row groups at a time; as many as there are cores if not given.

    Returns
    -------
    encoder : Encoder
    bins : Bins
        Codes are mapped into memory from the file.

    Raises
    ------
    ValueError, TypeError
        As `fit`, or if a file is damaged: the message names it.
    """
    table = source if isinstance(source, StreamedTable) else StreamedTable.open(source)
    max_bins = checked_bins(max_bins)
    refuse_few_rows(table.n_rows)
    if not table.names:
        raise ValueError(f"X has 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required.")
    run: Callable[..., Iterator[Any]] = partial(in_order, executor=executor, workers=workers, or_here=True)
    cut = table.pieces()
    summaries = summarise(table, cut, summary_size(max_bins), run)
    encoder = assemble(table, summaries, max_bins, missing_indicators)
    if codes is not None:
        return encoder, encode(table, cut, encoder, Path(codes), run, on_ray(executor))
    with tempfile.TemporaryDirectory(prefix="raytpnn-") as folder:
        # The mapping outlives the file's name.
        return encoder, encode(table, cut, encoder, Path(folder) / "codes.npy", run, on_ray(executor))


def summarise(
    table: StreamedTable, cut: list[Piece], size: int, run: Callable[..., Iterator[Any]]
) -> list[Numbers | Levels]:
    """First pass: a summary of every column."""
    summaries: list[Numbers | Levels] = []
    together = max(1, VALUES_TOGETHER // size)
    for start in range(0, len(table.names), together):
        names = table.names[start : start + together]
        text = [is_text(table.types[name]) for name in names]
        gatherers = [Gatherer(size) for _ in names]
        work = partial(summarise_piece, names, text, size, BATCH_ROWS)
        for piece, found in zip(cut, run(work, cut), strict=True):
            for name, gatherer, summary in zip(names, gatherers, found, strict=True):
                gatherer.add(summary)
                refuse_too_many_texts(name, gatherer, piece.start + piece.rows)
        summaries += [gatherer.result() for gatherer in gatherers]
    return summaries


def refuse_too_many_texts(name: str, gatherer: Gatherer, rows: int) -> None:
    """Raise as soon as a text column has too many levels, before all of it is read."""
    newest = gatherer.parts[-1][1]
    if isinstance(newest, Levels) and newest.more:
        number = f"more than {MOST_TEXTS:,}"
        refuse_identifiers(name, list(newest.counts), rows, number)


def summarise_piece(
    names: Sequence[str], text: Sequence[bool], size: int, batch_rows: int, piece: Piece
) -> list[Numbers | Levels]:
    """Summaries of some columns of a piece; `text` says which of them hold text."""
    gatherers = [Gatherer(size) for _ in names]
    for row, read in read_batches(piece, names, batch_rows):
        batch = ArrowTable(read)
        for i, gatherer in enumerate(gatherers):
            if text[i] and not is_text(batch.types[i]):
                # A file in which the column is empty does not know what it would have held.
                gatherer.add(Levels({}, missing=batch.n_rows))
            else:
                gatherer.add(summarise_column(batch, i, row, size))
    return [gatherer.result() for gatherer in gatherers]


def summarise_column(batch: ArrowTable, i: int, row: int, size: int) -> Numbers | Levels:
    """Summary of one column of a batch whose first row has the number `row`."""
    if is_text(batch.types[i]):
        return Levels.of(*level_counts(batch.table.column(i)))
    if batch.plain[i]:
        x = batch.block([i])
    else:
        x = numbers_or_text(batch.column(i), batch.names[i])[1][None, :]
    refuse_infinite(x, [batch.names[i]], row)
    return Numbers.of(x[0], size)


@dataclass(frozen=True)
class Feature:
    """One encoded feature, as `Encoder` describes it."""

    name: str
    column: int
    kind: int
    level: int = 0
    bins: ColumnBins | None = None


def assemble(
    table: StreamedTable, summaries: Sequence[Numbers | Levels], max_bins: int, missing_indicators: bool
) -> Encoder:
    """Encoder of columns known by their summaries."""
    features: list[Feature] = []
    levels: dict[int, tuple[str, ...]] = {}
    dropped: list[str] = []
    for i, (name, summary) in enumerate(zip(table.names, summaries, strict=True)):
        if isinstance(summary, Levels):
            found = list(summary.counts)
            if not is_declared(table.types[name]):
                judge_levels(name, summary.counts, partial(first_row_of, table, i))
            refuse_identifiers(name, found, summary.present)
            known = tuple(found[k] for k in sort_levels(found))
            made = [
                Feature(f"{name}={known[k]}", i, LEVEL, k)
                for k in (range(len(known)) if len(known) > 2 else range(1, len(known)))
            ]
            if made:
                levels[i] = known
        else:
            bins = bins_of(summary, max_bins)
            made = [Feature(name, i, NUMERIC, bins=bins)] if bins.n_bins > 1 else []
        if not made:
            dropped.append(name)
        features += made
        if missing_indicators and summary.missing:
            features.append(Feature(f"{name} is missing", i, MISSING))
    names = tuple(feature.name for feature in features)
    column = np.array([feature.column for feature in features], np.int32)
    kind = np.array([feature.kind for feature in features], np.uint8)
    check_features(names, column, kind, table.names, dropped)
    narrow_first, narrow = points_of(features, True, np.float32)
    wide_first, wide = points_of(features, False, np.float64)
    annotation = table.annotation
    return Encoder(
        input_names=table.names,
        named=True,
        max_bins=max_bins,
        names=names,
        column=column,
        kind=kind,
        level=np.array([feature.level for feature in features], np.int32),
        levels=levels,
        dropped=tuple(dropped),
        exact=np.array([feature.bins is None or feature.bins.exact for feature in features], np.bool_),
        narrow_first=narrow_first,
        narrow=narrow,
        wide_first=wide_first,
        wide=wide,
        annotation=None if annotation is None else annotation.about(table.names),
    )


def first_row_of(table: StreamedTable, i: int, level: str) -> int:
    """First row of a column of text that holds a level."""
    return int(np.argmax(table.column(i) == level))


def points_of(features: Sequence[Feature], narrow: bool, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Points of the features that keep them in one of the two widths: where each begins, and all of them."""
    none = np.empty(0)
    points = [
        feature.bins.points if feature.bins is not None and feature.bins.narrow == narrow else none
        for feature in features
    ]
    first = np.concatenate([[0], np.cumsum([len(part) for part in points])]).astype(np.int64)
    return first, np.concatenate(points).astype(dtype)


def encode(
    table: StreamedTable,
    cut: list[Piece],
    encoder: Encoder,
    path: Path,
    run: Callable[..., Iterator[Any]],
    far: bool,
) -> Bins:
    """Second pass: codes to a file, and exact marginals; `far` says that workers may not see the file."""
    pool = MarginalPool()
    marginal: list[int] = []
    with CodesFile(path, code_dtype(encoder.max_bins), (encoder.n_features, table.n_rows)) as file:
        for group in feature_groups(encoder):
            first, last = int(group[0]), int(group[-1]) + 1
            names = [table.names[i] for i in np.unique(encoder.column[group])]
            rows = min(BATCH_ROWS, max(CODES_TOGETHER // len(group), 1024))
            work = partial(encode_piece, encoder, names, first, last, rows, None if far else file)
            counts = np.zeros((last - first, encoder.missing_code + 1), np.int64)
            for found, blocks in run(work, cut):
                counts += found
                for row, codes in blocks:
                    file.write(first, row, codes)
            for feature in group:
                bins = 2 if encoder.kind[feature] != NUMERIC else len(encoder.bin_edges(int(feature))) + 1
                marginal.append(pool.number(counts[feature - first, :bins].copy()))
        mapped = file.mapped()
    first_bin = np.array(pool.first, dtype=np.int64)
    return Bins(
        mapped,
        encoder.names,
        np.array(marginal, np.int32),
        first_bin,
        pool.value.finish(),
        pool.weight.finish(),
    )


def feature_groups(encoder: Encoder) -> list[np.ndarray]:
    """Neighbouring features to encode together; those of one column stay together."""
    starts = [0]
    first_of_column = np.flatnonzero(np.diff(encoder.column, prepend=-1))
    for feature, after in zip(first_of_column, [*first_of_column[1:], encoder.n_features], strict=True):
        if after - starts[-1] > FEATURES_TOGETHER and feature > starts[-1]:
            starts.append(int(feature))
    return np.split(np.arange(encoder.n_features), starts[1:])


def encode_piece(
    encoder: Encoder,
    names: Sequence[str],
    first: int,
    last: int,
    batch_rows: int,
    file: CodesFile | None,
    piece: Piece,
) -> tuple[np.ndarray, list[tuple[int, np.ndarray]]]:
    """Codes of features first ... last - 1 in a piece.

    Returns
    -------
    counts : (last - first, codes) int64
        Rows of every code.
    blocks : list of (int, (last - first, m) codes)
        First rows and codes, if there is no file to write them to.
    """
    wanted = np.arange(first, last)
    counts = np.zeros((len(wanted), encoder.missing_code + 1), np.int64)
    blocks = []
    for row, read in read_batches(piece, names, batch_rows):
        codes = encoder.transform(ArrowTable(read), wanted)
        for j, line in enumerate(codes):
            counts[j] += np.bincount(line, minlength=counts.shape[1])
        if file is None:
            blocks.append((row, codes))
        else:
            file.write(first, row, codes)
    return counts, blocks
