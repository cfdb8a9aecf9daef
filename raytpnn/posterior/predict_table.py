"""Prediction from Parquet to Parquet, a batch of rows at a time: for tables larger than memory."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.tables import Table, quoted
from raytpnn.posterior.components import check_level

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from raytpnn.posterior.posterior import Posterior

__all__ = ["predict_table"]


def predict_table(
    posterior: Posterior,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    level: float | None = 0.9,
    keep: Sequence[str] = (),
    offset: str | None = None,
    batch_rows: int = 65_536,
) -> int:
    """Predict every row of Parquet files and write the predictions to another.

    Only the columns that some draw uses are read, and those to keep. Memory does not grow with the number of
    rows: one batch is held at a time. The target is written beside and renamed when it is complete.

    Parameters
    ----------
    posterior : Posterior
    source : path, or several
        Parquet files with the same columns, or a folder of them (taken in the order of their names).
    target : path
        Parquet file to write; one that exists is replaced.
    level : float, optional
        Level of the predictive interval. None: no interval is written. For two classes there is none either.
    keep : sequence of str
        Columns of the source to copy, an identifier for example.
    offset : str, optional
        Column of the source that is added to f.
    batch_rows : int
        Rows held at a time, and in a row group of the target.

    Returns
    -------
    int
        Rows written. Columns are those kept, `mean` (posterior mean of the response; the probability of the
        larger class for two classes), and `low` and `high`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a column is missing or its values cannot be used, or a name stands for two columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if isinstance(batch_rows, bool) or not isinstance(batch_rows, int | np.integer) or batch_rows < 1:
        raise ValueError(f"batch_rows must be a number of rows, 1 or more, not {batch_rows!r}")
    if level is not None:
        check_level(level)
    if posterior.family.name == "bernoulli":
        level = None
    written = ["mean"] if level is None else ["mean", "low", "high"]
    taken = [name for name in keep if name in written]
    if taken:
        raise ValueError(f"a column to keep is called {taken[0]!r}, as one of the predictions; rename it")
    files, end = parquet_files(source), Path(target)
    if any(end.resolve() == file.resolve() for file in files):
        raise ValueError(f"target {str(end)!r} is one of the source files; give another path")
    partial = end.with_name(f".{end.name}.{uuid.uuid4().hex}.partial")
    end.parent.mkdir(parents=True, exist_ok=True)
    writer, n = None, 0
    try:
        for batch in batches(posterior, files, [*keep, *([offset] if offset else [])], int(batch_rows)):
            table = predicted(posterior, batch, level, keep, offset)
            writer = writer or pq.ParquetWriter(partial, table.schema, compression="zstd")
            writer.write_table(pa.Table.from_arrays(table.columns, schema=writer.schema))
            n += table.num_rows
        if writer is None:
            raise ValueError(f"there is no row in {quoted([str(file) for file in files])}")
        writer.close()
        os.replace(partial, end)
    finally:
        if writer is not None:
            writer.close()
        partial.unlink(missing_ok=True)
    return n


def parquet_files(source: Any) -> list[Path]:
    """Files meant by a path, a folder or several paths."""
    paths = [Path(source)] if isinstance(source, str | os.PathLike) else [Path(item) for item in source]
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for ending in ("parquet", "pq") for file in path.rglob(f"*.{ending}"))
            if not inside:
                raise FileNotFoundError(f"no Parquet file in {str(path)!r}")
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise FileNotFoundError(f"no file {str(path)!r}")
    if not files:
        raise FileNotFoundError("no source given")
    return files


def batches(
    posterior: Posterior, files: list[Path], others: Sequence[str], batch_rows: int
) -> Iterator[tuple[Columns, pa.Table]]:
    """Rows to predict, and the other columns asked for, at most `batch_rows` at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in files:
        try:
            file = pq.ParquetFile(path)
        except pa.ArrowInvalid as problem:
            raise ValueError(f"cannot read {str(path)!r} as Parquet: {problem}") from None
        with file:
            place = input_columns(posterior, file, path, others)
            absent = [name for name in others if name not in file.schema_arrow.names]
            if absent:
                raise ValueError(f"{str(path)!r} has no column {absent[0]!r}")
            # Without any column there would be nothing to count the rows by.
            read = list(dict.fromkeys([*place.values(), *others])) or file.schema_arrow.names[:1]
            for batch in file.iter_batches(batch_rows, columns=read):
                if batch.num_rows:
                    table = pa.Table.from_batches([batch])
                    yield Columns(posterior, table, place), table.select(list(others))


def input_columns(
    posterior: Posterior, file: pq.ParquetFile, path: Path, others: Sequence[str]
) -> dict[int, str]:
    """Name in the file of every training column in use: by name if training had names, else by position."""
    from raytpnn.data.arrow import data_columns

    encoder = posterior.encoder
    needed = np.unique(encoder.column[posterior.ensemble.used]).tolist()
    schema = file.schema_arrow
    if encoder.named:
        absent = [encoder.input_names[i] for i in needed if encoder.input_names[i] not in schema.names]
        if absent:
            raise ValueError(
                f"{str(path)!r} lacks {len(absent)} column(s) of the training data: {quoted(absent)}"
            )
        return {i: encoder.input_names[i] for i in needed}
    names = [schema.names[i] for i in data_columns(schema) if schema.names[i] not in others]
    if len(names) != len(encoder.input_names):
        raise ValueError(
            f"{str(path)!r} has {len(names)} columns beside those kept, training had "
            f"{len(encoder.input_names)} without names: give the same columns in the same order"
        )
    return {i: names[i] for i in needed}


class Columns(Table):
    """Training columns of a batch, of which only those in use are there.

    Parameters
    ----------
    posterior : Posterior
    table : pyarrow Table
    place : dict of int to str
        Name in the table of a training column.
    """

    def __init__(self, posterior: Posterior, table: pa.Table, place: dict[int, str]) -> None:
        from raytpnn.data.arrow import ArrowTable

        self.names = posterior.encoder.input_names
        self.rows = table.num_rows
        self.inner = ArrowTable(table.select(list(place.values())))
        self.place = {column: i for i, column in enumerate(place)}

    @property
    def n_rows(self) -> int:
        """Number of rows, known also without any column."""
        return self.rows

    @property
    def plain(self) -> np.ndarray:
        """Columns of numbers among those that are there."""
        plain = np.zeros(len(self.names), bool)
        plain[list(self.place)] = self.inner.plain
        return plain

    def column(self, i: int) -> np.ndarray:
        """Cells of a column in use."""
        return self.inner.column(self.place[int(i)])

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Copy of some columns in use."""
        return self.inner.block([self.place[int(i)] for i in columns])


def predicted(
    posterior: Posterior,
    batch: tuple[Columns, pa.Table],
    level: float | None,
    keep: Sequence[str],
    offset: str | None,
) -> pa.Table:
    """Predictions of one batch beside the columns to keep."""
    from raytpnn.data.response import as_offset

    columns, others = batch
    shift = None if offset is None else as_offset(others.column(offset), columns.n_rows)
    table = others.select(list(keep)).append_column("mean", [posterior.predict(columns, shift)])
    if level is not None:
        low, high = posterior.interval(columns, level, shift).T
        table = table.append_column("low", [np.ascontiguousarray(low)])
        table = table.append_column("high", [np.ascontiguousarray(high)])
    return table
