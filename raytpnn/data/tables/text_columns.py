"""Columns of text meant otherwise: numbers with a stray cell, dates, levels that differ by a blank."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from raytpnn.data.tables.cells import is_number, refuse_dates

__all__ = ["judge_levels", "judge_text"]

DATE = re.compile(
    r"\s*([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{4}|[0-9]{2})"
    r"|[0-9]{1,2}[- ][A-Za-z]{3}[a-z]*[- ][0-9]{2,4})([T ][0-9]{1,2}:[0-9]{2}.*)?\s*"
)
# A column most of whose cells are numbers, with more different values than this, is one of numbers.
MOST_NUMBER_LEVELS = 20
MOSTLY = 0.5
# With fewer different values it may hold codes, such as 0, 1, 2 and 3+: told if so many rows hold numbers.
NEARLY_ALL = 0.7


def judge_text(cells: np.ndarray, name: str) -> None:
    """Refuse a text column that is one of numbers or dates but for some cells; tell of odd levels.

    Parameters
    ----------
    cells : (n,) object
        Text and None.
    name : str

    Raises
    ------
    ValueError, TypeError
        Naming column, row, value and what to do.
    """
    import pandas as pd

    place, found = pd.factorize(cells, use_na_sentinel=True)
    counts = np.bincount(place[place >= 0], minlength=len(found)).tolist()
    levels = [str(level) for level in found]
    judge_levels(
        name,
        dict(zip(levels, counts, strict=True)),
        lambda level: int(np.argmax(place == levels.index(level))),
    )


def judge_levels(name: str, counts: Mapping[str, int], first_row: Callable[[str], int]) -> None:
    """`judge_text` of levels and their numbers of rows; `first_row` finds the first row of a level."""
    present = sum(counts.values())
    if not present:
        return
    dates = [level for level in counts if DATE.fullmatch(level)]
    if sum(counts[level] for level in dates) > MOSTLY * present:
        refuse_dates(name, f"text such as {dates[0]!r} in row {first_row(dates[0])}")
    numbers = [level for level in counts if is_number(level)]
    stray = [level for level in counts if not is_number(level)]
    share = sum(counts[level] for level in numbers) / present
    if stray and share > MOSTLY and len(numbers) > MOST_NUMBER_LEVELS:
        refuse_stray(name, stray, first_row(stray[0]), counts)
    if stray and share > NEARLY_ALL:
        warnings.warn(
            f"column {name!r} holds numbers and the text {stray[0]!r} in row {first_row(stray[0])}: its "
            f"{len(counts)} different values count as levels. Leave such cells empty if they mean missing",
            stacklevel=6,
        )
    tell_alike(name, list(counts))


def refuse_stray(name: str, stray: Sequence[str], row: int, counts: Mapping[str, int]) -> None:
    """Raise: a column of numbers holds text."""
    rows = sum(counts[level] for level in stray)
    more = f", and {rows - 1:,} more cell(s) like it" if rows > 1 else ""
    raise ValueError(
        f"column {name!r} holds numbers, but row {row} holds {stray[0]!r}{more}. Correct such cells, or "
        f"leave them empty, which means missing; in Python: pandas.to_numeric(X[{name!r}], errors='coerce'). "
        f"If the column names kinds of things, declare it: X[{name!r}].astype('category')"
    )


def tell_alike(name: str, levels: Sequence[str]) -> None:
    """Warn of levels that differ only by case or blanks."""
    seen: dict[str, str] = {}
    for level in levels:
        key = " ".join(level.split()).casefold()
        if key in seen:
            warnings.warn(
                f"column {name!r} has the levels {seen[key]!r} and {level!r}, which differ only by case or "
                "blanks: they count as two; write them alike if they are one",
                stacklevel=7,
            )
            return
        seen[key] = level
