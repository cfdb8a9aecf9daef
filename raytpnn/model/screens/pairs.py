"""Score statistics of all pairs by products of matrices, with a running list of the best.

With U the shapes of features, (p, n), and r the score of every row, U diag(r) U' holds what every product of
two shapes says of what is left. It is computed block by block in single precision, so that memory stays
bounded; the best pairs are computed again in full, see `exact_statistics`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from raytpnn.model.screens.shapes import EVEN, LINEAR, Shapes
from raytpnn.model.screens.singles import exact_statistics
from raytpnn.model.screens.top_list import TopList

__all__ = ["confirmed", "pair_operations", "screen_pairs"]

# Features of a block: a block of statistics has 4 MB.
BLOCK = 1024
# How many more pairs than are wanted go into the second, exact round.
MARGIN = 2


def pair_operations(n_features: int, n_rows: int, even: bool) -> float:
    """Floating point operations of a screen of all pairs."""
    return (4.0 if even else 1.0) * n_features * n_features * n_rows


def screen_pairs(
    shapes: Shapes,
    score: np.ndarray,
    curvature: np.ndarray,
    most: int,
    even: bool = True,
    progress: Callable[[float], None] | None = None,
    arrays: Any = np,
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs with the largest score statistics.

    Parameters
    ----------
    shapes : Shapes
    score, curvature : (n,) float64
        Of every row, divided by what divides the log-likelihood.
    most : int
        Pairs that are wanted.
    even : bool
        Whether even shapes are tried, too: four times the work.
    progress : callable, optional
        Told the share that is done.
    arrays : module
        NumPy, or CuPy for products on a GPU.

    Returns
    -------
    pairs : (k, 2) int64
        Ascending features; the best pair first.
    statistic : (k,) float64
    """
    p = shapes.n_features
    best = TopList(MARGIN * most, 2)
    kinds = (LINEAR, EVEN) if even else (LINEAR,)
    right_score = np.asarray(score, np.float32)
    scale = 1.0 / max(float(curvature.sum()), 1e-300)
    starts = range(0, p, BLOCK)
    done, blocks = 0, len(starts) * (len(starts) + 1) // 2
    for first in starts:
        rows = slice(first, min(first + BLOCK, p))
        left = [arrays.asarray(shapes.values(rows, kind) * right_score) for kind in kinds]
        for second in range(first, p, BLOCK):
            columns = slice(second, min(second + BLOCK, p))
            right = [arrays.asarray(shapes.values(columns, kind)) for kind in kinds]
            found = None
            for one in left:
                for other in right:
                    squared = (one @ other.T) ** 2
                    found = squared if found is None else arrays.maximum(found, squared)
            offer_block(best, found, first, second, scale, arrays)
            done += 1
            if progress is not None:
                progress(done / blocks)
    return confirmed(shapes, best.best()[0], score, curvature, most)


def confirmed(
    shapes: Shapes, sets: np.ndarray, score: np.ndarray, curvature: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best of some sets by their exact statistics."""
    final = TopList(most, sets.shape[1])
    final.offer(sets, exact_statistics(shapes, sets, score, curvature))
    return final.best()


def offer_block(best: TopList, squared: Any, first: int, second: int, scale: float, arrays: Any) -> None:
    """Offer the pairs of a block of squared scores, those above the diagonal."""
    sets, values = largest_of_block(squared, first, second, best.threshold / scale, best.most, arrays)
    best.offer(sets, values * scale)


def largest_of_block(
    squared: Any, first: int, second: int, least: float, most: int, arrays: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a block above the diagonal with more than the least, the largest: (k, 2) and (k,)."""
    if first == second:
        squared = arrays.triu(squared, 1)
    places = arrays.flatnonzero(squared.ravel() > least)
    values = squared.ravel()[places]
    if len(places) > most:
        # No more than there is room for: the rest has no chance.
        chosen = arrays.argpartition(-values, most - 1)[:most]
        places, values = places[chosen], values[chosen]
    if arrays is not np:
        places, values = places.get(), values.get()
    width = squared.shape[1]
    sets = np.column_stack([first + places // width, second + places % width])
    return sets, values.astype(np.float64)
