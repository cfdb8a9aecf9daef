"""Expression matrices in CSV, TSV, Parquet or Feather files, features or samples as rows, read in chunks."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.encoding.buffers import Growable
from raytpnn.data.tables.files import ending_of
from raytpnn.data.tables.short_lines import first_short_line
from raytpnn.data.tables.tables import quoted
from raytpnn.expression.sample_lines import as_cells
from raytpnn.expression.sample_sheet import SampleSheet
from raytpnn.expression.series_matrix import opened

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Matrix", "read_matrix"]

# Cells of a chunk: 4 MB as float64.
CHUNK_CELLS = 1 << 19
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
# What the first column of a matrix is called when it names the rows.
ID_NAMES = (
    *("", "feature_id", "id_ref", "id", "probe_id", "probe", "probeset_id", "gene", "gene_id", "gene_symbol"),
    *("symbol", "name", "sample", "sample_id", "barcode", "cell", "index", "unnamed: 0"),
)


@dataclass
class Matrix:
    """A matrix as it stands in a file.

    Attributes
    ----------
    values : (n, p) float32
        Samples x features.
    feature_ids : list of p str
    samples : DataFrame
        One row per sample.
    notes : list of str
    """

    values: np.ndarray
    feature_ids: list[str]
    samples: pd.DataFrame
    notes: list[str]


def read_matrix(path: Path, sheet: SampleSheet | None, orientation: str) -> Matrix:
    """Read a matrix.

    Parameters
    ----------
    path : Path
    sheet : SampleSheet, optional
        Decides which side the samples are on, by their ids.
    orientation : {"auto", "features", "samples"}
        What the rows are. Without a sheet, "auto" takes a table with text beside its first column, or with
        more columns than rows, for samples as rows.

    Raises
    ------
    ValueError
        If a cell is no number or ids repeat: the message names file, line and cell. If a line has too few.
    """
    header = header_of(path)
    if ending_of(path) in SEPARATORS and (
        short := first_short_line(path, SEPARATORS[ending_of(path)], len(header))
    ):
        raise ValueError(
            f"{str(path)!r}, line {short.number:,}: it has {short.cells} values for {len(header)} columns"
            + ", and the file ends there: it is cut short" * short.broken_off
        )
    rows = RowReader(path, header)
    # The ids of a table whose rows are samples are known only when it is read.
    by_feature = orientation == "features"
    if orientation == "auto" and sheet is not None:
        by_feature = sheet.overlap(header[1:])[0] > 0
    elif orientation == "auto":
        by_feature = rows.looks_like_features()
    matrix = rows.features_as_rows(sheet) if by_feature else rows.samples_as_rows(sheet)
    if orientation == "auto" and sheet is None:
        what = "features" if by_feature else "samples"
        matrix.notes.append(f"rows of {path.name} are taken for {what}")
    return matrix


def header_of(path: Path) -> list[str]:
    """Names of the columns, the one that names the rows among them."""
    if ending_of(path) not in SEPARATORS:
        return [str(name) for name in next(table_chunks(path)).columns]
    try:
        with opened(path) as file:
            first, second = (file.readline().decode("utf-8-sig", "replace") for _ in range(2))
    except (EOFError, OSError) as problem:
        raise ValueError(f"cannot read {str(path)!r}: {problem}") from None
    separator = SEPARATORS[ending_of(path)]
    names, cells = (next(csv.reader([line], delimiter=separator), []) for line in (first, second))
    if not names or not cells:
        raise ValueError(f"{str(path)!r} is no matrix: it has fewer than two lines")
    # R's write.table gives row names no name.
    return ["", *names] if len(cells) == len(names) + 1 else names


def table_chunks(path: Path) -> Iterator[Any]:
    """Row chunks of a Parquet or Feather file as DataFrames; a saved index becomes the first column."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if ending_of(path) in (".parquet", ".pq"):
            file = pq.ParquetFile(path)
            size = max(1, CHUNK_CELLS // max(len(file.schema_arrow.names), 1))
            batches: Iterator[Any] = file.iter_batches(size)
        else:
            batches = iter(pa.ipc.open_file(pa.memory_map(str(path))).read_all().to_batches(CHUNK_CELLS))
        for batch in batches:
            frame = pa.Table.from_batches([batch]).to_pandas()
            yield frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()
    except (OSError, pa.ArrowInvalid) as problem:
        raise ValueError(f"cannot read {str(path)!r}: {problem}") from None


class RowReader:
    """Reads the rows of a matrix file in chunks.

    Parameters
    ----------
    path : Path
    header : list of str
        Names of all columns.
    """

    def __init__(self, path: Path, header: list[str]) -> None:
        self.path = path
        self.header = header
        self.text = ending_of(path) in SEPARATORS

    def chunks(self, rows: int | None = None) -> Iterator[Any]:
        """Give DataFrames of some rows each, columns by number."""
        import pandas as pd

        if not self.text:
            for frame in table_chunks(self.path):
                frame.columns = range(len(self.header))
                yield frame
            return
        try:
            reader = pd.read_csv(
                self.path,
                sep=SEPARATORS[ending_of(self.path)],
                header=None,
                skiprows=1,
                names=range(len(self.header)),
                dtype={0: str},
                index_col=False,
                low_memory=False,
                chunksize=rows or max(1, CHUNK_CELLS // len(self.header)),
                keep_default_na=True,
                na_values=["null", "Null"],
            )
            with reader:
                yield from reader
        except (pd.errors.ParserError, EOFError, gzip.BadGzipFile, UnicodeDecodeError) as problem:
            raise ValueError(f"cannot read {str(self.path)!r}: {problem}") from None

    def line(self, row: int) -> str:
        """Say where a row stands."""
        return f"line {row + 2:,}" if self.text else f"row {row:,}"

    def looks_like_features(self) -> bool:
        """Guess from the first rows whether rows are features."""
        first = next(self.chunks(200))
        if any(first[j].dtype.kind not in "fiub" for j in range(1, len(self.header))):
            return False
        if not self.names_rows(first):
            return False
        if len(first) > len(self.header):
            return True
        return sum(len(chunk) for chunk in self.chunks()) >= len(self.header) - 1

    def names_rows(self, first: Any) -> bool:
        """Whether the first column names the rows."""
        return self.header[0].strip().lower() in ID_NAMES or first[0].dtype.kind not in "fiub"

    def numbers(self, chunk: Any, columns: list[int], start: int, ids: list[str]) -> np.ndarray:
        """Some columns of a chunk as float32; an error names the first cell that is none."""
        block = np.empty((len(chunk), len(columns)), np.float32)
        for k, j in enumerate(columns):
            cells = chunk[j]
            try:
                block[:, k] = cells.to_numpy(np.float32, na_value=np.nan)
            except (ValueError, TypeError):
                row = next(i for i, cell in enumerate(cells.tolist()) if not is_number(cell))
                raise ValueError(
                    f"{str(self.path)!r}, {self.line(start + row)}: {ids[row]!r} of column "
                    f"{self.header[j]!r} is {cells.iloc[row]!r}, no number"
                ) from None
        if np.isinf(block).any():
            row, k = np.argwhere(np.isinf(block))[0]
            raise ValueError(
                f"{str(self.path)!r}, {self.line(start + row)}: {ids[row]!r} of column "
                f"{self.header[columns[k]]!r} is infinite"
            )
        return block

    def features_as_rows(self, sheet: SampleSheet | None) -> Matrix:
        """Read a matrix with one row per feature."""
        import pandas as pd

        columns, names = list(range(1, len(self.header))), self.header[1:]
        first = next(self.chunks(200))
        known = set() if sheet is None else set(sheet.frame[sheet.overlap(names)[1]])
        beside = [j for j in columns if first[j].dtype.kind not in "fiub" and self.header[j] not in known]
        # A column of text all through the first rows is about the features, unless the sheet knows it.
        beside = [j for j in beside if not any(is_number(cell) for cell in first[j].tolist())]
        columns = [j for j in columns if j not in beside]
        names = [self.header[j] for j in columns]
        refuse_repeated(names, f"{str(self.path)!r}, line 1: sample ids")
        notes = [f"columns of text left out: {quoted([self.header[j] for j in beside])}"] if beside else []
        samples = pd.DataFrame(index=pd.Index(names, name="sample"))
        if sheet is not None:
            samples, there, remarks = sheet.align(names)
            notes += remarks
            columns = [j for j, kept in zip(columns, there, strict=True) if kept]
        values, ids = Growable(np.float32, (len(columns),)), list[str]()
        for chunk in self.chunks():
            own = [str(name).strip() for name in chunk[0].tolist()]
            values.append(self.numbers(chunk, columns, len(ids), own))
            ids += own
        return Matrix(values.finish().T, ids, samples, notes)

    def samples_as_rows(self, sheet: SampleSheet | None) -> Matrix:
        """Read a matrix with one row per sample; text columns describe the samples."""
        import pandas as pd

        first = next(self.chunks(200))
        named = self.names_rows(first)
        columns = list(range(int(named), len(self.header)))
        text = [j for j in columns if first[j].dtype.kind not in "fiub" and not first[j].isna().all()]
        text = [j for j in text if not any(is_number(cell) for cell in first[j].tolist())]
        columns = [j for j in columns if j not in text]
        values, ids = Growable(np.float32, (len(columns),)), list[str]()
        beside: dict[str, list[Any]] = {self.header[j]: [] for j in text}
        for chunk in self.chunks():
            own = [str(cell).strip() for cell in chunk[0].tolist()] if named else []
            own = own or [str(len(ids) + i) for i in range(len(chunk))]
            values.append(self.numbers(chunk, columns, len(ids), own))
            ids += own
            for j in text:
                beside[self.header[j]] += ["" if pd.isna(cell) else cell for cell in chunk[j].tolist()]
        refuse_repeated(ids, f"{str(self.path)!r}: sample ids")
        samples = pd.DataFrame(
            {name: as_cells(cells) for name, cells in beside.items()}, index=pd.Index(ids, name="sample")
        )
        matrix = Matrix(values.finish(), [self.header[j] for j in columns], samples, [])
        if sheet is not None:
            table, there, matrix.notes = sheet.align(ids, self.header[1:])
            matrix.values = matrix.values if there.all() else matrix.values[there]
            matrix.samples = table.join(samples[[name for name in samples if name not in table]])
        return matrix


def is_number(cell: Any) -> bool:
    """Whether a cell is a number, written or not, or missing."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return cell is None
    return True


def refuse_repeated(ids: list[str], what: str) -> None:
    """Raise if two samples have one id."""
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = [name for name in ids if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        raise ValueError(
            f"{what} must differ; {quoted(list(dict.fromkeys(twice)))} stands there more than once"
        )
