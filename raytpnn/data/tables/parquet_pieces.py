"""Parquet files cut into pieces of neighbouring row groups, and a piece read in batches of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["Piece", "open_parquet", "parquet_files", "pieces", "read_batches"]

# What a column's pages are read through: without it a row group's whole column is held, compressed.
BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class Piece:
    """Neighbouring row groups of one Parquet file.

    Attributes
    ----------
    path : Path
    first, last : int
        Row groups first ... last - 1.
    start : int
        Rows before the piece, in this file and in those before it.
    rows : int
        Rows of the piece.
    """

    path: Path
    first: int
    last: int
    start: int = field(default=0, compare=False)
    rows: int = field(default=0, compare=False)


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


def open_parquet(path: Path, **options: Any) -> pq.ParquetFile:
    """Parquet file, or an error that names it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, **options)
    except pa.ArrowInvalid as problem:
        raise ValueError(f"cannot read {str(path)!r} as Parquet: {problem}") from None


def pieces(files: Sequence[Path], batch_rows: int) -> list[Piece]:
    """Cut files into pieces of at least `batch_rows` rows, where there are as many: no batch is then small.

    Where pieces begin depends on the files and on `batch_rows` alone, not on who reads them.
    """
    cut: list[Piece] = []
    start = 0
    for path in files:
        with open_parquet(path) as file:
            first, rows = 0, 0
            for group in range(file.num_row_groups):
                rows += file.metadata.row_group(group).num_rows
                if rows >= batch_rows or (rows and group == file.num_row_groups - 1):
                    cut.append(Piece(path, first, group + 1, start, rows))
                    first, start, rows = group + 1, start + rows, 0
    return cut


def read_batches(piece: Piece, names: Sequence[str], batch_rows: int) -> Iterator[tuple[int, pa.Table]]:
    """Some columns of a piece: tables of at most `batch_rows` rows, each with the number of its first row.

    Raises
    ------
    ValueError
        If the file is damaged, naming it, or has changed since it was cut into pieces.
    """
    import pyarrow as pa

    row = piece.start
    try:
        with open_parquet(piece.path, buffer_size=BUFFER_BYTES, page_checksum_verification=True) as file:
            groups = list(range(piece.first, piece.last))
            # One thread: several pieces are read at the same time.
            read = file.iter_batches(batch_rows, row_groups=groups, columns=list(names), use_threads=False)
            for batch in read:
                if batch.num_rows:
                    table = pa.Table.from_batches([batch])
                    # They come in file order, and "a" also fetches "a.b": pick them out.
                    place = {name: k for k, name in enumerate(table.column_names)}
                    yield row, table.select([place[name] for name in names])
                    row += batch.num_rows
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
        groups_read = f"row groups {piece.first} to {piece.last - 1}"
        raise ValueError(f"cannot read {groups_read} of {str(piece.path)!r}: {problem}") from None
    if row != piece.start + piece.rows:
        raise ValueError(f"{str(piece.path)!r} changed while it was read: try again")
