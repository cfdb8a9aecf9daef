"""One output of a posterior as a posterior of its own, and tables of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.families.outputs import OneOutput

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.posterior.posterior import Posterior

__all__ = ["joined", "one_output"]


def one_output(posterior: Posterior, name: str) -> Posterior:
    """Give one output as a posterior; see `Posterior.output`.

    Raises
    ------
    ValueError
        If there is no such output.
    """
    names = posterior.family.outputs or ()
    if name not in names:
        told = f"its outputs are {', '.join(map(repr, names))}" if names else "it has one output"
        raise ValueError(f"family {posterior.family.name!r} has no output {name!r}; {told}")
    place = names.index(name)
    draws = posterior.draws.of_output(place)
    if posterior.family.shift_invariant:
        intercept = draws.intercept - posterior.draws.intercepts.mean(axis=1)
        draws = replace(draws, intercept=intercept, intercepts=intercept[:, None])
    kept = posterior.weight > 0.0
    y, offset = posterior.y[kept], posterior.offset[kept]
    curvature = 1.0
    if len(y):
        starts = posterior.family.starts(y, offset)
        curvature = posterior.family.null_curvatures(starts, offset, 1.0)[place]
    zero = np.zeros(len(posterior.y)) if place else posterior.offset
    return type(posterior)(
        draws=draws,
        encoder=posterior.encoder,
        bins=posterior.bins,
        family=OneOutput(posterior.family, name, curvature),
        y=posterior.y,
        weight=posterior.weight,
        offset=zero,
        config=posterior.config,
    )


def joined(posterior: Posterior, ask: Callable[[Posterior], pd.DataFrame]) -> pd.DataFrame:
    """Tables of all outputs, one below the other, with the output's name as the first column."""
    import pandas as pd

    tables = []
    for name in posterior.family.outputs or ():
        table = ask(posterior.output(name))
        first = ("output", *[""] * (table.columns.nlevels - 1)) if table.columns.nlevels > 1 else "output"
        table.insert(0, first, name)
        tables.append(table)
    return pd.concat(tables, ignore_index=isinstance(tables[0].index, pd.RangeIndex))
