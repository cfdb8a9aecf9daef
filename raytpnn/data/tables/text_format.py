"""How a text table is written: its encoding and its separator, found by looking and told to the user."""

from __future__ import annotations

import codecs
import csv
import io
import lzma
import warnings
from dataclasses import dataclass
from pathlib import Path

from raytpnn.data.tables.short_lines import opened

__all__ = ["TextFormat", "format_of"]

# Bytes looked at for the separator; the encoding is that of the whole file.
START_BYTES = 1 << 16
SEPARATOR_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
# How files begin that are no text, and what they are.
OTHER_FILES = {
    b"PK\x03\x04": "an Excel workbook or a zip archive; save the sheet as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as CSV",
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"\x1f\x8b": "packed with gzip; let its name end in .csv.gz",
    b"BZh": "packed with bzip2; let its name end in .csv.bz2",
    b"\xfd7zXZ": "packed with xz; let its name end in .csv.xz",
    b"(\xb5/\xfd": "packed with zstd; let its name end in .csv.zst",
    b"ARROW1": "a Feather file; let its name end in .feather",
    b"\x89HDF": "an HDF5 file; let its name end in .h5ad or .h5",
    b"%PDF": "a PDF; export the table as CSV",
    b"SQLite": "a database; export the table as CSV",
}


@dataclass(frozen=True)
class TextFormat:
    """How to read a text table.

    Attributes
    ----------
    encoding : str
        As Python calls it.
    separator : str
        Between the cells of a line.
    """

    encoding: str
    separator: str


def format_of(path: Path, expected: str) -> TextFormat:
    """Find out how a text table is written.

    Parameters
    ----------
    path : Path
    expected : str
        Separator that its ending promises.

    Raises
    ------
    ValueError
        If the file is no text; the message says what it is.

    Warns
    -----
    UserWarning
        If the encoding is not UTF-8 or the separator is not the expected one.
    """
    with opened(path) as file:
        start = file.read(START_BYTES)
    for magic, what in OTHER_FILES.items():
        if start.startswith(magic):
            raise ValueError(f"{str(path)!r} is no text table: it is {what}")
    if start.lstrip()[:15].lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise ValueError(f"{str(path)!r} is no text table: it is a web page or XML; export it as CSV")
    encoding = encoding_of(path, start)
    text = start.decode(encoding, "replace")
    separator = separator_of(text, expected)
    if separator != expected:
        names = SEPARATOR_NAMES
        warnings.warn(
            f"{str(path)!r} is separated by {names[separator]}, not by {names[expected]}: read so",
            stacklevel=6,
        )
    return TextFormat(encoding, separator)


def encoding_of(path: Path, start: bytes) -> str:
    """Encoding of a file; warns if it is not UTF-8."""
    if start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if start.startswith(mark):
            warnings.warn(f"{str(path)!r} is written in UTF-16: read so", stacklevel=7)
            return name
    if b"\0" in start:
        raise ValueError(
            f"{str(path)!r} holds zero bytes: it is no text, or UTF-16 without its mark. Save it as "
            "CSV in UTF-8"
        )
    bad = first_bad_line(path)
    if bad is None:
        return "utf-8"
    number, line = bad
    shown = line.decode("cp1252", "replace").strip()
    warnings.warn(
        f"{str(path)!r} is not UTF-8 (line {number:,}: {shown[:60]!r}): read as Windows-1252, which holds "
        "Latin-1. If letters look wrong, save the file as UTF-8",
        stacklevel=7,
    )
    return "cp1252"


def first_bad_line(path: Path) -> tuple[int, bytes] | None:
    """Number and bytes of the first line that is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with opened(path) as file:
            while block := file.read(1 << 20):
                decoder.decode(block)
            decoder.decode(b"", True)
        return None
    except UnicodeDecodeError:
        pass
    except (EOFError, OSError, lzma.LZMAError) as problem:
        raise ValueError(f"cannot read {str(path)!r}: {problem}") from None
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number, line
    return None


def separator_of(text: str, expected: str) -> str:
    """Separator of a table: the expected one if the first line has it, else that which it has most often."""
    lines = text.splitlines()[:20]
    if not lines:
        return expected
    counts = {mark: [cells_in(line, mark) for line in lines[:-1] or lines] for mark in SEPARATOR_NAMES}
    steady = {mark: c[0] for mark, c in counts.items() if c[0] > 1 and len(set(c)) == 1}
    if counts[expected][0] > 1 and (expected in steady or not steady):
        return expected
    if steady:
        return max(steady, key=lambda mark: steady[mark])
    if counts[expected][0] > 1:
        return expected
    first = {mark: c[0] for mark, c in counts.items() if c[0] > 1}
    return max(first, key=lambda mark: first[mark]) if first else expected


def cells_in(line: str, mark: str) -> int:
    """Cells of a line."""
    try:
        return len(next(csv.reader(io.StringIO(line), delimiter=mark), []))
    except csv.Error:
        return 0
