"""Which family suits a target, by simple rules that are told."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["guess_family"]


def guess_family(cells: np.ndarray, name: str) -> tuple[str, str]:
    """Guess the family of a target.

    Each family says what it suits, see `Family.guess`. Two distinct values: bernoulli. Text with more levels,
    of four rows or more: multinomial. Whole numbers, none
    negative, some 0, of mean at most 10: poisson. Other numbers: gaussian.

    Parameters
    ----------
    cells : (n,)
        Cells of the target.
    name : str
        Of the target.

    Returns
    -------
    family, reason : str

    Raises
    ------
    ValueError
        If the target is text with one or with more than two levels.
    """
    from raytpnn.data.tables.cells import is_missing, numbers_or_text
    from raytpnn.data.tables.text_columns import judge_text
    from raytpnn.families import FAMILIES

    numeric, values = numbers_or_text(cells, name)
    known = values[~is_missing(values)]
    distinct: Any = np.unique(known) if numeric else sorted(set(known))
    if not numeric and len(distinct) > 2:
        judge_text(values, name)
    for family in sorted(FAMILIES.values(), key=lambda family: family.guess_order):
        reason = family.guess(known, distinct, numeric)
        if reason is not None:
            return family.name, reason
    listed = ", ".join(repr(level) for level in distinct[:5])
    more = f" and {len(distinct) - 5} more" if len(distinct) > 5 else ""
    raise ValueError(
        f"target {name!r} is text with {len(distinct)} levels ({listed}{more}); {what_to_do(distinct)}"
    )


def what_to_do(distinct: Any) -> str:
    """What to do with a target of text that does not have two levels."""
    from raytpnn.data.response import more_than_two

    return more_than_two(distinct) if len(distinct) > 2 else "give a target of two classes or of numbers"
