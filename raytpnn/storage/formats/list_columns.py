"""List columns of Arrow tables as flat NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["combined", "numbers", "starts"]


def combined(table: pa.Table, name: str) -> pa.ListArray:
    """List column as one array."""
    import pyarrow as pa

    column = table[name].combine_chunks()
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def starts(lists: pa.ListArray) -> np.ndarray:
    """Where lists start in their values, and the end, from 0: int64."""
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0] if len(offsets) else np.zeros(1, np.int64)


def numbers(values: pa.Array, dtype: type) -> np.ndarray:
    """Values as a NumPy array of our own, writable."""
    return np.array(values.to_numpy(zero_copy_only=False), dtype)
