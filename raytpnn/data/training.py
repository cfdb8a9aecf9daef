"""What a model is fitted to, as a user names it: the table, streamed if it is large, and columns of it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from raytpnn.data.encoding.bins import Bins
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.tables.openers import converted
from raytpnn.data.tables.streamed_table import StreamedTable
from raytpnn.data.tables.tables import Table, as_table
from raytpnn.storage.places.atomic_files import part_name

__all__ = ["RoomForCodes", "available_memory", "fit_training", "training_columns", "training_table"]

PARQUET = (".parquet", ".pq")
# A table is streamed if reading it at once would take more than this share of the memory that is free.
MEMORY_SHARE = 0.5


def available_memory() -> int | None:
    """Bytes that this process can still take, None if that is not known: of the machine, or its container."""
    known = []
    try:
        words = Path("/proc/meminfo").read_text().split()
        known.append(1024 * int(words[words.index("MemAvailable:") + 1]))
    except (OSError, ValueError):
        with suppress(OSError, ValueError, AttributeError):
            known.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            most, now = (int((Path("/sys/fs/cgroup") / name).read_text()) for name in (limit, used))
        except (OSError, ValueError):
            continue
        known.append(max(most - now, 0))
    return min(known, default=None)


def training_table(X: Any, streaming: bool | None = None) -> Table:
    """Table to fit to.

    Parameters
    ----------
    X : as for `raytpnn.data.tables.tables.as_table`, or a folder of Parquet files
    streaming : bool, optional
        Whether the rows of Parquet files are read a batch at a time, twice, instead of all at once. If not
        given: when they would take more than half of the free memory. A folder is always streamed.

    Raises
    ------
    ValueError
        If something else than Parquet files is to be streamed.
    """
    if streaming not in (None, True, False):
        raise ValueError(f"streaming must be True, False or None, got {streaming!r}")
    if isinstance(X, StreamedTable):
        return X
    path = Path(X) if isinstance(X, (str, os.PathLike)) else None
    if path is not None and streaming is not False and (path.is_dir() or path.suffix.lower() in PARQUET):
        table = StreamedTable.open(path)
        free = available_memory()
        if streaming or path.is_dir() or (free and table.bytes_in_memory() > MEMORY_SHARE * free):
            return table
    if streaming:
        what = f"{str(path)!r}" if path is not None else type(X).__name__
        raise ValueError(
            f"streaming=True is for Parquet files: give the path of one or of a folder, not {what}"
        )
    return as_table(X)


def training_columns(X: Any, *columns: Any, streaming: bool | None = None) -> tuple[Any, ...]:
    """Table to fit to, without the columns that are given by their names, and these.

    Parameters
    ----------
    X : as for `training_table`
    *columns
        y, sample_weight, offset: values, or the name of a column of X; of expression data, of its table of
        samples.
    streaming : bool, optional
        As for `training_table`.

    Returns
    -------
    Table, and what each of `columns` holds

    Raises
    ------
    ValueError
        If there is no column of that name, or no other column is left.
    """
    X = converted(X)
    columns = tuple(of_samples(X, column) for column in columns)
    table = training_table(X, streaming)
    named = [name for name in columns if isinstance(name, str)]
    try:
        rest = table.drop(named) if named else table
        found = tuple(table.column(table.index(it)) if isinstance(it, str) else it for it in columns)
    except KeyError as problem:
        raise ValueError(f"X has {problem.args[0]}") from None
    if not rest.names:
        raise ValueError(f"X has no column left beside {', '.join(map(repr, named))}")
    return rest, *found


def of_samples(X: Any, column: Any) -> Any:
    """Column of the table of samples (`obs` of AnnData) that comes with expression data, if it is one."""
    samples: Any = getattr(X, "samples", None)
    if isinstance(column, str) and hasattr(samples, "columns") and column in samples.columns:
        return samples[column].to_numpy()
    return column


class RoomForCodes:
    """Where the codes of a streamed table go until a run takes them over: a file that is gone at the end.

    What is mapped from the file stays readable.

    Parameters
    ----------
    beside : Path or None
        A folder: the file is then in it, so that it need only be renamed to its place. None: where
        temporary files are.
    """

    def __init__(self, beside: Path | None) -> None:
        self.beside = beside
        self.folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> RoomForCodes:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    @property
    def path(self) -> Path | None:
        """The file, if one was asked for."""
        return None if self.folder is None else Path(self.folder.name) / "codes.npy"

    def make(self) -> Path:
        """Path of the file to write."""
        if self.beside is None:
            self.folder = TemporaryDirectory(prefix="raytpnn-")
        else:
            self.beside.mkdir(parents=True, exist_ok=True)
            # A name that says whose it is, so that what a killed process leaves can be removed.
            first, last = part_name("codes").rsplit(".", 1)
            self.folder = TemporaryDirectory(prefix=first, suffix=f".{last}", dir=self.beside)
        return Path(self.folder.name) / "codes.npy"

    def close(self) -> None:
        """Remove the file, unless it was moved."""
        if self.folder is not None:
            self.folder.cleanup()


def fit_training(
    table: Table, max_bins: int, missing_indicators: bool, room: RoomForCodes, executor: str
) -> tuple[Encoder, Bins]:
    """Encode a table; codes of a streamed one go to a file."""
    if isinstance(table, StreamedTable):
        return Encoder.fit_parquet(table, max_bins, missing_indicators, room.make(), executor)
    return Encoder.fit(table, max_bins, missing_indicators)
