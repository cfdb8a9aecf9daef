"""GEO series matrix files: sample lines become a table, the matrix is read a few megabytes at a time."""

from __future__ import annotations

import gzip
import io
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from raytpnn.data.encoding.buffers import Growable
from raytpnn.data.tables.series_matrix_start import BEGIN, END, GZIP
from raytpnn.data.tables.tables import quoted
from raytpnn.expression.sample_lines import sample_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_header", "read_series_matrix"]

# Text parsed at once: no burden on memory, and large enough for the parser to be fast.
BLOCK_BYTES = 1 << 20
LARGEST = float(np.finfo(np.float32).max)
MISSING = ("", "null", "NULL", "Null", "NA", "N/A", "n/a", "NaN", "nan", "-")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Bytes of a file, unpacked if it is gzip."""
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
        file.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=file) as unpacked, io.BufferedReader(unpacked, 1 << 20) as buffered:
                yield buffered
        else:
            yield file


class Lines:
    """Lines of a file, counted, with errors that name file and line.

    Parameters
    ----------
    file : binary file
    path : Path
        For messages.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file = file
        self.path = path
        self.number = 0

    def next(self) -> bytes:
        """Next line; empty at the end of the file."""
        lines = self.block(1)
        return lines[0] if lines else b""

    def block(self, size: int) -> list[bytes]:
        """Next lines, about `size` bytes; `number` is the number of the last one."""
        try:
            lines = self.file.readlines(size) if size > 1 else [self.file.readline()]
        except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
            raise ValueError(
                f"{str(self.path)!r} is damaged after line {self.number:,}: the gzip data end early or are "
                f"wrong ({problem}). Download it again"
            ) from None
        lines = [line for line in lines if line]
        self.number += len(lines)
        return lines

    def problem(self, line: int, text: str) -> ValueError:
        """Error about a line."""
        return ValueError(f"{str(self.path)!r}, line {line:,}: {text}")


def read_header(path: Path) -> tuple[pd.DataFrame, int]:
    """Sample table of a series matrix, and how many features it says it has (0 if it does not say).

    Reads no further than the names of the samples.
    """
    with opened(path) as file:
        _, samples, count = header_of(Lines(file, path))
    return samples, count


def header_of(lines: Lines) -> tuple[list[str], pd.DataFrame, int]:
    """Read up to the line with the sample ids: these, the sample table, the stated number of features."""
    found: list[tuple[int, str, list[str]]] = []
    while not (line := lines.next()).lower().startswith(BEGIN):
        if not line:
            raise ValueError(
                f"{str(lines.path)!r} ends at line {lines.number:,} without {BEGIN.decode()}: it is no "
                "series matrix, or only its beginning"
            )
        if line.startswith(b"!Sample_"):
            name, *cells = split(line)
            found.append((lines.number, name.removeprefix("!Sample_"), cells))
    ids = split(lines.next())[1:]
    if not ids:
        raise lines.problem(lines.number, "there are no sample ids where the matrix begins")
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise lines.problem(
            lines.number, f"sample ids must differ; {quoted(twice)} stands there more than once"
        )
    for number, name, cells in found:
        if len(cells) != len(ids):
            raise lines.problem(number, f"!Sample_{name} has {len(cells)} values for {len(ids)} samples")
    stated = next((cells for _, name, cells in found if name == "data_row_count"), ["0"])
    counts = [int(cell) for cell in stated if cell.isdigit()]
    return ids, sample_table([(name, cells) for _, name, cells in found], ids), max(counts, default=0)


def split(line: bytes) -> list[str]:
    """Cells of a line, without quotation marks."""
    cells = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
    return [cell.strip().removeprefix('"').removesuffix('"').strip() for cell in cells]


