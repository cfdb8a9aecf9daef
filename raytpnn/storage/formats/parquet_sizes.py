"""How much memory a Parquet file will take, from its own words, before Arrow is given it.

A few kilobytes of Parquet can stand for any number of values, and Arrow's Python layer ends the process when
it is asked for the sizes in a footer that contradicts itself. So the footer and the headers of pages are read
here: they are in Thrift's compact protocol, of which this is as much as is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["check_sizes"]

MAGIC = b"PAR1"
MOST_DEPTH = 16
# A header of a page holds statistics, which are not longer than this.
HEADER_BYTES = 1 << 16
# Numbers of fields, as parquet.thrift has them.
SCHEMA, NUM_ROWS, ROW_GROUPS = 2, 3, 4
NAME = 4
COLUMNS, ROWS_OF_GROUP = 1, 3
FILE_PATH, META_DATA = 1, 3
PATH, NUM_VALUES, UNCOMPRESSED, COMPRESSED, DATA_OFFSET, DICTIONARY_OFFSET = 3, 5, 6, 7, 9, 11
PAGE_UNCOMPRESSED, PAGE_COMPRESSED = 2, 3
# Of a page of data, of a dictionary, and of data in version 2: where their number of values stands.
PAGE_KINDS = (5, 7, 8)

Reader = Callable[[int, int], bytes]


class Compact:
    """Values in Thrift's compact protocol.

    Parameters
    ----------
    data : bytes
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        """Next byte."""
        if self.at >= len(self.data):
            raise ValueError("its description of itself breaks off")
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        """A number of 64 bits at most, seven in a byte."""
        number = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a number in its description of itself is too long")

    def whole(self) -> int:
        """A number with a sign."""
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def skipped(self, size: int) -> bytes:
        """Next bytes."""
        if not 0 <= size <= len(self.data) - self.at:
            raise ValueError("its description of itself breaks off")
        self.at += size
        return self.data[self.at - size : self.at]

    def value(self, kind: int, depth: int) -> Any:
        """A value of a kind."""
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.whole()
        if kind == 7:
            return self.skipped(8)
        if kind == 8:
            return self.skipped(self.varint())
        if kind in (9, 10):
            return self.items(depth)
        if kind == 12:
            return self.struct(depth)
        raise ValueError(f"its description of itself has a value of kind {kind}")

    def items(self, depth: int) -> list[Any]:
        """A list."""
        start = self.byte()
        size, kind = start >> 4, start & 15
        size = self.varint() if size == 15 else size
        if size > len(self.data) - self.at:
            raise ValueError("a list in its description of itself is too long")
        if kind in (1, 2):
            return [self.byte() == 1 for _ in range(size)]
        return [self.value(kind, depth) for _ in range(size)]

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Values by the numbers of their fields."""
        if depth > MOST_DEPTH:
            raise ValueError("its description of itself is nested too deeply")
        found: dict[int, Any] = {}
        number = 0
        while start := self.byte():
            number = number + (start >> 4) if start >> 4 else self.whole()
            found[number] = self.value(start & 15, depth + 1)
        return found


def field(held: Any, number: int, kind: type) -> Any:
    """Field of a struct that must be there, of a kind."""
    if not isinstance(held, dict) or type(held.get(number)) is not kind:
        raise ValueError(f"field {number} of its description of itself is missing or of another kind")
    return held[number]


def count(held: Any, number: int) -> int:
    """Field of a struct that must be a number from 0 on."""
    found = int(field(held, number, int))
    if found < 0:
        raise ValueError(f"field {number} of its description of itself is {found}")
    return found


def check_sizes(
    read: Reader,
    size: int,
    wanted: Mapping[str, str],
    most_rows: int,
    most_bytes: int,
    in_pages: bool = True,
) -> set[str]:
    """Raise ValueError if a file has too many rows or would take too much memory; the names in its schema.

    Parameters
    ----------
    read : callable
        Gives the bytes of the file from one position on, as many as are asked for or there are.
    size : int
        Of the file.
    wanted : mapping
        Columns that are to be read.
    most_rows, most_bytes : int
    in_pages : bool
        Look at the header of every page too, which of a large remote file takes many requests.
    """
    end = read(max(size - 8, 0), 8)
    length = int.from_bytes(end[:4], "little")
    if len(end) != 8 or end[4:] != MAGIC or length > size - 12:
        raise ValueError("it is no Parquet file, or breaks off")
    last = size - 8 - length
    footer = Compact(read(last, length)).struct()
    rows = count(footer, NUM_ROWS)
    if rows > most_rows:
        raise ValueError(f"it has {rows:,} rows, more than {most_rows:,}")
    total = 0
    groups = field(footer, ROW_GROUPS, list)
    if sum(count(group, ROWS_OF_GROUP) for group in groups) != rows:
        raise ValueError(f"it has {rows:,} rows, but its parts have others")
    for group in groups:
        for chunk in field(group, COLUMNS, list):
            meta = field(chunk, META_DATA, dict)
            path = field(meta, PATH, list)
            if not path or not isinstance(path[0], bytes) or path[0].decode("utf-8", "replace") not in wanted:
                continue
            if FILE_PATH in chunk:
                raise ValueError("a column of it is in another file")
            total += max(count(meta, UNCOMPRESSED), 8 * count(meta, NUM_VALUES))
            if total > most_bytes:
                raise ValueError(f"it would take more than {most_bytes:,} bytes of memory")
            if in_pages:
                check_pages(read, last, meta)
    return {field(part, NAME, bytes).decode("utf-8", "replace") for part in field(footer, SCHEMA, list)}


def check_pages(read: Reader, last: int, meta: dict[int, Any]) -> None:
    """Raise ValueError unless the pages of a column are no larger than the column, and lie before `last`."""
    values, uncompressed = count(meta, NUM_VALUES), count(meta, UNCOMPRESSED)
    begin = count(meta, DATA_OFFSET)
    if 0 < meta.get(DICTIONARY_OFFSET, 0) < begin:
        begin = count(meta, DICTIONARY_OFFSET)
    end = begin + count(meta, COMPRESSED)
    if begin < len(MAGIC) or end > last:
        raise ValueError("a column of it lies outside the file")
    for header in pages(read, begin, end):
        if count(header, PAGE_UNCOMPRESSED) > uncompressed:
            raise ValueError("a page of it says that it is larger than its column")
        details = [header[kind] for kind in PAGE_KINDS if kind in header]
        if any(count(page, 1) > max(values, uncompressed) for page in details):
            raise ValueError("a page of it says that it has more values than its column")


def pages(read: Reader, begin: int, end: int) -> Iterator[dict[int, Any]]:
    """Headers of the pages between two positions."""
    while begin < end:
        compact = Compact(read(begin, min(HEADER_BYTES, end - begin)))
        header = compact.struct()
        begin += compact.at + count(header, PAGE_COMPRESSED)
        if begin > end:
            raise ValueError("a page of it goes on beyond its column")
        yield header
