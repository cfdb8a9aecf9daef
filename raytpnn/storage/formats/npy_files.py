"""NumPy's .npy files of a run, checked before they are read or mapped into memory."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

import numpy as np

from raytpnn.storage.checks import named

__all__ = ["mapped_array", "npy_header"]

# Version 1.0; the length of the header, in two bytes, comes next.
MAGIC = b"\x93NUMPY\x01\x00"


def npy_header(file: Any, size: int) -> tuple[tuple[int, ...], np.dtype, int]:
    """Shape, type and first byte of an array, from the start of a file that has `size` bytes.

    Raises
    ------
    ValueError
        If it is not an array in C order of just that size, or holds Python objects.
    """
    start = file.read(len(MAGIC) + 2)
    if start[: len(MAGIC)] != MAGIC or len(start) < len(MAGIC) + 2:
        raise ValueError("it is not in version 1.0 of NumPy's format")
    length = int.from_bytes(start[len(MAGIC) :], "little")
    begin = len(start) + length
    # Not by NumPy's own reader: of a header that is no Python it raises errors of many kinds.
    try:
        header = ast.literal_eval(file.read(length).decode("latin1").strip())
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        header = None
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise ValueError("its header does not describe an array")
    shape, dtype = header["shape"], np.lib.format.descr_to_dtype(header["descr"])
    plain = isinstance(shape, tuple) and all(type(extent) is int and extent >= 0 for extent in shape)
    if not plain or header["fortran_order"] is not False or dtype.hasobject:
        raise ValueError(f"it holds an array of type {dtype} and shape {shape!r:.60} that cannot be used")
    wanted = begin + math.prod(shape) * dtype.itemsize
    if wanted != size:
        raise ValueError(f"its array of shape {shape} and type {dtype} takes {wanted} bytes, it has {size}")
    return shape, dtype, begin


def mapped_array(path: Path, file: str) -> np.ndarray:
    """Array of a file, mapped into memory; RunError, naming it `file`, if it cannot be used."""
    with named(file):
        with path.open("rb") as opened:
            shape, dtype, begin = npy_header(opened, path.stat().st_size)
        if 0 in shape:
            return np.zeros(shape, dtype)
        return np.memmap(path, dtype, "r", begin, shape)
