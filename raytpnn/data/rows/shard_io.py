"""Training rows of one shard: only its own rows are read, wherever the run lies.

Codes of a feature lie side by side, so that a shard's rows are one piece of the file a feature. Checksums are
of stripes, which shards own whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from raytpnn.data.rows.rows_check import check_codes_array
from raytpnn.data.rows.rows_io import (
    BYTES_OF_ROW,
    CODES,
    ROW_COLUMNS,
    ROWS,
    TrainingRows,
    bins_of,
    row_arrays,
)
from raytpnn.storage.checks import named
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.manifest_check import MOST_ROWS
from raytpnn.storage.formats.npy_files import mapped_array, npy_header
from raytpnn.storage.formats.parquet_files import check_kind, reader_of, refuse_missing
from raytpnn.storage.formats.parquet_sizes import check_sizes

__all__ = ["read_shard", "stripe_checksums"]

# Groups of rows are read whole.
MOST_ROWS_OF_GROUP = 1 << 22


def stripe_checksum(codes: np.ndarray) -> str:
    """SHA-256 of the codes of some rows, (p, rows), feature after feature."""
    digest = hashlib.sha256()
    for column in codes:
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()


def stripe_checksums(codes: np.ndarray, starts: np.ndarray) -> list[str]:
    """Checksum of every stripe of the codes, (p, n); `starts` are their first rows and n."""
    return [stripe_checksum(codes[:, a:b]) for a, b in pairwise(starts)]


def read_shard(
    find: Callable[[str], Path],
    open_file: Callable[[str], Any],
    bounds: np.ndarray,
    checksums: list[str],
) -> TrainingRows:
    """Read the rows of some stripes.

    Parameters
    ----------
    find
        Gives the local path of a small file of the run, verified.
    open_file
        Gives a path, or a file that can be read anywhere, of a large one.
    bounds : (stripes + 1,) int64
        First rows of the shard's stripes, and where the last one ends.
    checksums : list of str
        Of the codes of these stripes.
    """
    start, stop = int(bounds[0]), int(bounds[-1])
    with named(f"{CODES} of the run"):
        codes = some_codes(open_file(CODES), start, stop)
    if stripe_checksums(codes, bounds - start) != checksums:
        raise RunError(
            f"{CODES} of the run is damaged: rows {start} to {stop - 1} do not have the checksum of the "
            "manifest; restore it or fit again"
        )
    bins, proposal = bins_of(find, codes)
    with named(f"{ROWS} of the run"):
        table = some_rows(open_file(ROWS), start, stop)
    y, weight, offset = row_arrays(table, stop - start)
    return TrainingRows(bins, y, weight, offset, proposal)


def some_codes(source: Any, start: int, stop: int) -> np.ndarray:
    """Codes of rows start ... stop - 1, (p, stop - start): mapped from a path, or read from a file."""
    if isinstance(source, Path):
        codes = mapped_array(source, source.name)
        check_codes_array(codes.shape, codes.dtype, None)
        check_bounds(codes.shape[1], stop)
        return codes[:, start:stop]
    with source as file:
        shape, dtype, first = npy_header(file, file.size())
        check_codes_array(shape, dtype, None)
        p, n = shape
        check_bounds(n, stop)
        codes = np.empty((p, stop - start), dtype)
        for j in range(p):
            file.seek(first + (j * n + start) * dtype.itemsize)
            codes[j] = np.frombuffer(file.read((stop - start) * dtype.itemsize), dtype)
    return codes


def check_bounds(n: int, stop: int) -> None:
    """Raise ValueError if there are fewer rows than are asked for."""
    if stop > n:
        raise ValueError(f"it has {n} rows, row {stop - 1} is asked for")


def some_rows(source: Any, start: int, stop: int) -> Any:
    """Table with rows start ... stop - 1 only; row groups without any stay unread."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = pa.OSFile(str(source)) if isinstance(source, Path) else source
    kinds = dict.fromkeys(ROW_COLUMNS, "number")
    check_sizes(reader_of(stream), stream.size(), kinds, MOST_ROWS, BYTES_OF_ROW * MOST_ROWS, in_pages=False)
    stream.seek(0)
    # Pages have checksums of their own.
    file = pq.ParquetFile(stream, page_checksum_verification=True)
    for name, kind in kinds.items():
        check_kind(file.schema_arrow, name, kind)
    check_bounds(file.metadata.num_rows, stop)
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    if max(sizes, default=0) > MOST_ROWS_OF_GROUP:
        raise ValueError(f"it has {max(sizes):,} rows in a group, more than {MOST_ROWS_OF_GROUP:,}")
    ends = np.cumsum([0, *sizes])
    groups = [i for i in range(len(sizes)) if ends[i] < stop and ends[i + 1] > start]
    if not groups or start == stop:
        return pa.table({name: np.zeros(0) for name in ROW_COLUMNS})
    table = file.read_row_groups(groups, columns=list(ROW_COLUMNS))
    for name in ROW_COLUMNS:
        refuse_missing(table[name], name)
    return table.slice(start - int(ends[groups[0]]), stop - start)
