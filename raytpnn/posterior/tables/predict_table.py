"""Prediction from Parquet to Parquet, a batch of rows at a time: for tables larger than memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.tables.tables import quoted
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.parallel.ordered_map import on_ray
from raytpnn.posterior.effects.components import check_level
from raytpnn.posterior.tables.table_files import write_tables
from raytpnn.posterior.tables.table_pieces import Columns, Piece, batches, parquet_files, pieces

if TYPE_CHECKING:
    import pyarrow as pa

    from raytpnn.posterior.posterior import Posterior

__all__ = ["Wanted", "predict_piece", "predict_table"]


@dataclass(frozen=True)
class Wanted:
    """What to write of every row.

    Attributes
    ----------
    level : float or None
        Level of the predictive interval; None: no interval.
    keep : tuple of str
        Columns of the source to copy.
    offset : str or None
        Column of the source that is added to f.
    batch_rows : int
        Rows predicted at a time.
    """

    level: float | None
    keep: tuple[str, ...]
    offset: str | None
    batch_rows: int


def predict_table(
    posterior: Posterior,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    level: float | None = CREDIBLE_LEVEL,
    keep: Sequence[str] = (),
    offset: str | None = None,
    batch_rows: int = 65_536,
    executor: str = "auto",
) -> int:
    """Predict every row of Parquet files and write the predictions to another.

    Only the columns that some draw uses are read, and those to keep. Memory does not grow with the number of
    rows: one batch is held at a time, on Ray the results of a few pieces (row groups that make up a batch or
    more). The target is written beside and renamed when it is complete; it is the same, byte by byte,
    whatever executes.

    Parameters
    ----------
    posterior : Posterior
    source : path, or several
        Parquet files with the same columns, or a folder of them (taken in the order of their names). On a
        cluster, all nodes must see them.
    target : path
        Parquet file to write; one that exists is replaced.
    level : float, optional
        Level of the predictive interval; for two classes, of the credible interval of the probability.
        None: no interval is written.
    keep : sequence of str
        Columns of the source to copy, an identifier for example.
    offset : str, optional
        Column of the source that is added to f.
    batch_rows : int
        Rows held at a time, and in a row group of the target.
    executor : {"auto", "ray", "threads"}
        "threads": in this process. "ray": a task a piece on the Ray cluster this process is connected to.
        "auto": on Ray if it is connected and there is more than one piece.

    Returns
    -------
    int
        Rows written. Columns are those kept, `mean` (posterior mean of the response; the probability of the
        larger class for two classes), and `low` and `high`. For several classes `probability_X` of every
        class X, with `low_X` and `high_X`, and the likeliest `class`.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or a node of the cluster does not see it.
    ValueError
        If a column is missing or its values cannot be used, or a name stands for two columns.
    """
    wanted = check_wanted(posterior, level, keep, offset, batch_rows)
    files, end = parquet_files(source), Path(target)
    if any(end.resolve() == file.resolve() for file in files):
        raise ValueError(f"target {str(end)!r} is one of the source files; give another path")
    cut = pieces(files, wanted.batch_rows)
    if not cut:
        raise ValueError(f"there is no row in {quoted([str(file) for file in files])}")
    if runs_on_ray(executor, len(cut)):
        from raytpnn.posterior.tables.predict_ray import predict_pieces

        return write_tables(predict_pieces(posterior, cut, wanted), end)
    return write_tables((table for piece in cut for table in predict_piece(posterior, piece, wanted)), end)


def check_wanted(
    posterior: Posterior, level: float | None, keep: Sequence[str], offset: str | None, batch_rows: int
) -> Wanted:
    """What the user asked for, or an error that says what cannot be."""
    if isinstance(batch_rows, bool) or not isinstance(batch_rows, int | np.integer) or batch_rows < 1:
        raise ValueError(f"batch_rows must be a number of rows, 1 or more, not {batch_rows!r}")
    if posterior.family.in_intervals:
        raise ValueError(
            f"family {posterior.family.name!r} predicts tables that fit into memory: post.interval(path)"
        )
    if isinstance(keep, str):
        raise ValueError(f"keep must be a list of names of columns, not the text {keep!r}: give [{keep!r}]")
    if level is not None:
        check_level(level)
    written = written_columns(posterior, level)
    taken = [name for name in keep if name in written]
    if taken:
        raise ValueError(f"a column to keep is called {taken[0]!r}, as one of the predictions; rename it")
    return Wanted(level, tuple(keep), offset, int(batch_rows))


def runs_on_ray(executor: str, n_pieces: int) -> bool:
    """Whether pieces go to Ray; one piece alone is not sent there unless that is asked for."""
    return on_ray(executor) and (executor == "ray" or n_pieces > 1)


def predict_piece(posterior: Posterior, piece: Piece, wanted: Wanted) -> Iterator[pa.Table]:
    """Predictions of a piece beside the columns to keep, one table per batch."""
    others = [*wanted.keep, *([wanted.offset] if wanted.offset else [])]
    for columns, beside in batches(posterior, piece, others, wanted.batch_rows):
        yield predicted(posterior, columns, beside, wanted)


def predicted(posterior: Posterior, columns: Columns, beside: pa.Table, wanted: Wanted) -> pa.Table:
    """Predictions of one batch beside the columns to keep."""
    from raytpnn.data.response import as_offset

    shift = None
    if wanted.offset is not None:
        shift = as_offset(beside.column(wanted.offset), columns.n_rows)
    table = beside.select(list(wanted.keep))
    if posterior.family.labelled and not posterior.family.binary:
        return with_classes(posterior, columns, table, wanted.level)
    table = table.append_column("mean", [posterior.predict(columns, shift)])
    if wanted.level is not None:
        low, high = posterior.interval(columns, wanted.level, shift).T
        table = table.append_column("low", [np.ascontiguousarray(low)])
        table = table.append_column("high", [np.ascontiguousarray(high)])
    return table


def written_columns(posterior: Posterior, level: float | None) -> list[str]:
    """Names of the columns of predictions."""
    kinds = ["mean"] if level is None else ["mean", "low", "high"]
    if posterior.family.binary or not posterior.family.labelled:
        return kinds
    kinds[0] = "probability"
    return [f"{kind}_{label}" for label in posterior.family.outputs or () for kind in kinds] + ["class"]


def with_classes(posterior: Posterior, rows: Any, table: pa.Table, level: float | None) -> pa.Table:
    """Table with the probability of every class, its credible interval if there is a level, and the class."""
    import pyarrow as pa

    probability = posterior.predict(rows)
    ends: Any = None if level is None else posterior.interval(rows, level)
    names = iter(written_columns(posterior, level))
    for c in range(probability.shape[1]):
        table = table.append_column(next(names), [np.ascontiguousarray(probability[:, c])])
        for end in range(0 if ends is None else 2):
            table = table.append_column(next(names), [np.ascontiguousarray(ends[:, c, end])])
    labels = posterior.classes or tuple(range(probability.shape[1]))
    likeliest = pa.array([labels[c] for c in np.argmax(probability, axis=1)])
    return table.append_column(next(names), likeliest)
