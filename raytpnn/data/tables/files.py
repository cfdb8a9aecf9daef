"""Tables in files: columns are read when they are asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from raytpnn.data.tables.arrow import ArrowTable, data_columns
from raytpnn.data.tables.openers import open_special
from raytpnn.data.tables.series_matrix_start import is_series_matrix
from raytpnn.data.tables.short_lines import first_odd_line
from raytpnn.data.tables.tables import FrameTable, Table, unique_names
from raytpnn.data.tables.text_format import TextFormat, format_of
from raytpnn.data.tables.text_numbers import MISSING_WORDS, meant_as_numbers

__all__ = ["FileTable", "ending_of", "is_expression_file", "open_file"]

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Columns of which a warning tells in full.
FEW_TOLD = 5
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
READABLE = (
    ".csv, .tsv (also with .gz, .bz2, .xz or .zst), .parquet, .pq, .feather, .arrow, .h5ad, or a GEO series "
    "matrix"
)


class FileTable(Table):
    """A file whose column names are known.

    Parameters
    ----------
    names : tuple of str
    read : callable
        Takes column positions, gives the table of these columns in memory.
    """

    def __init__(self, names: tuple[str, ...], read: Callable[[Sequence[int]], Table]) -> None:
        self.names = names
        self.read = read

    @cached_property
    def whole(self) -> Table:
        """Every column, read once."""
        return self.read(range(len(self.names)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.whole.n_rows

    @property
    def plain(self) -> np.ndarray:
        """Columns of numbers."""
        return self.whole.plain

    def column(self, i: int) -> np.ndarray:
        """Read one column."""
        return self.select([i]).column(0)

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Read some columns."""
        return self.whole.block(columns)

    def select(self, columns: Sequence[int] | np.ndarray) -> Table:
        """Read some columns into memory, unless all are there already."""
        # Without any column the number of rows is not known.
        if "whole" in self.__dict__ or not len(columns):
            return self.whole.select(columns)
        return self.read([int(i) for i in columns])


def ending_of(path: Path) -> str:
    """Ending of a file's name in lower case, without that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in COMPRESSED and suffixes[-2] in (*SEPARATORS, ".txt"):
        suffixes = suffixes[:-1]
    return suffixes[-1] if suffixes else ""


def is_expression_file(path: Path) -> bool:
    """Whether a file can only be expression data: AnnData, 10x, or by its content a GEO series matrix."""
    ending = ending_of(path)
    return ending in (".h5ad", ".h5") or (ending in ("", ".txt", ".tsv", ".gz") and is_series_matrix(path))


def open_file(path: Path) -> Table:
    """Open a table by the ending of its name.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the ending is unknown or the file cannot be read as what it says.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}" + (": it is a folder" if path.is_dir() else ""))
    ending = ending_of(path)
    table = open_special(path)
    if table is not None:
        return table
    try:
        if ending in SEPARATORS:
            return open_text(path, SEPARATORS[ending])
        if ending in (".parquet", ".pq"):
            return open_parquet(path)
        if ending in (".feather", ".arrow"):
            return open_feather(path)
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowInvalid) as problem:
        raise ValueError(f"cannot read {str(path)!r}: {problem}") from problem
    raise ValueError(f"{str(path)!r} has an unknown ending; give a file that ends in {READABLE}")


def open_text(path: Path, expected: str) -> Table:
    """Table with a header line, by pandas; how it is written is found by looking, and told."""
    import pandas as pd

    written = format_of(path, expected)
    separator = written.separator
    try:
        header = pd.read_csv(
            path,
            sep=separator,
            header=None,
            nrows=1,
            dtype=str,
            keep_default_na=False,
            encoding=written.encoding,
        )
    except pd.errors.EmptyDataError:
        raise ValueError(f"{str(path)!r} is empty; the first line must name the columns") from None
    labels = [str(label) for label in header.iloc[0]]
    # Row names as written by DataFrame.to_csv and R's write.csv have no name of their own.
    unnamed = labels[0] == "" and len(labels) > 1
    if unnamed:
        warnings.warn(
            f"the first column of {str(path)!r} has no name: taken as row names, left out", stacklevel=4
        )
    names = unique_names(named_columns(labels[1:] if unnamed else labels, path, 2 if unnamed else 1))
    if odd := first_odd_line(path, separator, len(labels), written.encoding):
        at_line = f"{str(path)!r}, line {odd.number:,}: it has {odd.cells} values for {len(labels)} columns"
        if odd.cells > len(labels):
            raise ValueError(
                f"{at_line}. Put cells that hold a separator in quotes, or name all columns in the first line"
            )
        if odd.broken_off:
            raise ValueError(f"{at_line}, and the file ends there: it is cut short")
        # Some programs leave out empty cells at the end of a line.
        warnings.warn(f"{at_line}; values that lines lack at their end count as missing", stacklevel=4)
    return FileTable(names, partial(read_text, path, written, names, int(unnamed)))


