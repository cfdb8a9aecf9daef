"""The response, the weights and the offset of a user, checked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from raytpnn.data.tables.cells import is_missing, is_number, numbers_or_text
from raytpnn.data.tables.tables import quoted, series_values
from raytpnn.families import Family

__all__ = ["Response", "as_offset", "as_response", "as_weights", "more_than_two"]


@dataclass(frozen=True)
class Response:
    """A checked response.

    Attributes
    ----------
    values : (n,) float64
        Finite; 0 and 1 for bernoulli; times that were cut short are negative.
    classes : tuple of values, or None
        What 0, 1, ... stand for, of families whose responses are classes: bool, int, float or str.
    name : str, optional
        What people call it.
    """

    values: np.ndarray
    classes: tuple[Any, ...] | None = None
    name: str | None = None


def as_response(y: Any, family: Family, n_rows: int) -> Response:
    """Check a response.

    Parameters
    ----------
    y : Series, array, list, Arrow array, a table with one column, or a Response
        For bernoulli any two numbers, truth values or strings; the larger is 1. A Response that was checked
        before, perhaps with its classes turned round, is taken as it is.
    family : Family
    n_rows : int
        Rows of X.

    Returns
    -------
    Response

    Raises
    ------
    ValueError
        If y is of another length, missing or infinite somewhere, not numeric, or impossible under the family:
        the message names the row and the value.
    """
    if isinstance(y, Response):
        refuse_length(len(y.values), n_rows)
        return y
    if family.censored:
        from raytpnn.data.survival import as_times

        times = as_times(y)
        refuse_length(len(times), n_rows)
        return Response(times)
    cells = one_column(y, "y")
    refuse_length(len(cells), n_rows)
    truth = cells.dtype.kind == "b" or (
        cells.dtype.kind == "O" and all(isinstance(cell, (bool, np.bool_)) for cell in cells)
    )
    numeric, values = numbers_or_text(cells, "y")
    missing = np.flatnonzero(is_missing(values))
    if len(missing):
        raise ValueError(
            f"y is missing in row {missing[0]} (NaN; {len(missing)} rows in all); leave these rows out"
        )
    if numeric:
        values = values.astype(np.float64)
        refuse_infinite_rows(values, "y")
    if family.binary:
        return two_classes(values, truth)
    if family.labelled:
        return several_classes(values, family)
    if not numeric:
        row = next((i for i, cell in enumerate(values) if not is_number(str(cell))), 0)
        raise ValueError(
            f"y holds the text {values[row]!r} in row {row}; family {family.name!r} needs numbers"
            " (two classes are for family 'bernoulli')"
        )
    problem = family.problem(values)
    if problem:
        raise ValueError(f"y does not suit family {family.name!r}: {problem}")
    refuse_constant(values)
    return Response(values)


def refuse_constant(values: np.ndarray) -> None:
    """Raise if every row has the same number: there is nothing to explain, and chains would agree on it."""
    if len(values) > 1 and np.all(values == values[0]):
        raise ValueError(
            f"y is {values[0]:g} in all {len(values):,} rows: there is nothing to learn. Give another "
            "target, or rows in which it differs"
        )


def refuse_length(length: int, n_rows: int) -> None:
    """Raise unless y has one value per row."""
    if length != n_rows:
        raise ValueError(f"X has {n_rows} rows, y has {length}")


def two_classes(values: np.ndarray, truth: bool) -> Response:
    """Map two classes to 0 and 1; `truth` says that the numbers are truth values."""
    found = labels_in(values, truth)
    if len(found) != 2:
        listed = quoted(found) if found and isinstance(found[0], str) else few(found)
        classes = "1 class" if len(found) == 1 else f"{len(found)} classes"
        advice = f"; {more_than_two(found)}" if len(found) > 2 else ""
        raise ValueError(
            f"family 'bernoulli' needs exactly two classes in y; found {classes}: {listed}{advice}"
        )
    return Response((values == found[1]).astype(np.float64), (found[0], found[1]))


def labels_in(values: np.ndarray, truth: bool = False) -> list[Any]:
    """Distinct labels in ascending order; `truth` says that the numbers are truth values."""
    if values.dtype.kind == "O":
        return sorted(set(values))
    return [bool(v) if truth else int(v) if v.is_integer() else float(v) for v in np.unique(values)]


def several_classes(values: np.ndarray, family: Family) -> Response:
    """Number the classes of a response in ascending order of their labels."""
    found = labels_in(values)
    if len(found) < 2:
        raise ValueError(
            f"family {family.name!r} needs two classes or more in y; found 1 class: {found[0]!r}"
        )
    _, number = np.unique(values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True)
    response = Response(number.astype(np.float64), tuple(found))
    family.with_classes(response.classes)
    return response


def more_than_two(found: Sequence[Any]) -> str:
    """What to do with a target of more than two classes."""
    from raytpnn.families import FAMILIES

    one = found[0]
    against = f"model one against the others: --positive {one}, or in Python y == {one!r}"
    if "multinomial" in FAMILIES:
        return f"family 'multinomial' models all of them; or {against}"
    return against


def few(found: list[Any], limit: int = 5) -> str:
    """First few values for a message."""
    text = ", ".join(str(value) for value in found[:limit])
    return text if len(found) <= limit else f"{text} and {len(found) - limit} more"


def as_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Check row weights: finite, 0 or more, all zeros included; 1 each if None.

    Returns
    -------
    (n,) float64
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weights = finite_numbers(sample_weight, "sample_weight", n_rows)
    negative = np.flatnonzero(weights < 0)
    if len(negative):
        raise ValueError(
            f"sample_weight is {weights[negative[0]]:g} in row {negative[0]}; weights must be 0 or more"
        )
    return weights


def as_offset(offset: Any, n_rows: int) -> np.ndarray:
    """Check offsets on the scale of the natural parameter: finite; 0 each if None.

    Returns
    -------
    (n,) float64
    """
    return np.zeros(n_rows) if offset is None else finite_numbers(offset, "offset", n_rows)


def finite_numbers(values: Any, what: str, n_rows: int) -> np.ndarray:
    """One finite number per row; a single number serves all rows."""
    if np.ndim(values) == 0 and not isinstance(values, str):
        values = np.full(n_rows, values)
    cells = one_column(values, what)
    if len(cells) != n_rows:
        raise ValueError(f"X has {n_rows} rows, {what} has {len(cells)}")
    numeric, numbers = numbers_or_text(cells, what)
    if not numeric:
        raise ValueError(f"{what} holds the text {numbers[0]!r} in row 0; it must be numbers")
    missing = np.flatnonzero(np.isnan(numbers))
    if len(missing):
        raise ValueError(f"{what} is missing (NaN) in row {missing[0]}; give every row a number")
    refuse_infinite_rows(numbers, what)
    return numbers.astype(np.float64)


def refuse_infinite_rows(values: np.ndarray, what: str) -> None:
    """Raise if a number is infinite, naming its row."""
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise ValueError(f"{what} is {values[infinite[0]]} in row {infinite[0]}; it must be finite")


def one_column(values: Any, what: str) -> np.ndarray:
    """Cells of whatever holds one column, (n,)."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(values, pandas.DataFrame):
        refuse_width(values.shape, what)
        return series_values(values.iloc[:, 0], what)
    if pandas is not None and isinstance(values, (pandas.Series, pandas.Index)):
        return series_values(pandas.Series(values), what)
    if pandas is not None and isinstance(values, pandas.api.extensions.ExtensionArray):
        return series_values(pandas.Series(values), what)
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(values, arrow.Table):
        refuse_width(values.shape, what)
        values = values.column(0)
    if arrow is not None and isinstance(values, (arrow.Array, arrow.ChunkedArray)):
        from raytpnn.data.tables.arrow import arrow_values

        return arrow_values(arrow.chunked_array(values) if isinstance(values, arrow.Array) else values, what)
    array = np.asarray(values)
    if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
        # NumPy would turn numbers beside text into text: the original cells show the mixture.
        array = np.asarray(values, dtype=object)
    if array.ndim == 2:
        refuse_width(array.shape, what)
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what} must be one column of values, not {type(values).__name__} {values!r:.60}")
    return array


def refuse_width(shape: tuple[int, ...], what: str) -> None:
    """Raise unless there is one column."""
    if shape[1] != 1:
        raise ValueError(f"{what} must be one column; its shape is {tuple(shape)}")
