"""Writing predictions: Parquet or text, a piece at a time, complete or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

__all__ = ["WRITABLE", "write_tables"]

SEPARATORS = {".csv": ",", ".tsv": "\t"}
WRITABLE = (".parquet", ".pq", *SEPARATORS)


def write_tables(tables: Iterator[pa.Table], out: Path) -> int:
    """Write tables of one schema one after the other, replacing a file; gives the number of rows."""
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_name(f".{out.name}.{uuid.uuid4().hex}.part")
    writer, rows = None, 0
    try:
        for table in tables:
            if writer is None:
                schema = table.schema
                writer = open_writer(beside, schema, out.suffix.lower())
            # Later tables may differ in what is said about their columns, not in these.
            writer.write_table(pa.Table.from_arrays(table.columns, schema=schema))
            rows += table.num_rows
        if writer is not None:
            writer.close()
            os.replace(beside, out)
    finally:
        if writer is not None:
            writer.close()
        beside.unlink(missing_ok=True)
    return rows


def open_writer(path: Path, schema: pa.Schema, ending: str) -> Any:
    """Writer of a file of the kind that the ending says."""
    if ending in SEPARATORS:
        return TextWriter(path, SEPARATORS[ending])
    import pyarrow.parquet as pq

    return pq.ParquetWriter(path, schema, compression="zstd")


class TextWriter:
    """Writes tables to a text file, with the names of the columns in the first line.

    Parameters
    ----------
    path : Path
    separator : str
        Between two cells.
    """

    def __init__(self, path: Path, separator: str) -> None:
        self.file = path.open("w", encoding="utf-8", newline="")
        self.separator = separator
        self.header = True

    def write_table(self, table: pa.Table) -> None:
        """Append rows."""
        table.to_pandas().to_csv(self.file, sep=self.separator, index=False, header=self.header)
        self.header = False

    def close(self) -> None:
        """End the file."""
        self.file.close()
