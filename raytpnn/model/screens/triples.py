"""Extensions of sets by every feature, and all triples where there are few features."""

from __future__ import annotations

import numpy as np

from raytpnn.model.screens.pairs import MARGIN, confirmed, largest_of_block
from raytpnn.model.screens.shapes import EVEN, LINEAR, Shapes
from raytpnn.model.screens.top_list import TopList

__all__ = ["extend_sets", "screen_all_triples", "triple_operations"]

# Sets that are extended at a time.
SETS_AT_A_TIME = 256
FEATURES_AT_A_TIME = 2048


def triple_operations(n_features: int, n_rows: int) -> float:
    """Floating point operations of a screen of all triples."""
    return (2.0 / 3.0) * n_rows * float(n_features) ** 3


def screen_all_triples(
    shapes: Shapes, score: np.ndarray, curvature: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Triples with the largest score statistics among all, by linear shapes: (k, 3) and (k,)."""
    p = shapes.n_features
    best = TopList(MARGIN * most, 3)
    linear = shapes.values(slice(0, p), LINEAR)
    weighted = linear * np.asarray(score, np.float32)
    scale = 1.0 / max(float(curvature.sum()), 1e-300)
    for third in range(2, p):
        # Pairs of features before this one: every triple once.
        squared = ((weighted[:third] * linear[third]) @ linear[:third].T) ** 2
        pairs, values = largest_of_block(squared, 0, 0, best.threshold / scale, best.most, np)
        best.offer(np.column_stack([pairs, np.full(len(pairs), third)]), values * scale)
    return confirmed(shapes, best.best()[0], score, curvature, most)


def extend_sets(
    shapes: Shapes, sets: np.ndarray, score: np.ndarray, curvature: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Best extensions of sets, (k, d), by any other feature: (k, d + 1), and their score statistics, (k,)."""
    order = sets.shape[1]
    best = TopList(MARGIN * most, order + 1)
    scale = 1.0 / max(float(curvature.sum()), 1e-300)
    for start in range(0, len(sets), SETS_AT_A_TIME):
        part = sets[start : start + SETS_AT_A_TIME]
        phi = shapes.values(part[:, 0], LINEAR) * np.asarray(score, np.float32)
        for i in range(1, order):
            phi *= shapes.values(part[:, i], LINEAR)
        for first in range(0, shapes.n_features, FEATURES_AT_A_TIME):
            columns = np.arange(first, min(first + FEATURES_AT_A_TIME, shapes.n_features))
            found = (phi @ shapes.values(columns, LINEAR).T) ** 2
            found = np.maximum(found, (phi @ shapes.values(columns, EVEN).T) ** 2) * scale
            # A feature does not extend a set that holds it.
            for i in range(order):
                found[part[:, i, None] == columns] = 0.0
            rows, places = np.nonzero(found > best.threshold)
            best.offer(np.sort(np.column_stack([part[rows], columns[places]]), axis=1), found[rows, places])
    return confirmed(shapes, best.best()[0], score, curvature, most)