def read_series_matrix(path: Path) -> tuple[np.ndarray, list[str], pd.DataFrame]:
    """Read a series matrix.

    Parameters
    ----------
    path : Path
        Plain or gzip, recognised by content.

    Returns
    -------
    values : (n, p) float32
        Samples x features; each feature's values stand together in memory. NaN where a cell is empty or
        "null".
    feature_ids : list of p str
    samples : DataFrame
        One row per sample; see `raytpnn.expression.sample_lines`.

    Raises
    ------
    ValueError
        If the file is damaged, cut short or holds text in the matrix: the message names file and line.
    """
    with opened(path) as file:
        lines = Lines(file, path)
        ids, samples, count = header_of(lines)
        values = Growable(np.float32, (len(ids),), count)
        features: list[str] = []
        ended = False
        while not ended and (block := lines.block(BLOCK_BYTES)):
            first = lines.number - len(block) + 1
            end = next((i for i, line in enumerate(block) if line[:1] == b"!"), None)
            if end is not None:
                if not block[end].lower().startswith(END):
                    raise lines.problem(
                        first + end, f"{block[end][:40].decode('utf-8', 'replace')!r} within the matrix"
                    )
                block, ended = block[:end], True
            parse_block(lines, first, block, ids, features, values)
    if not ended:
        raise ValueError(
            f"{str(path)!r} ends at line {lines.number:,} without {END.decode()}, after {len(features):,} "
            "features: the file is cut short. Download it again"
        )
    if not features:
        raise ValueError(f"{str(path)!r} has an empty matrix: no line between begin and end of the table")
    return values.finish().T, features, samples


def parse_block(
    lines: Lines, first: int, block: list[bytes], ids: list[str], features: list[str], values: Growable
) -> None:
    """Parse lines of the matrix; the first has the number `first`."""
    kept = [line for line in block if line.strip()]
    for i, line in enumerate(block):
        if line.strip() and line.count(b"\t") != len(ids):
            cells = line.count(b"\t")
            raise lines.problem(first + i, f"it has {cells} values for {len(ids)} samples")
    if not kept:
        return
    # What float32 cannot hold becomes infinite, and is then refused by name.
    with np.errstate(over="ignore"):
        names, numbers = plain_numbers(kept, len(ids)) or numbers_and_gaps(lines, first, block, ids)
        target = values.reserve(len(names))
        target[...] = numbers
    features.extend(names)
    infinite = np.argwhere(np.isinf(target))
    if len(infinite):
        i, j = infinite[0]
        raise stray_cell(lines, first, block, ids, infinite=True) or ValueError(
            f"{str(lines.path)!r}: {names[i]} of {ids[j]} is infinite"
        )


def plain_numbers(lines: list[bytes], n: int) -> tuple[list[str], np.ndarray] | None:
    """Names and numbers of lines without a gap, (lines, n); None if there is anything but numbers."""
    cut = [line.partition(b"\t") for line in lines]
    with warnings.catch_warnings():
        # Told where the text is no number; older versions of NumPy then stop with what they have.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            numbers = np.fromstring(b" ".join(rest for _, _, rest in cut), sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    # Every line has n cells: a gap makes fewer numbers.
    if len(numbers) != len(lines) * n:
        return None
    return [split(name)[0] for name, _, _ in cut], numbers.reshape(len(lines), n)


def numbers_and_gaps(
    lines: Lines, first: int, block: list[bytes], ids: list[str]
) -> tuple[list[str], np.ndarray]:
    """Names and numbers of lines in which some cells may be missing, (lines, n)."""
    import pandas as pd

    numbers: Any = range(1, len(ids) + 1)
    try:
        frame = pd.read_csv(
            io.BytesIO(b"".join(line for line in block if line.strip())),
            sep="\t",
            header=None,
            names=range(len(ids) + 1),
            dtype=dict.fromkeys(numbers, np.float32) | {0: str},
            na_values=dict.fromkeys(numbers, MISSING),
            keep_default_na=False,
            skipinitialspace=True,
        )
    except ValueError as problem:
        # Some versions of pandas refuse what is too large, too.
        stray = stray_cell(lines, first, block, ids) or stray_cell(lines, first, block, ids, infinite=True)
        raise stray or ValueError(
            f"{str(lines.path)!r}, lines {first:,} to {first + len(block) - 1:,}: {problem}"
        ) from None
    return frame[0].str.strip().tolist(), frame.drop(columns=0).to_numpy(np.float32)


def stray_cell(
    lines: Lines, first: int, block: list[bytes], ids: list[str], infinite: bool = False
) -> ValueError | None:
    """Error that names the first cell that is no number, or that is infinite."""
    for i, line in enumerate(block):
        name, *cells = split(line)
        for sample, cell in zip(ids, cells, strict=False):
            if cell in MISSING:
                continue
            try:
                number = float(cell)
            except ValueError:
                return lines.problem(
                    first + i,
                    f"{name} of sample {sample} is {cell!r}, no number; empty or null means missing",
                )
            if infinite and not abs(number) <= LARGEST:
                return lines.problem(first + i, f"{name} of sample {sample} is {cell!r}; it must be finite")
    return None
