"""From a table of samples to a response: which characteristic, which class, which samples can be used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.response import Response
from raytpnn.data.tables.cells import is_missing, is_number, level_text, numbers_or_text
from raytpnn.data.tables.tables import quoted

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.expression.expression import Expression

__all__ = ["cells_of", "level_counts", "plain_level", "target_of"]

FEW = 12


def plain_level(value: Any) -> str:
    """Level for comparison: without case, and without blanks at the ends or doubled."""
    return " ".join(level_text(value).split()).casefold()


def level_counts(cells: np.ndarray) -> dict[str, int]:
    """Levels of some cells, the commonest first, missing ones left out."""
    known = [level_text(cell) for cell in cells[~is_missing(cells)]]
    spelling: dict[str, str] = {}
    counts: dict[str, int] = {}
    for level in known:
        name = spelling.setdefault(plain_level(level), level)
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def cells_of(series: pd.Series) -> np.ndarray:
    """Cells of a column of the sample table: numbers, or objects."""
    from raytpnn.data.tables.tables import series_values

    return numbers_or_text(series_values(series, str(series.name)), str(series.name))[1]


def find_column(samples: pd.DataFrame, target: str) -> tuple[str, str | None]:
    """Column that a target means, and the level if it is "key:value".

    Raises
    ------
    ValueError
        If there is none, naming those that there are.
    """
    names = {str(name): str(name) for name in samples.columns}
    folded = {name.casefold(): name for name in reversed(list(names))}
    if target in names:
        return target, None
    if target.casefold() in folded:
        return folded[target.casefold()], None
    key, colon, value = target.partition(":")
    if colon and key.strip().casefold() in folded:
        return folded[key.strip().casefold()], value.strip()
    useful = [name for name in names if len(level_counts(cells_of(samples[name]))) > 1]
    if not names:
        raise ValueError(f"there is no target {target!r}: nothing is known about the samples; give --samples")
    raise ValueError(
        f"there is no target {target!r} among what is known about the samples; it could be "
        f"{quoted(useful or list(names), FEW)}"
    )


def target_of(expression: Expression, target: str, positive: Any = None) -> tuple[Response, np.ndarray, str]:
    """Response of expression data.

    Parameters
    ----------
    expression : Expression
    target : str
        Column of the sample table; or "key:value", such as "Gender:F", for samples of one level against the
        others.
    positive : optional
        The class that y = 1 stands for: a level (case and blanks at its ends do not matter), or "~pattern",
        a regular expression looked for anywhere in the text, in upper or lower case. All other samples are
        the other class. Without it, a column of numbers is a response as it is, and one of two levels has
        the larger one as y = 1.

    Returns
    -------
    y : Response
        Of the usable samples alone: `values` (m,) float64, 0 and 1 for two classes, and `classes`.
    usable : (n,) bool
        Samples whose target is known.
    text : str
        What was taken, for the user.

    Raises
    ------
    ValueError
        If there is no such target, it has no such level, or more than two and no `positive`: the message
        names the choices.
    """
    column, level = find_column(expression.samples, str(target))
    if level is not None and positive is None:
        positive = level
    elif level is not None:
        raise ValueError(f"target {target!r} names a level already; leave out positive={positive!r}")
    cells = cells_of(expression.samples[column])
    usable = ~is_missing(cells)
    if not usable.any():
        raise ValueError(f"target {column!r} is not known for any sample")
    known = cells[usable]
    y = numbers_or_classes(known, column) if positive is None else against_others(known, column, positive)
    return y, usable, describe(y, column, usable)


def numbers_or_classes(cells: np.ndarray, column: str) -> Response:
    """Unchanged column as the response."""
    if cells.dtype.kind == "f" and len(np.unique(cells)) != 2:
        return Response(cells.astype(np.float64))
    counts = level_counts(cells)
    if len(counts) != 2:
        raise ValueError(
            f"target {column!r} has {len(counts)} levels ({in_words(counts)}); say which one is modelled "
            "against the others with --positive LEVEL, or --positive '~PATTERN'"
        )
    zero, one = sorted(
        counts, key=lambda name: (not is_number(name), float(name) if is_number(name) else name)
    )
    is_one = np.array([plain_level(cell) == plain_level(one) for cell in cells])
    return Response(is_one.astype(np.float64), (zero, one))


def against_others(cells: np.ndarray, column: str, positive: Any) -> Response:
    """Response of one class against all others."""
    wanted, counts = level_text(positive), level_counts(cells)
    if wanted.startswith("~"):
        try:
            pattern = re.compile(wanted[1:], re.IGNORECASE)
        except re.error as problem:
            raise ValueError(f"--positive {wanted!r} is no regular expression: {problem}") from None
        ones = np.array([pattern.search(level_text(cell)) is not None for cell in cells])
        name = wanted[1:]
    else:
        plain = {plain_level(level): level for level in counts}
        key = plain_level(float(wanted) if is_number(wanted) else wanted)
        if key not in plain:
            raise ValueError(
                f"--positive {wanted!r} is no level of target {column!r}: these are {in_words(counts)}. "
                "'~PATTERN' looks for a text within them"
            )
        ones = np.array([plain_level(cell) == key for cell in cells])
        name = plain[key]
    if ones.all() or not ones.any():
        which = "every sample" if ones.all() else "no sample"
        raise ValueError(
            f"--positive {wanted!r} takes in {which} of target {column!r}, whose levels are "
            f"{in_words(counts)}"
        )
    others = [level for level in counts if level != name]
    other = others[0] if len(counts) == 2 and not wanted.startswith("~") else f"not {name}"
    return Response(ones.astype(np.float64), (other, name))


def in_words(counts: dict[str, int]) -> str:
    """Levels and how many samples have each."""
    listed = ", ".join(f"{level!r} ({count})" for level, count in list(counts.items())[:FEW])
    return listed if len(counts) <= FEW else f"{listed} and {len(counts) - FEW} more"


def describe(y: Response, column: str, usable: np.ndarray) -> str:
    """Say what was taken."""
    left = int(np.sum(~usable))
    without = f"; {left} sample(s) left out whose {column} is not known" if left else ""
    if y.classes is None:
        low, high = float(y.values.min()), float(y.values.max())
        return f"{column}: numbers from {low:g} to {high:g} in {len(y.values)} samples{without}"
    ones = int(y.values.sum())
    zero, one = y.classes
    return f"{column}: {one} ({ones} samples) against {zero} ({len(y.values) - ones} samples){without}"
