"""Which family suits a target, by simple rules that are told."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["guess_family"]

# Whole numbers from 0 on with a larger mean are seldom counts that a normal noise would not suit.
MOST_MEAN_COUNT = 10.0


def guess_family(cells: np.ndarray, name: str) -> tuple[str, str]:
    """Guess the family of a target.

    Two distinct values: bernoulli. Whole numbers, none negative, some 0, of mean at most 10: poisson. Other
    numbers: gaussian.

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

    numeric, values = numbers_or_text(cells, name)
    known = values[~is_missing(values)]
    distinct: Any = np.unique(known) if numeric else sorted(set(known))
    if len(distinct) == 2:
        return "bernoulli", f"it has two values, {shown(distinct[0])} and {shown(distinct[1])}"
    if not numeric:
        listed = ", ".join(repr(level) for level in distinct[:5])
        more = f" and {len(distinct) - 5} more" if len(distinct) > 5 else ""
        raise ValueError(
            f"target {name!r} is text with {len(distinct)} levels ({listed}{more}); give a target of two "
            "classes or of numbers"
        )
    whole = bool(np.all(known == np.floor(known))) and len(known) > 0
    if whole and known.min() == 0.0 and known.mean() <= MOST_MEAN_COUNT and len(distinct) > 2:
        mean = f"{known.mean():.3g}"
        return "poisson", f"whole numbers from 0 on, mean {mean}, look like counts"
    if whole and known.min() >= 0.0:
        return "gaussian", f"{len(distinct):,} distinct whole numbers; --family poisson if they are counts"
    return "gaussian", f"numbers, {len(distinct):,} of them distinct"


def shown(value: Any) -> str:
    """Text in quotes, numbers without a needless point."""
    return repr(value) if isinstance(value, str) else f"{value:g}"
