"""Do several fits find the same components: the stability score of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from raytpnn.forward.prediction import row_blocks

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["component_stability", "stability_score"]

# Values of components held at a time: 160 MB.
BATCH_CELLS = 20_000_000


def stability_score(posteriors: Sequence[Posterior], X: Any, max_order: int = 1) -> float:
    """Stability score SC^d between fits; 0 is the best and means equal components.

    For fits j = 1 ... m, with f_S^j the posterior mean of a component and f_S their mean over fits,

        SC(f_S) = mean over rows i of  sum_j (f_S^j(x_i) - f_S(x_i))^2 / sum_j f_S^j(x_i)^2
        SC^d(f) = sum over |S| <= d of SC(f_S) / (number of sets S with 1 <= |S| <= d)

    Where all f_S^j are 0 the ratio counts as 0: fits agree that there is nothing. A set that one fit alone
    finds has 1 - 1/m, the largest value.

    Parameters
    ----------
    posteriors : sequence of Posterior
        Two or more, usually fitted to different splits of the same table.
    X : table
        Rows at which components are compared.
    max_order : int
        d.
    """
    table = component_stability(posteriors, X, max_order)
    p = len({name for posterior in posteriors for name in posterior.bins.names})
    return float(table["score"].sum() / sum(comb(p, order) for order in range(1, max_order + 1)))


def component_stability(posteriors: Sequence[Posterior], X: Any, max_order: int = 1) -> pd.DataFrame:
    """SC(f_S) of every component that some fit holds, the least stable first; see `stability_score`.

    Returns
    -------
    DataFrame
        component (tuple of names), order, score (0 to 1 - 1/m), fits (how many fits hold it).
    """
    if len(posteriors) < 2:
        raise ValueError(f"stability is between fits: give two or more, not {len(posteriors)}")
    if isinstance(max_order, bool) or not isinstance(max_order, int | np.integer) or max_order < 1:
        raise ValueError(f"max_order must be a whole number from 1 on, not {max_order!r}")
    held = [components_by_name(posterior, max_order) for posterior in posteriors]
    keys = {key: i for i, key in enumerate(dict.fromkeys(key for part in held for key in part))}
    codes = [posterior.encode_rows(X)[0] for posterior in posteriors]
    n = codes[0].shape[1]
    total = np.zeros(len(keys))
    size = max(BATCH_CELLS // max(len(keys) * len(held), 1), 1)
    for rows in row_blocks(n, size):
        values = np.zeros((len(held), rows.stop - rows.start, len(keys)))
        for j, posterior in enumerate(posteriors):
            column = np.full(len(posterior.ensemble.components), -1, np.int64)
            for key, component in held[j].items():
                column[component] = keys[key]
            values[j] = posterior.predictor.column_means(codes[j][:, rows], column, len(keys))
        total += row_ratios(values).sum(axis=0)
    order = [len(key) for key in keys]
    table = pd.DataFrame(
        {
            "component": pd.Series([tuple(sorted(key)) for key in keys], dtype=object),
            "order": np.array(order, np.int64),
            "score": total / n,
            "fits": np.array([sum(key in part for part in held) for key in keys], np.int64),
        }
    )
    return table.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def row_ratios(values: np.ndarray) -> np.ndarray:
    """Share of the spread between fits in the sum of squares, of values (fits, rows, components)."""
    squares = np.sum(values**2, axis=0)
    spread = np.sum((values - values.mean(axis=0)) ** 2, axis=0)
    return np.divide(spread, squares, out=np.zeros_like(squares), where=squares > 0.0)


def components_by_name(posterior: Posterior, max_order: int) -> dict[frozenset[str], int]:
    """Components up to an order, by the names of their features: fits may number these differently."""
    names = posterior.bins.names
    return {
        frozenset(names[feature] for feature in features): i
        for i, features in enumerate(posterior.ensemble.components)
        if len(features) <= max_order
    }
