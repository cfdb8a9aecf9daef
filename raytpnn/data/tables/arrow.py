"""Arrow tables and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from raytpnn.data.tables.cells import level_text, refuse_dates
from raytpnn.data.tables.tables import Table, unique_names

__all__ = ["ArrowTable", "arrow_values", "data_columns", "is_declared", "is_text", "level_counts"]


def data_columns(schema: Any) -> list[int]:
    """Positions of the columns that are not a saved pandas index."""
    saved = (schema.pandas_metadata or {}).get("index_columns", [])
    index = {name for name in saved if isinstance(name, str)}
    return [i for i, name in enumerate(schema.names) if name not in index]


def is_plain(kind: Any) -> bool:
    """Whether Arrow can hand the column over as numbers."""
    return pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)


def is_text(kind: Any) -> bool:
    """Whether the cells are text or declared categories."""
    return (
        pa.types.is_dictionary(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
    )


def is_declared(kind: Any) -> bool:
    """Whether a column is declared as one of categories."""
    return bool(pa.types.is_dictionary(kind))


def fits_float32(kind: Any) -> bool:
    """Whether float32 holds every value of the type."""
    return pa.types.is_boolean(kind) or pa.types.is_float32(kind) or kind.bit_width <= 16


class ArrowTable(Table):
    """A pyarrow Table."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.names = unique_names(table.column_names)
        self.types = list(table.schema.types)
        self._plain = np.array([is_plain(kind) for kind in self.types], bool)

    @staticmethod
    def of(source: Any) -> ArrowTable:
        """Table of whatever speaks the Arrow stream protocol, without a saved pandas index."""
        table = source if isinstance(source, pa.Table) else pa.table(source)
        keep = data_columns(table.schema)
        return ArrowTable(table if len(keep) == table.num_columns else table.select(keep))

    @property
    def n_rows(self) -> int:
        """Length of the table."""
        return int(self.table.num_rows)

    @property
    def plain(self) -> np.ndarray:
        """Columns of numbers and truth values."""
        return self._plain

    def column(self, i: int) -> np.ndarray:
        """Cells of a column of any type."""
        return arrow_values(self.table.column(i), self.names[i])

    def declared_levels(self, i: int) -> tuple[str, ...] | None:
        """Values of a dictionary."""
        kind = self.types[i]
        if not pa.types.is_dictionary(kind):
            return None
        chunks = self.table.column(i).chunks
        if not kind.ordered or not chunks:
            return ()
        return tuple(level_text(level) for level in chunks[0].dictionary.to_pylist() if level is not None)

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Copy of some columns."""
        narrow = all(fits_float32(self.types[i]) for i in columns)
        block = np.empty((len(columns), self.n_rows), np.float32 if narrow else np.float64)
        for k, i in enumerate(columns):
            block[k] = arrow_values(self.table.column(int(i)), self.names[i])
        return block


def arrow_values(column: Any, name: str) -> np.ndarray:
    """Cells of an Arrow column.

    Parameters
    ----------
    column : pyarrow ChunkedArray
    name : str
        For error messages.

    Returns
    -------
    (n,) array
        Numbers with NaN for null, or objects: str and None.

    Raises
    ------
    TypeError
        If the type is neither number nor text.
    """
    kind = column.type
    if pa.types.is_floating(kind):
        return column.to_numpy()
    if pa.types.is_integer(kind):
        return (
            column.to_numpy() if not column.null_count else column.cast(pa.float64(), safe=False).to_numpy()
        )
    if pa.types.is_boolean(kind):
        return column.cast(pa.float32()).to_numpy() if column.null_count else column.to_numpy()
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64()).to_numpy()
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_dictionary(kind):
        return dictionary_values(column)
    if is_text(kind):
        return column.to_numpy()
    if pa.types.is_temporal(kind):
        refuse_dates(name, kind)
    raise TypeError(f"column {name!r} has the Arrow type {kind}; give numbers or text")


def dictionary_values(column: Any) -> np.ndarray:
    """Write declared categories as str and None."""
    parts = []
    for chunk in column.chunks:
        levels = [None if level is None else level_text(level) for level in chunk.dictionary.to_pylist()]
        indices = chunk.indices.fill_null(len(levels)) if chunk.indices.null_count else chunk.indices
        parts.append(np.array([*levels, None], dtype=object)[indices.to_numpy(zero_copy_only=False)])
    return np.concatenate(parts) if parts else np.empty(0, dtype=object)


def level_counts(column: Any) -> tuple[list[str | None], list[int]]:
    """Levels of a column of text in the order they are met, and how often; None for missing.

    Declared categories may be met more than once: two of them can have one name.
    """
    import pyarrow.compute as pc

    levels: list[str | None] = []
    counts: list[int] = []
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            names = [None if level is None else level_text(level) for level in chunk.dictionary.to_pylist()]
            counted = pc.value_counts(chunk.indices)
            levels += [None if i is None else names[i] for i in counted.field("values").to_pylist()]
        else:
            plain = chunk.cast(pa.string()) if pa.types.is_string_view(chunk.type) else chunk
            counted = pc.value_counts(plain)
            levels += counted.field("values").to_pylist()
        counts += counted.field("counts").to_pylist()
    return levels, counts
