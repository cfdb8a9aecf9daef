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

from raytpnn.data.rows_io import TrainingRows, bins_of
from raytpnn.storage.errors import RunError

__all__ = ["read_shard", "stripe_checksums"]

CODES = "data/codes.npy"


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
    codes = some_codes(open_file(CODES), start, stop)
    if stripe_checksums(codes, bounds - start) != checksums:
        raise RunError(
            f"{CODES} of the run is damaged: rows {start} to {stop - 1} do not have the checksum of the "
            "manifest; restore it or fit again"
        )
    bins, proposal = bins_of(find, codes)
    y, weight, offset = some_rows(open_file("data/rows.parquet"), start, stop)
    return TrainingRows(bins, y, weight, offset, proposal)


def some_codes(source: Any, start: int, stop: int) -> np.ndarray:
    """Codes of rows start ... stop - 1, (p, stop - start): mapped from a path, or read from a file."""
    if isinstance(source, Path):
        return np.load(source, mmap_mode="r")[:, start:stop]
    with source as file:
        np.lib.format.read_magic(file)
        (p, n), _, dtype = np.lib.format.read_array_header_1_0(file)
        first = file.tell()
        codes = np.empty((p, stop - start), dtype)
        for j in range(p):
            file.seek(first + (j * n + start) * dtype.itemsize)
            codes[j] = np.frombuffer(file.read((stop - start) * dtype.itemsize), dtype)
    return codes


def some_rows(source: Any, start: int, stop: int) -> list[np.ndarray]:
    """Response, weights and offset of rows start ... stop - 1; row groups without any stay unread."""
    import pyarrow.parquet as pq

    # Pages have checksums of their own.
    file = pq.ParquetFile(source, page_checksum_verification=True)
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    ends = np.cumsum([0, *sizes])
    groups = [i for i in range(len(sizes)) if ends[i] < stop and ends[i + 1] > start]
    names = ["y", "sample_weight", "offset"]
    if not groups:
        return [np.zeros(0) for _ in names]
    table = file.read_row_groups(groups, columns=names).slice(start - int(ends[groups[0]]), stop - start)
    return [np.array(table[name].to_numpy(), np.float64) for name in names]
