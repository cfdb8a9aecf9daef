"""Arrays that grow in place, so that a result is never held twice."""

from __future__ import annotations

import tempfile
from hashlib import blake2b
from typing import BinaryIO

import numpy as np

__all__ = ["Growable", "MarginalPool", "Spill"]

# Numbers up to this size stay in memory.
SPILL_BYTES = 1 << 20


class Growable:
    """An array whose first axis grows.

    Parameters
    ----------
    dtype : dtype
    row : tuple of int
        Shape of an element.
    capacity : int
        Elements to make room for at once.
    """

    def __init__(self, dtype: type | np.dtype, row: tuple[int, ...] = (), capacity: int = 0) -> None:
        self._array = np.empty((capacity, *row), dtype)
        self._row = row
        self.size = 0

    def __len__(self) -> int:
        return self.size

    @property
    def array(self) -> np.ndarray:
        """What is filled so far: let go of it before the next `reserve`."""
        return self._array[: self.size]

    def reserve(self, count: int) -> np.ndarray:
        """Room for `count` more elements, to be filled at once: let go of it before the next `reserve`."""
        needed = self.size + count
        if needed > len(self._array):
            # Reallocating in place: joining pieces at the end would hold everything twice.
            self._array.resize(
                (max(needed, len(self._array) + len(self._array) // 32), *self._row), refcheck=False
            )
        self.size = needed
        return self._array[needed - count : needed]

    def append(self, elements: np.ndarray) -> None:
        """Add elements at the end."""
        self.reserve(len(elements))[...] = elements

    def finish(self) -> np.ndarray:
        """Give the array away, cut to its size."""
        self._array.resize((self.size, *self._row), refcheck=False)
        return self._array


class Spill:
    """Numbers that grow, on disk once they are many: in a temporary file without a name, mapped at the end.

    Cut points of narrow tables (few rows, many columns) outweigh the codes, and prediction needs those of a
    few features only.

    Parameters
    ----------
    dtype : dtype
    """

    def __init__(self, dtype: type | np.dtype) -> None:
        self.dtype = np.dtype(dtype)
        self._memory = Growable(dtype)
        self._file: BinaryIO | None = None

    def append(self, elements: np.ndarray) -> None:
        """Add numbers at the end."""
        if self._file is None:
            self._memory.append(elements)
            if self._memory.array.nbytes > SPILL_BYTES:
                self._move_to_disk()
        else:
            elements.astype(self.dtype, copy=False).tofile(self._file)

    def _move_to_disk(self) -> None:
        try:
            self._file = tempfile.TemporaryFile(prefix="raytpnn-")  # noqa: SIM115
        except OSError:
            return  # Nowhere to write: memory it is.
        self._memory.array.tofile(self._file)
        self._memory = Growable(self.dtype)

    def finish(self) -> np.ndarray:
        """Give the numbers away, read-only if they are on disk."""
        if self._file is None:
            return self._memory.finish()
        self._file.flush()
        mapped = np.memmap(self._file, self.dtype, mode="r")
        # The mapping outlives the file's handle.
        self._file.close()
        return mapped


class MarginalPool:
    """Marginals of features, each kept once: features with equal numbers of rows in their bins share one."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}
        self._last = (b"", -1)
        self.first = [0]
        self.value = Growable(np.float64)
        self.weight = Growable(np.float64)

    def number(self, counts: np.ndarray) -> int:
        """Find the number of the marginal with these numbers of rows per bin; it is added if it is new.

        Parameters
        ----------
        counts : (bins,) int64
        """
        raw = counts.tobytes()
        if raw == self._last[0]:
            return self._last[1]
        # A digest, not the counts: keeping them all would cost as much as the marginals.
        number = self._known.setdefault(blake2b(raw, digest_size=16).digest(), len(self._known))
        self._last = (raw, number)
        if number == len(self.first) - 1:
            total = counts.sum()
            middle = (np.cumsum(counts) - 0.5 * counts) / total
            self.value.append(np.array([0.0, 1.0]) if len(counts) == 2 else middle)
            self.weight.append(counts / total)
            self.first.append(len(self.value))
        return number
