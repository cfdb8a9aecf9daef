"""What a user gives as X, as a light column-wise view: nothing is copied before a column is asked for."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.tables.cells import NUMBER_KINDS, level_text, number_dtype, refuse_dates
from raytpnn.data.tables.openers import converted

if TYPE_CHECKING:
    from raytpnn.data.gene_symbols import Annotation
    from raytpnn.data.preparation import Preparation

__all__ = ["ArrayTable", "FrameTable", "Selection", "SparseTable", "Table", "as_table", "series_values"]


class Table(ABC):
    """Columns with names.

    Attributes
    ----------
    names : tuple of str
        Column names; "x0", "x1", ... for an array.
    named : bool
        Whether the user gave the names. Columns without names are matched by position.
    preparation : Preparation or None
        What was done to the values of expression data; an encoder does the same to new rows.
    annotation : Annotation or None
        Gene symbols of the columns.
    """

    names: tuple[str, ...]
    named: bool = True
    preparation: Preparation | None = None
    annotation: Annotation | None = None

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows n."""

    @property
    @abstractmethod
    def plain(self) -> np.ndarray:
        """Which columns hold numbers that `block` can read, (p,) bool."""

    @abstractmethod
    def column(self, i: int) -> np.ndarray:
        """Cells of column i, (n,): numbers, or objects. Declared categories come as str and None."""

    @abstractmethod
    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Several plain columns at once: a new (k, n) float32 or float64 array, NaN for missing."""

    def declared_levels(self, i: int) -> tuple[str, ...] | None:
        """Levels of a column that was declared as one of categories, in their order if that was declared.

        None: it was not declared. Empty: it was, without an order.
        """
        return None

    def select(self, columns: Sequence[int] | np.ndarray) -> Table:
        """View only some columns, in the order given; of a file, only these are read."""
        return Selection(self, columns)

    def index(self, name: str) -> int:
        """Position of a column.

        Raises
        ------
        KeyError
            If there is no column of that name.
        """
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(f"no column {name!r}; there are {quoted(self.names)}") from None

    def drop(self, names: Sequence[str]) -> Table:
        """View all columns but some."""
        unwanted = {self.index(name) for name in names}
        return self.select([i for i in range(len(self.names)) if i not in unwanted])


def quoted(names: Sequence[str], limit: int = 5) -> str:
    """First few names for a message: 'a', 'b' and 7 more."""
    text = ", ".join(repr(str(name)) for name in names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def unique_names(labels: Any) -> tuple[str, ...]:
    """Labels as text.

    Raises
    ------
    ValueError
        If two are equal.
    """
    names = tuple(str(label) for label in labels)
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise ValueError(
            f"column names must differ; more than one column is called {quoted(twice)}. Rename them"
        )
    return names


def as_slice(columns: Sequence[int] | np.ndarray) -> slice | np.ndarray:
    """Consecutive positions as a slice, which does not copy."""
    positions = np.asarray(columns, dtype=np.intp)
    if len(positions) and np.array_equal(positions, np.arange(positions[0], positions[0] + len(positions))):
        return slice(int(positions[0]), int(positions[-1]) + 1)
    return positions


class Selection(Table):
    """Some columns of another table, seen through it."""

    def __init__(self, parent: Table, columns: Sequence[int] | np.ndarray) -> None:
        self.parent = parent
        self.columns = np.asarray(columns, dtype=np.intp)
        whole = np.array_equal(self.columns, np.arange(len(parent.names)))
        self.names = parent.names if whole else tuple(parent.names[i] for i in self.columns)
        self.named = parent.named
        self.preparation, self.annotation = parent.preparation, parent.annotation

    @property
    def n_rows(self) -> int:
        """Number of rows of the parent."""
        return self.parent.n_rows

    @property
    def plain(self) -> np.ndarray:
        """As in the parent."""
        return self.parent.plain[self.columns]

    def column(self, i: int) -> np.ndarray:
        """Column of the parent."""
        return self.parent.column(int(self.columns[i]))

    def declared_levels(self, i: int) -> tuple[str, ...] | None:
        """As in the parent."""
        return self.parent.declared_levels(int(self.columns[i]))

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Columns of the parent."""
        return self.parent.block(self.columns[np.asarray(columns, dtype=np.intp)])


