"""Parquet files seen as one table: columns are read when they are asked for, and not kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from raytpnn.data.tables.arrow import arrow_values, data_columns, fits_float32, is_plain, is_text
from raytpnn.data.tables.parquet_pieces import Piece, open_parquet, parquet_files, pieces, read_batches
from raytpnn.data.tables.tables import Table, quoted, unique_names

__all__ = ["BATCH_ROWS", "StreamedTable"]

# Rows read at a time; a piece has as many or more.
BATCH_ROWS = 1 << 18


@dataclass(frozen=True)
class Sizes:
    """What the footers of the files say.

    Attributes
    ----------
    rows : int
    stored : dict of str to int
        Bytes of every column, decompressed.
    """

    rows: int
    stored: dict[str, int]


class StreamedTable(Table):
    """One or more Parquet files with the same columns.

    Parameters
    ----------
    files : list of Path
    names : tuple of str
        Columns to see.
    types : dict of str to Arrow type
        As in the first file.
    sizes : Sizes
    """

    def __init__(
        self, files: list[Path], names: tuple[str, ...], types: dict[str, Any], sizes: Sizes
    ) -> None:
        self.files = files
        self.names = names
        self.types = types
        self.sizes = sizes

    @staticmethod
    def open(source: Any) -> StreamedTable:
        """Table of a Parquet file, a folder of them (in the order of their names) or several paths.

        Raises
        ------
        FileNotFoundError
            If there is none.
        ValueError
            If a file is no Parquet file, or has other columns than the first: the message names it.
        """
        files = parquet_files(source)
        types: dict[str, Any] = {}
        stored: dict[str, int] = {}
        rows = 0
        for path in files:
            with open_parquet(path) as file:
                schema = file.schema_arrow
                names = unique_names(schema.names[i] for i in data_columns(schema))
                found = {name: schema.field(name).type for name in names}
                types = types or found
                # A file in which a column is empty does not know what it would have held.
                types |= {name: kind for name, kind in found.items() if is_empty(types.get(name))}
                refuse_other_columns(path, found, files[0], types)
                rows += file.metadata.num_rows
                for name, size in stored_bytes(file).items():
                    stored[name] = stored.get(name, 0) + size
        return StreamedTable(files, tuple(types), types, Sizes(rows, stored))

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return self.sizes.rows

    @property
    def plain(self) -> np.ndarray:
        """Columns of numbers and truth values."""
        return np.array([is_plain(self.types[name]) for name in self.names], bool)

    def pieces(self) -> list[Piece]:
        """Row groups that are read together."""
        return pieces(self.files, BATCH_ROWS)

    def column(self, i: int) -> np.ndarray:
        """Read one column, whole."""
        name = self.names[i]
        parts = [
            table.column(0) for piece in self.pieces() for _, table in read_batches(piece, [name], BATCH_ROWS)
        ]
        if not parts:
            return arrow_values(pa.chunked_array([], self.types[name]), name)
        values = [arrow_values(part, name) for part in parts]
        if len({part.dtype for part in values}) > 1 and all(part.dtype.kind in "fiub" for part in values):
            # A batch without missing cells comes as whole numbers, others as floats.
            values = [part.astype(np.float64) for part in values]
        return np.concatenate(values)

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Read some columns, whole."""
        narrow = all(fits_float32(self.types[self.names[i]]) for i in columns)
        block = np.empty((len(columns), self.n_rows), np.float32 if narrow else np.float64)
        for k, i in enumerate(columns):
            block[k] = self.column(int(i))
        return block

    def select(self, columns: Sequence[int] | np.ndarray) -> StreamedTable:
        """See only some columns; nothing is read."""
        chosen = StreamedTable(self.files, tuple(self.names[i] for i in columns), self.types, self.sizes)
        chosen.preparation, chosen.annotation = self.preparation, self.annotation
        return chosen

    def bytes_in_memory(self) -> int:
        """Roughly the memory that encoding takes if the table is read at once."""
        total = 0
        for name in self.names:
            kind = self.types[name]
            # An Arrow column, the codes, and for text one pointer per cell.
            width = 8 if is_text(kind) else max(kind.bit_width // 8, 1) if is_plain(kind) else 8
            total += self.n_rows * (width + 1) + (self.sizes.stored.get(name, 0) if is_text(kind) else 0)
        # A column at a time is copied, sorted and turned into float64.
        return total + 24 * self.n_rows


def stored_bytes(file: Any) -> dict[str, int]:
    """Bytes of every column of a Parquet file, decompressed, by its name at the top level."""
    total: dict[str, int] = {}
    for group in range(file.num_row_groups):
        row_group = file.metadata.row_group(group)
        for i in range(row_group.num_columns):
            column = row_group.column(i)
            total[column.path_in_schema] = (
                total.get(column.path_in_schema, 0) + column.total_uncompressed_size
            )
    return total


def is_empty(kind: Any) -> bool:
    """Whether a column of this type can hold nothing."""
    return kind is not None and pa.types.is_null(kind)


def refuse_other_columns(path: Path, found: dict[str, Any], first: Path, types: dict[str, Any]) -> None:
    """Raise if a file does not have the columns of the first, or one is text here and numbers there."""
    absent = [name for name in types if name not in found]
    strange = [name for name in found if name not in types]
    if absent or strange:
        what = f"lacks {quoted(absent)}" if absent else f"also has {quoted(strange)}"
        raise ValueError(f"{str(path)!r} {what}, unlike {str(first)!r}: all files must have the same columns")
    for name, kind in found.items():
        if not is_empty(kind) and is_text(kind) != is_text(types[name]):
            raise ValueError(
                f"column {name!r} has the type {kind} in {str(path)!r} and {types[name]} in {str(first)!r}: "
                "it must be numbers in all files or text in all"
            )