def named_columns(labels: Sequence[str], path: Path, first: int) -> list[str]:
    """Labels without blanks at their ends; a column without a name is called by its number."""
    names = []
    for number, label in enumerate(labels, first):
        name = label.strip()
        if not name:
            name = f"column {number}"
            warnings.warn(f"column {number} of {str(path)!r} has no name: called {name!r}", stacklevel=5)
        names.append(name)
    return names


def read_text(
    path: Path, written: TextFormat, names: tuple[str, ...], skipped: int, columns: Sequence[int]
) -> Table:
    """Parse some columns of a text file, the first of which may be left out."""
    import pandas as pd

    positions = [int(i) + skipped for i in columns]
    # With a choice of columns pandas would not notice lines that are too long.
    chosen = sorted(positions) if len(positions) < len(names) + skipped else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=written.separator,
                usecols=chosen,
                index_col=False,
                low_memory=False,
                encoding=written.encoding,
                keep_default_na=False,
                na_values=list(MISSING_WORDS),
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning, UnicodeDecodeError, EOFError) as problem:
        raise ValueError(f"cannot read {str(path)!r}: {problem}") from problem
    order = np.argsort(np.argsort(positions))
    if not np.array_equal(order, np.arange(len(order))):
        frame = frame.iloc[:, order]
    frame.columns = pd.Index([names[int(i)] for i in columns], dtype=object)
    return FrameTable(with_numbers(frame, path, written.separator))


def with_numbers(frame: Any, path: Path, separator: str) -> Any:
    """Frame in which columns of text that are meant as numbers are numbers; tells of them."""
    told = []
    for name in frame.columns:
        if frame[name].dtype.kind in "fiub":
            continue
        cells = frame[name].to_numpy(dtype=object)
        if not all(isinstance(cell, (str, float)) for cell in cells):
            continue
        numbers, said = meant_as_numbers(cells, str(name), separator)
        if numbers is not None:
            frame[name] = numbers
        if said:
            told.append(said)
    if told:
        more = f" and {len(told) - FEW_TOLD} more columns" if len(told) > FEW_TOLD else ""
        warnings.warn(f"{str(path)!r}: {'. '.join(told[:FEW_TOLD])}{more}", stacklevel=5)
    return frame


def open_parquet(path: Path) -> Table:
    """Parquet file."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    schema = file.schema_arrow
    labels = schema.names
    names = unique_names(labels[i] for i in data_columns(schema))
    return FileTable(names, partial(read_parquet, file, names))


def read_parquet(file: Any, names: tuple[str, ...], columns: Sequence[int]) -> Table:
    """Read some columns of a Parquet file."""
    wanted = [names[i] for i in columns]
    table = file.read(columns=wanted)
    # They come in file order, and "a" also fetches "a.b": pick them out.
    place = {name: k for k, name in enumerate(table.column_names)}
    return ArrowTable(table.select([place[name] for name in wanted]))


def open_feather(path: Path) -> Table:
    """Feather (Arrow IPC) file."""
    with pa.memory_map(str(path)) as source:
        schema = pa.ipc.open_file(source).schema
    keep, labels = data_columns(schema), schema.names
    return FileTable(unique_names(labels[i] for i in keep), partial(read_feather, path, keep))


def read_feather(path: Path, keep: list[int], columns: Sequence[int]) -> Table:
    """Read some columns of a Feather file, mapped into memory where they are not compressed."""
    wanted = [keep[i] for i in columns]
    # Arrow hands included fields over in file order.
    options = pa.ipc.IpcReadOptions(included_fields=sorted(wanted))
    table = pa.ipc.open_file(pa.memory_map(str(path)), options=options).read_all()
    place = {field: k for k, field in enumerate(sorted(wanted))}
    return ArrowTable(table.select([place[field] for field in wanted]))
