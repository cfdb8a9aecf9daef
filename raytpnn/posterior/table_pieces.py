"""Parquet files cut into pieces, and a piece read in batches of rows: only the columns in use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.tables import Table, quoted

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from raytpnn.posterior.posterior import Posterior

__all__ = ["Columns", "Piece", "batches", "parquet_files", "pieces"]


@dataclass(frozen=True)
class Piece:
    """Neighbouring row groups of one Parquet file.

    Attributes
    ----------
    path : Path
    first, last : int
        Row groups first ... last - 1.
    """

    path: Path
    first: int
    last: int


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


def open_parquet(path: Path) -> pq.ParquetFile:
    """Parquet file, or an error that names it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except pa.ArrowInvalid as problem:
        raise ValueError(f"cannot read {str(path)!r} as Parquet: {problem}") from None


def pieces(files: Sequence[Path], batch_rows: int) -> list[Piece]:
    """Cut files into pieces of at least `batch_rows` rows, where there are as many: no batch is then small.

    Where pieces begin depends on the files and on `batch_rows` alone, not on who reads them.
    """
    cut: list[Piece] = []
    for path in files:
        with open_parquet(path) as file:
            first, rows = 0, 0
            for group in range(file.num_row_groups):
                rows += file.metadata.row_group(group).num_rows
                if rows >= batch_rows:
                    cut.append(Piece(path, first, group + 1))
                    first, rows = group + 1, 0
            if rows:
                cut.append(Piece(path, first, file.num_row_groups))
    return cut


def batches(
    posterior: Posterior, piece: Piece, others: Sequence[str], batch_rows: int
) -> Iterator[tuple[Columns, pa.Table]]:
    """Rows of a piece to predict, and the other columns asked for, at most `batch_rows` at a time."""
    import pyarrow as pa

    with open_parquet(piece.path) as file:
        place = input_columns(posterior, file, piece.path, others)
        absent = [name for name in others if name not in file.schema_arrow.names]
        if absent:
            raise ValueError(f"{str(piece.path)!r} has no column {absent[0]!r}")
        # Without any column there would be nothing to count the rows by.
        read = list(dict.fromkeys([*place.values(), *others])) or file.schema_arrow.names[:1]
        groups = list(range(piece.first, piece.last))
        for batch in file.iter_batches(batch_rows, row_groups=groups, columns=read):
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
