"""Parquet files of a run, checked before and after they are read: sizes, types, no missing values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raytpnn.storage.checks import named
from raytpnn.storage.formats.parquet_sizes import check_sizes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOST_BYTES", "check_kind", "read_columns", "reader_of", "refuse_missing"]

# The most that one file may take in memory, and the texts of a column of it.
MOST_BYTES = 1 << 31
MOST_TEXT_BYTES = 1 << 30
THRIFT = {"thrift_string_size_limit": 1 << 28, "thrift_container_size_limit": 1 << 24}


def read_columns(
    source: Path | bytes,
    file: str,
    kinds: Mapping[str, str],
    optional: Mapping[str, str],
    most_rows: int,
    most_bytes: int = MOST_BYTES,
) -> pa.Table:
    """Read columns of a Parquet file.

    Parameters
    ----------
    source : path or bytes
    file : str
        How to speak of it in an error.
    kinds, optional : mapping of str to str
        Columns that it must and may have, and what each holds: "text", "whole", "number" or "flag", behind
        "list " as often as lists are nested. An optional text may be missing.
    most_rows, most_bytes : int
        That it may have, and take in memory.

    Raises
    ------
    RunError
        If a column is missing or of another kind, a value is missing, or it would take too much memory.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    all_kinds = dict(kinds) | dict(optional)
    with named(file), opened(source) as stream:
        names = check_sizes(reader_of(stream), stream.size(), all_kinds, most_rows, most_bytes)
        stream.seek(0)
        texts = [name for name, kind in all_kinds.items() if kind == "text" and name in names]
        # Texts as a dictionary: one long text may stand in any number of rows.
        with pq.ParquetFile(stream, read_dictionary=texts, **THRIFT) as parquet:
            there = parquet.schema_arrow
            wanted = {name: all_kinds[name] for name in all_kinds if name in kinds or name in there.names}
            for name, kind in wanted.items():
                check_kind(there, name, kind)
            table = parquet.read(columns=list(wanted), use_threads=False)
        table.validate(full=True)
        arrays = {}
        for name, kind in wanted.items():
            arrays[name] = plain_texts(table[name], name) if kind == "text" else table[name]
            if name in kinds or kind != "text":
                refuse_missing(arrays[name], name)
        return pa.table(arrays)


def opened(source: Path | bytes) -> Any:
    """File of Arrow that can be read anywhere."""
    import pyarrow as pa

    return pa.BufferReader(source) if isinstance(source, bytes) else pa.OSFile(str(source))


def reader_of(stream: Any) -> Callable[[int, int], bytes]:
    """Read a stream by position and size."""

    def read(at: int, size: int) -> bytes:
        stream.seek(at)
        return stream.read(size)

    return read


def plain_texts(column: Any, name: str) -> Any:
    """Column of texts that came as a dictionary; ValueError if they would be too long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    chunks = []
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
            total += pc.sum(lengths).as_py() or 0
            if total > MOST_TEXT_BYTES:
                raise ValueError(f"the texts of column {name!r} have more than {MOST_TEXT_BYTES:,} bytes")
            chunk = chunk.dictionary_decode()
        chunks.append(chunk.cast(pa.string()))
    return pa.chunked_array(chunks, pa.string())


def check_kind(schema: pa.Schema, name: str, kind: str) -> None:
    """Raise unless a column is there, once, and of a kind."""
    import pyarrow as pa

    places = schema.get_all_field_indices(name)
    if len(places) != 1:
        raise ValueError(f"it has {'no column' if not places else 'several columns'} {name!r}")
    found = schema.field(places[0]).type
    if kind == "text" and pa.types.is_dictionary(found):
        found = found.value_type
    rest = kind
    while rest.startswith("list "):
        if not (pa.types.is_list(found) or pa.types.is_large_list(found)):
            raise ValueError(f"column {name!r} is of type {found}, not of lists")
        found, rest = found.value_type, rest.removeprefix("list ")
    fits = {
        "text": lambda t: pa.types.is_string(t) or pa.types.is_large_string(t),
        "whole": lambda t: pa.types.is_int32(t) or pa.types.is_int64(t),
        "number": lambda t: pa.types.is_float32(t) or pa.types.is_float64(t),
        "flag": pa.types.is_boolean,
    }
    if not fits[rest](found):
        raise ValueError(f"column {name!r} holds {found}, not {kind}")


def refuse_missing(column: Any, name: str) -> None:
    """Raise if a value, a list or something in a list is null."""
    import pyarrow as pa

    for chunk in column.chunks:
        part = chunk
        while True:
            if part.null_count:
                raise ValueError(f"column {name!r} lacks {part.null_count} values")
            if not (pa.types.is_list(part.type) or pa.types.is_large_list(part.type)):
                break
            part = part.flatten()
