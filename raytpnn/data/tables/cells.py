"""The cells of one column: are they numbers or text, which are missing, what cannot be encoded."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

__all__ = [
    "as_numbers",
    "as_text",
    "is_missing",
    "is_number",
    "level_text",
    "numbers_or_text",
    "refuse_infinite",
]

NUMBER_KINDS = "fiub"
NARROW_KINDS = ("float32", "float16", "bool", "int8", "uint8", "int16", "uint16")
NUMBERS = ("floating", "integer", "mixed-integer-float", "decimal", "boolean", "empty")
DATES = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period", "interval")


def number_dtype(dtype: np.dtype) -> type:
    """float32 where that holds every value of the dtype, else float64."""
    return np.float32 if dtype.name in NARROW_KINDS else np.float64


def refuse_dates(name: str, dtype: Any) -> None:
    """Raise: dates are not numbers."""
    raise TypeError(
        f"column {name!r} holds dates or times ({dtype}); turn it into a number first, for example the days "
        f"since the first one: (X[{name!r}] - X[{name!r}].min()).dt.days"
    )


def refuse_cell(name: str, row: int, value: Any) -> None:
    """Raise an error for a cell that is neither a number nor text."""
    raise TypeError(
        f"column {name!r} holds {value!r} of type {type(value).__name__} in row {row}: a cell given as "
        "argument must be a string or a number"
    )


def is_missing(values: np.ndarray) -> np.ndarray:
    """Which cells are NaN, None, NaT or NA, (n,) bool."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "iubU":
        return np.zeros(len(values), bool)
    import pandas as pd

    return np.asarray(pd.isna(values))


def level_text(value: Any) -> str:
    """Name of a category: unchanged text; 1 and 1.0 both become "1"."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, float, np.integer, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def is_number(text: str) -> bool:
    """Whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def numbers_or_text(values: np.ndarray, name: str) -> tuple[bool, np.ndarray]:
    """Whether a column holds numbers, and its cells.

    Parameters
    ----------
    values : (n,) array
        Any dtype; an object column is judged by what is in it.
    name : str
        For error messages.

    Returns
    -------
    numeric : bool
    cells : (n,) float32 or float64 with NaN for missing, or (n,) object of str and None

    Raises
    ------
    ValueError
        If numbers and text are mixed, naming one of each.
    TypeError
        If there are dates or anything else that is neither number nor text.
    """
    kind = values.dtype.kind
    if kind in NUMBER_KINDS:
        return True, values.astype(number_dtype(values.dtype), copy=False)
    if kind == "U":
        return False, values.astype(object)
    if kind in "Mm":
        refuse_dates(name, values.dtype)
    if kind == "c":
        raise ValueError(
            f"column {name!r}: Complex data not supported; split it into real and imaginary parts"
        )
    if kind != "O":
        raise TypeError(f"column {name!r} has the dtype {values.dtype}; give numbers or text")
    return judge_objects(values, name)


def judge_objects(values: np.ndarray, name: str) -> tuple[bool, np.ndarray]:
    """`numbers_or_text` of an object column."""
    import pandas as pd

    found = pd.api.types.infer_dtype(values, skipna=True)
    present = np.flatnonzero(~is_missing(values))
    if found == "string":
        return False, blank_missing(values, present)
    if found in DATES and len(present):
        refuse_dates(name, type(values[present[0]]).__name__)
    text = number = -1
    if found not in NUMBERS:
        for row in present:
            cell = values[row]
            if isinstance(cell, str):
                text = int(row) if text < 0 else text
            elif isinstance(cell, (Number, np.bool_)) and not isinstance(cell, (complex, np.complexfloating)):
                number = int(row) if number < 0 else number
            else:
                refuse_cell(name, int(row), cell)
        if text >= 0 and number >= 0:
            raise ValueError(
                f"column {name!r} mixes numbers and text: {values[number]!r} in row {number}, "
                f"{values[text]!r} in row {text}. Make it all text with X[{name!r}].astype(str), or all "
                f"numbers with pandas.to_numeric(X[{name!r}], errors='coerce'), which makes the text missing"
            )
    if text >= 0:
        return False, blank_missing(values, present)
    numbers = np.full(len(values), np.nan)
    numbers[present] = values[present].astype(np.float64)
    return True, numbers


def blank_missing(values: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Text with None for every kind of missing."""
    if len(present) == len(values):
        return values
    cells = np.full(len(values), None, dtype=object)
    cells[present] = values[present]
    return cells


def as_numbers(values: np.ndarray, name: str) -> np.ndarray:
    """Cells of a column that held numbers in training, (n,) float.

    Raises
    ------
    ValueError
        If there is text, naming the column, the row and the value.
    """
    numeric, cells = numbers_or_text(values, name)
    if not numeric:
        present = np.flatnonzero(~is_missing(cells))
        if len(present):
            row = int(present[0])
            raise ValueError(
                f"column {name!r} held numbers in training; here row {row} holds the text {cells[row]!r}. "
                f"Convert it with pandas.to_numeric(X[{name!r}])"
            )
        return np.full(len(cells), np.nan)
    return cells


def as_text(values: np.ndarray, name: str) -> np.ndarray:
    """Cells of a column that held categories in training, (n,) of str and None; numbers become text."""
    numeric, cells = numbers_or_text(values, name)
    if not numeric:
        return cells
    boolean = values.dtype.kind == "b"
    distinct, place = np.unique(cells, return_inverse=True)
    names = [None if np.isnan(v) else level_text(bool(v) if boolean else v) for v in distinct]
    return np.array([*names, None], dtype=object)[place]


def refuse_infinite(x: np.ndarray, names: Sequence[str], first_row: int = 0) -> None:
    """Raise if a block holds an infinite number.

    Parameters
    ----------
    x : (k, n) float
    names : sequence of k str
    first_row : int
        Number of the block's first row.

    Raises
    ------
    ValueError
        Naming the column, the row and the value.
    """
    infinite = np.isinf(x)
    if infinite.any():
        j, row = (int(i) for i in np.argwhere(infinite)[0])
        raise ValueError(
            f"column {names[j]!r} is {x[j, row]} in row {first_row + row}; X must be finite. Use NaN for a "
            "missing value"
        )
