"""The score statistic of every feature."""

from __future__ import annotations

import numpy as np

from raytpnn.model.screens.shapes import EVEN, LINEAR, Shapes

__all__ = ["exact_statistics", "screen_singles"]

# Which features of a set have even shapes, by order.
EVEN_PLACES: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((), (0,)),
    2: ((), (0,), (1,), (0, 1)),
    3: ((), (0,), (1,), (2,), (0, 1, 2)),
}
# Cells that are worked on at a time.
CHUNK_CELLS = 1 << 22


def screen_singles(shapes: Shapes, score: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Larger score statistic of the linear and the even shape of every feature, (p,)."""
    every = np.arange(shapes.n_features)[:, None]
    return exact_statistics(shapes, every, score, curvature)


def exact_statistics(
    shapes: Shapes, sets: np.ndarray, score: np.ndarray, curvature: np.ndarray
) -> np.ndarray:
    """Largest score statistic of products of shapes for every set, (k,).

    Shapes are linear, but one may be even, or all.

    Each product is centred by the curvature, so that one with a mean (of two features that go together) is
    not taken for an effect; its statistic is (score' phi)^2 / (phi' curvature phi), about chi-squared with
    one degree of freedom where there is nothing.
    """
    best = np.zeros(len(sets))
    order = sets.shape[1]
    step = max(1, CHUNK_CELLS // max(shapes.n_rows, 1))
    total = max(float(curvature.sum()), 1e-300)
    for start in range(0, len(sets), step):
        part = sets[start : start + step]
        for even in EVEN_PLACES[order]:
            phi = np.ones((len(part), shapes.n_rows), np.float32)
            for j in range(order):
                phi *= shapes.values(part[:, j], EVEN if j in even else LINEAR)
            top = phi @ score
            mean = phi @ curvature / total
            bottom = (phi**2) @ curvature - total * mean**2
            top = top - mean * score.sum()
            # A product that is 0 nearly everywhere tells nothing.
            told = bottom > 1e-6 * total
            found = np.divide(top**2, bottom, out=np.zeros(len(part)), where=told)
            best[start : start + step] = np.maximum(best[start : start + step], found)
    return best
