"""Lines of a text table that have fewer or more cells than the header."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

__all__ = ["OddLine", "first_odd_line", "first_short_line", "opened"]


BLOCK_BYTES = 1 << 20


class OddLine(NamedTuple):
    """A line with too few or too many cells: its number, its cells, and whether the file breaks off in it."""

    number: int
    cells: int
    broken_off: bool


def first_short_line(path: Path, separator: str, width: int) -> OddLine | None:
    """Find the first line with fewer than `width` cells, blank ones aside; None if there is none."""
    return first_odd_line(path, separator, width, longer=False)


def first_odd_line(
    path: Path, separator: str, width: int, encoding: str = "utf-8", longer: bool = True
) -> OddLine | None:
    """Find the first line with fewer than `width` cells, or more if `longer`, blank ones aside.

    Separators are counted, which is far faster than parsing: in all of the file, and line by line if the sum
    is not what it should be or there are quotes. Lines where the count is wrong, or that end within quotes,
    are parsed, since cells in quotes may hold separators and ends of lines.

    Raises
    ------
    ValueError
        If the file cannot be unpacked to its end.
    """
    mark = separator.encode()
    try:
        with recoded(path, encoding) as file:
            if surely_whole(file, mark, width):
                return None
        with recoded(path, encoding) as file:
            lines = enumerate(file, 1)
            next(lines, None)
            for number, line in lines:
                whole = line.count(b'"') % 2 == 0
                if (whole and line.count(mark) == width - 1) or not line.strip():
                    continue
                rest = (later for _, later in lines)
                text = (part.decode("utf-8", "replace") for part in chain([line], rest))
                cells = len(next(csv.reader(text, delimiter=separator)))
                if cells < width or (longer and cells > width):
                    return OddLine(number, cells, not line.endswith(b"\n"))
    except (EOFError, OSError, lzma.LZMAError) as problem:
        raise ValueError(f"cannot read {str(path)!r}: {problem}") from None
    except csv.Error:
        # Of lines that no parser takes the reader complains itself.
        return None
    return None


def surely_whole(file: BinaryIO, mark: bytes, width: int) -> bool:
    """Whether there are no quotes and as many separators as so many lines should have.

    One that is too short may hide behind one that is too long, which readers of all columns refuse.
    """
    lines, marks, block = 0, 0, b"\n"
    while read := file.read(BLOCK_BYTES):
        block = read
        if b'"' in block:
            return False
        lines += block.count(b"\n")
        marks += block.count(mark)
    lines += not block.endswith(b"\n")
    return marks == lines * (width - 1)


def recoded(path: Path, encoding: str) -> BinaryIO:
    """Bytes of a file as UTF-8, where a byte may be looked for."""
    if not encoding.startswith("utf-16"):
        return opened(path)
    return io.BytesIO(opened(path).read().decode(encoding).encode())


def opened(path: Path) -> BinaryIO:
    """Bytes of a file, unpacked as its ending says."""
    openers: dict[str, Callable[..., Any]] = {
        ".gz": gzip.open,
        ".bz2": bz2.open,
        ".xz": lzma.open,
        ".zst": open_zstd,
    }
    return openers.get(path.suffix.lower(), open)(path, "rb")


def open_zstd(path: Path, mode: str) -> BinaryIO:
    """Open a file packed with Zstandard."""
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(str(path), compression="zstd"))
