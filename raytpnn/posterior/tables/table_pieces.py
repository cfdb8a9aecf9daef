"""Pieces of Parquet files read for prediction, in batches of rows: only the columns in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.data.tables.parquet_pieces import Piece, open_parquet, parquet_files, pieces, read_batches
from raytpnn.data.tables.tables import Table, quoted

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from raytpnn.posterior.posterior import Posterior

__all__ = ["Columns", "Piece", "batches", "parquet_files", "pieces"]


def batches(
    posterior: Posterior, piece: Piece, others: Sequence[str], batch_rows: int
) -> Iterator[tuple[Columns, pa.Table]]:
    """Rows of a piece to predict, and the other columns asked for, at most `batch_rows` at a time."""
    with open_parquet(piece.path) as file:
        place = input_columns(posterior, file, piece.path, others)
        absent = [name for name in others if name not in file.schema_arrow.names]
        if absent:
            raise ValueError(f"{str(piece.path)!r} has no column {absent[0]!r}")
        # Without any column there would be nothing to count the rows by.
        read = list(dict.fromkeys([*place.values(), *others])) or file.schema_arrow.names[:1]
    for _, table in read_batches(piece, read, batch_rows):
        yield Columns(posterior, table, place), table.select(list(others))


def input_columns(
    posterior: Posterior, file: pq.ParquetFile, path: Path, others: Sequence[str]
) -> dict[int, str]:
    """Name in the file of every training column in use: by name if training had names, else by position."""
    from raytpnn.data.tables.arrow import data_columns

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
        from raytpnn.data.tables.arrow import ArrowTable

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
