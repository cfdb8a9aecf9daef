"""The file of codes, written in any order and then mapped into memory."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

import numpy as np

__all__ = ["CodesFile"]


class CodesFile:
    """A .npy file of (p, n) codes that is filled block by block.

    Blocks are written, not mapped: memory does not grow with what is written, and a full disk is an error
    that can be reported.

    Parameters
    ----------
    path : Path
    dtype : dtype
    shape : tuple of int
        (p, n).
    """

    def __init__(self, path: Path, dtype: np.dtype, shape: tuple[int, int]) -> None:
        self.path = path
        self.dtype = np.dtype(dtype)
        self.shape = shape
        mapped = np.lib.format.open_memmap(path, mode="w+", dtype=self.dtype, shape=shape)
        self.begin = int(mapped.offset)
        del mapped
        self.handle = os.open(path, os.O_WRONLY)

    def __enter__(self) -> CodesFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.handle)

    def write(self, feature: int, row: int, codes: np.ndarray) -> None:
        """Write (k, m) codes of features feature ... feature + k - 1 and rows row ... row + m - 1."""
        for j, line in enumerate(np.ascontiguousarray(codes, self.dtype)):
            place = self.begin + ((feature + j) * self.shape[1] + row) * self.dtype.itemsize
            rest = memoryview(line).cast("B")
            while rest:
                written = os.pwrite(self.handle, rest, place)
                rest, place = rest[written:], place + written

    def mapped(self) -> np.ndarray:
        """The codes, read-only."""
        return np.load(self.path, mmap_mode="r")
