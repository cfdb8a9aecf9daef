"""Whether a file is a GEO series matrix, by its first line: such a file is not read as a plain table."""

from __future__ import annotations

import zlib
from pathlib import Path

__all__ = ["BEGIN", "END", "GZIP", "is_series_matrix"]

BEGIN, END = b"!series_matrix_table_begin", b"!series_matrix_table_end"
GZIP = b"\x1f\x8b"
FIRST_WORDS = (b"!Series_", b"!Sample_", BEGIN)


def is_series_matrix(path: Path) -> bool:
    """Whether the first line that is not blank is one of a series matrix."""
    with path.open("rb") as file:
        start = file.read(1 << 14)
    if start[:2] == GZIP:
        try:
            # As far as it goes: whether the file is whole shows when it is read.
            start = zlib.decompressobj(31).decompress(start, 4096)
        except zlib.error:
            return False
    return start.lstrip().startswith(FIRST_WORDS)