class PaddedTable(Table):
    """Columns of another table, some of which it does not have: they are numbers, missing in every row.

    Parameters
    ----------
    parent : Table
    names : sequence of p str
    columns : sequence of p int
        Positions in the parent; -1 if it does not have the column.
    """

    def __init__(self, parent: Table, names: Sequence[str], columns: Sequence[int]) -> None:
        self.parent, self.names = parent, tuple(names)
        self.columns = np.asarray(columns, dtype=np.intp)
        self.preparation, self.annotation = parent.preparation, parent.annotation

    @property
    def n_rows(self) -> int:
        """Number of rows of the parent."""
        return self.parent.n_rows

    @property
    def plain(self) -> np.ndarray:
        """As in the parent; what is not there is plain."""
        return np.where(self.columns < 0, True, self.parent.plain[np.maximum(self.columns, 0)])

    def column(self, i: int) -> np.ndarray:
        """Column of the parent, or missing cells."""
        place = int(self.columns[i])
        return np.full(self.n_rows, np.nan, np.float32) if place < 0 else self.parent.column(place)

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Columns of the parent, and missing cells."""
        places = self.columns[np.asarray(columns, dtype=np.intp)]
        there = np.flatnonzero(places >= 0)
        found = self.parent.block(places[there]) if len(there) else np.empty((0, self.n_rows), np.float32)
        block = np.full((len(places), self.n_rows), np.nan, found.dtype)
        block[there] = found
        return block


class ArrayTable(Table):
    """A 2-D NumPy array."""

    named = False

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.names = tuple(f"x{i}" for i in range(array.shape[1]))

    @property
    def n_rows(self) -> int:
        """Length of the first axis."""
        return int(self.array.shape[0])

    @property
    def plain(self) -> np.ndarray:
        """All columns or none."""
        return np.full(self.array.shape[1], self.array.dtype.kind in NUMBER_KINDS)

    def column(self, i: int) -> np.ndarray:
        """View of a column."""
        return self.array[:, i]

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Copy of some columns."""
        block: np.ndarray = np.empty((len(columns), self.n_rows), number_dtype(self.array.dtype))
        block[...] = self.array[:, as_slice(columns)].T
        return block


