"""Columns of text in text tables that are meant as numbers: converted where that is sure, and told.

pandas takes a column with "1,5", "$1,200" or "?" as text. If every cell of it is a number in one way of
writing, it becomes one of numbers; what is left as text is judged by `raytpnn.data.tables.text_columns`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from raytpnn.data.tables.cells import is_missing, is_number

__all__ = ["MISSING_WORDS", "NOTHING_WORDS", "meant_as_numbers", "written_numbers"]

# Cells that are missing in every column.
MISSING_WORDS = ("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "NaN", "nan", "-NaN", "-nan", "<NA>", "#NA")
# Cells that are missing among numbers; among text they are levels.
NOTHING_WORDS = (
    "none",
    "null",
    "unknown",
    "not available",
    "missing",
    "-",
    "--",
    ".",
    "?",
    "na",
    "n.a.",
    "nil",
)
GROUPED = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?")
# One to three digits, not 0 alone, and groups of three: 1,200 may be either.
EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")
COMMA = re.compile(r"[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)?,[0-9]+([eE][+-]?[0-9]+)?")
SPACED = re.compile(r"[+-]?[0-9]{1,3}([  '’ ][0-9]{3})+([.,][0-9]+)?")
MONEY = re.compile(r"^([+-]?)\s*(?:[$€£¥]|USD|EUR|GBP|CHF)\s*|\s*(?:[$€£¥]|USD|EUR|GBP|CHF)$")


class Unsure(ValueError):
    """A column of which it is not sure what its commas mean."""


def bare(text: str) -> tuple[str, str]:
    """Text without a sign of money or percent, and what was taken away."""
    text = text.strip()
    if text.endswith("%"):
        return text[:-1].strip(), "percent"
    shorn = MONEY.sub(r"\1", text)
    return (shorn, "money") if shorn != text else (text, "")


def written_numbers(texts: Sequence[str], separator: str) -> tuple[np.ndarray, list[str]] | None:
    """Numbers that texts are, and the ways in which they are written; None if one of them is no number.

    Parameters
    ----------
    texts : sequence of n str
    separator : str
        Of the file: in one separated by commas a comma in a cell marks thousands.

    Returns
    -------
    numbers : (n,) float64
    ways : list of str

    Raises
    ------
    Unsure
        If commas may mark thousands or decimals.
    """
    stripped = [bare(text) for text in texts]
    ways = sorted({way for _, way in stripped if way})
    bodies = [body for body, _ in stripped]
    with_comma = [body for body in bodies if "," in body and not SPACED.fullmatch(body)]
    comma = ""
    if with_comma:
        if all(GROUPED.fullmatch(body) for body in with_comma):
            comma = "thousands"
            if separator != "," and all(EITHER.fullmatch(body) for body in with_comma):
                plain = [body for body in bodies if "," not in body and "." in body]
                if not plain:
                    raise Unsure(with_comma[0])
        elif separator != "," or all(COMMA.fullmatch(body) for body in with_comma):
            comma = "decimal"
        else:
            return None
        ways.append("commas before thousands" if comma == "thousands" else "decimal commas")
    if any(SPACED.fullmatch(body) for body in bodies):
        ways.append("gaps before thousands")
    numbers = np.empty(len(bodies))
    for i, body in enumerate(bodies):
        value = number_of(body, comma)
        if value is None:
            return None
        numbers[i] = value
    return numbers, ways


def number_of(body: str, comma: str) -> float | None:
    """Number that a text is if its commas mean this; None if it is none."""
    if SPACED.fullmatch(body):
        body = re.sub(r"[  '’ ]", "", body).replace(",", ".")
    elif "," in body:
        if comma == "decimal" and COMMA.fullmatch(body):
            body = body.replace(".", "").replace(",", ".")
        elif comma == "thousands" and GROUPED.fullmatch(body):
            body = body.replace(",", "")
        else:
            return None
    return float(body) if is_number(body) else None


def meant_as_numbers(cells: np.ndarray, name: str, separator: str) -> tuple[np.ndarray | None, str | None]:
    """A text column of a file as numbers, if all that is known of it is numbers, and what to tell of it.

    Parameters
    ----------
    cells : (n,) object
        Text and missing cells.
    name : str
    separator : str
        Of the file.

    Returns
    -------
    numbers : (n,) float64, or None if it stays text
    told : str or None

    Raises
    ------
    ValueError
        If it is not sure what its commas mean: the message names column, row and value.
    """
    if not len(cells):
        return None, None
    present = ~is_missing(cells)
    words = np.array(
        [
            known and str(cell).strip().lower() in NOTHING_WORDS
            for cell, known in zip(cells, present, strict=True)
        ]
    )
    rows = np.flatnonzero(present & ~words)
    if not len(rows):
        return None, None
    try:
        found = written_numbers([str(cells[row]) for row in rows], separator)
    except Unsure as problem:
        row = next(int(row) for row in rows if bare(str(cells[row]))[0] == str(problem))
        raise ValueError(
            f"column {name!r} holds {cells[row]!r} in row {row}, which may mean thousands or a decimal "
            "comma, and no other cell of it tells; write its numbers without separators of thousands and "
            "with a decimal point"
        ) from None
    if found is None:
        marks = sorted({str(cells[row]).strip() for row in np.flatnonzero(words)})
        told = f"{name!r}: {quoted_words(marks)} counts as a level; leave cells empty that are not known"
        return None, told if marks else None
    numbers = np.full(len(cells), np.nan)
    numbers[rows], ways = found
    said = [f"numbers with {' and '.join(ways)}"] if ways else []
    if words.any():
        marks = sorted({str(cells[row]).strip() for row in np.flatnonzero(words)})
        said.append(f"{quoted_words(marks)} counts as missing, in {int(words.sum()):,} row(s)")
    first = f" (such as {cells[rows[0]]!r})" if ways else ""
    return numbers, f"{name!r}: {'; '.join(said)}{first}" if said else f"{name!r}: numbers written as text"


def quoted_words(words: Sequence[Any]) -> str:
    """Words in quotes."""
    return ", ".join(repr(str(word)) for word in words)