class SparseTable(Table):
    """A SciPy sparse matrix, made dense a few columns at a time; what it does not store is 0."""

    named = False

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix.tocsc()
        self.names = tuple(f"x{i}" for i in range(matrix.shape[1]))

    @property
    def n_rows(self) -> int:
        """Length of the first axis."""
        return int(self.matrix.shape[0])

    @property
    def plain(self) -> np.ndarray:
        """All columns or none."""
        return np.full(self.matrix.shape[1], self.matrix.dtype.kind in NUMBER_KINDS)

    def column(self, i: int) -> np.ndarray:
        """One column, dense."""
        return self.matrix[:, [i]].toarray().ravel()

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Make some columns dense."""
        dense = self.matrix[:, as_slice(columns)].toarray().T
        return np.array(dense, dtype=number_dtype(dense.dtype), order="C")


class FrameTable(Table):
    """A pandas DataFrame."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.names = unique_names(frame.columns)
        self.dtypes = list(frame.dtypes)
        self._plain = np.array(
            [isinstance(d, np.dtype) and d.kind in NUMBER_KINDS for d in self.dtypes], bool
        )

    @property
    def n_rows(self) -> int:
        """Length of the frame."""
        return len(self.frame)

    @property
    def plain(self) -> np.ndarray:
        """Columns of a NumPy number dtype."""
        return self._plain

    def column(self, i: int) -> np.ndarray:
        """Cells of a column of any dtype."""
        return series_values(self.frame.iloc[:, i], self.names[i])

    def declared_levels(self, i: int) -> tuple[str, ...] | None:
        """Categories of a column of the dtype "category"."""
        import pandas as pd

        dtype = self.dtypes[i]
        if not isinstance(dtype, pd.CategoricalDtype):
            return None
        return tuple(level_text(level) for level in dtype.categories) if dtype.ordered else ()

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Copy of some columns, in one piece where they share a dtype."""
        dtypes = {self.dtypes[i] for i in columns}
        narrow = all(number_dtype(dtype) is np.float32 for dtype in dtypes)
        block = np.empty((len(columns), self.n_rows), np.float32 if narrow else np.float64)
        part = self.frame.iloc[:, as_slice(columns)]
        if len(dtypes) == 1:
            block[...] = part.to_numpy().T
        else:
            for k in range(len(columns)):
                block[k] = part.iloc[:, k].to_numpy()
        return block


def series_values(series: Any, name: str) -> np.ndarray:
    """Cells of a pandas Series, (n,): numbers with NaN, or objects; categories as str and None.

    Raises
    ------
    TypeError
        If the dtype is one of dates, periods or intervals.
    """
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        if dtype.kind in "Mm":
            refuse_dates(name, dtype)
        return series.to_numpy()
    if isinstance(dtype, pd.CategoricalDtype):
        levels = [level_text(level) for level in dtype.categories]
        return np.array([*levels, None], dtype=object)[series.cat.codes.to_numpy()]
    if isinstance(dtype, (pd.DatetimeTZDtype, pd.PeriodDtype, pd.IntervalDtype)):
        refuse_dates(name, dtype)
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        from raytpnn.data.tables.arrow import arrow_values

        return arrow_values(pa.chunked_array(pa.array(series.array)), name)
    if isinstance(dtype, pd.StringDtype):
        return series.to_numpy(dtype=object, na_value=None)
    if isinstance(dtype, pd.SparseDtype):
        return np.asarray(series)
    if dtype.kind in NUMBER_KINDS:
        return series.to_numpy(dtype=np.float32 if dtype.name == "Float32" else np.float64, na_value=np.nan)
    return series.to_numpy(dtype=object)


def as_table(X: Any, columns: Sequence[str] | None = None) -> Table:
    """View what a user gives as a table.

    Parameters
    ----------
    X : DataFrame, 2-D array or list of rows, sparse matrix, Arrow table, AnnData, Expression, path or Table
        A path ends in .csv, .tsv (both also compressed: .gz, .bz2, .xz, .zst), .parquet, .pq, .feather or
        .arrow, or is one of expression data (see `raytpnn.read_expression`). Anything with
        `__arrow_c_stream__` (a Polars frame) counts as an Arrow table.
    columns : sequence of str, optional
        Keep only these, in this order; of a file only they are read.

    Returns
    -------
    Table

    Raises
    ------
    ValueError, TypeError
        If X is none of these, is not two-dimensional, or has no column or two of one name.
    KeyError
        If one of `columns` is not there.
    """
    table = _open(X)
    if not table.names:
        raise ValueError(f"X has 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required.")
    if columns is None:
        return table
    return table.select([table.index(name) for name in columns])


def _open(X: Any) -> Table:
    """`as_table` of all columns."""
    if isinstance(X, Table):
        return X
    X = converted(X)
    if hasattr(X, "as_table"):
        return X.as_table()
    if isinstance(X, (str, Path)):
        from raytpnn.data.tables.files import open_file

        return open_file(Path(X))
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return FrameTable(X)
    if pandas is not None and isinstance(X, pandas.Series):
        raise ValueError("X is a Series; give a table with one column: X.to_frame()")
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(X):
        return SparseTable(X)
    if hasattr(X, "collect") and not hasattr(X, "__arrow_c_stream__"):
        raise TypeError("X is a lazy frame, of which nothing is read yet; give X.collect()")
    if hasattr(X, "__arrow_c_stream__"):
        from raytpnn.data.tables.arrow import ArrowTable

        return ArrowTable.of(X)
    return ArrayTable(_as_array(X))


def _as_array(X: Any) -> np.ndarray:
    """Make a 2-D array."""
    if isinstance(X, (list, tuple)):
        array = np.asarray(X, dtype=object)
        # Lists of numbers become a number array; mixed text and numbers become an object array.
        if array.ndim == 2 and not any(isinstance(cell, str) for row in X for cell in row):
            array = np.asarray(X)
    else:
        array = np.asarray(X)
    if array.ndim != 2:
        what = f"an array of shape {array.shape}" if array.ndim else f"{type(X).__name__} {X!r}"
        raise ValueError(
            f"X must be a table with rows and columns, not {what}. Reshape your data with X.reshape(-1, 1) "
            "if it is one feature, X.reshape(1, -1) if it is one row"
        )
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X has the dtype {array.dtype}")
    return array
