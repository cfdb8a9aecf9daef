"""Extensions of sets by every feature, and all triples where there are few features."""

from __future__ import annotations

import numpy as np

from raytpnn.model.screens.pairs import MARGIN, confirmed, largest_of_block
from raytpnn.model.screens.shapes import EVEN, LINEAR, Shapes
from raytpnn.model.screens.top_list import TopList

__all__ = ["extend_pairs", "screen_all_triples", "triple_operations"]

# Pairs that are extended at a time.
PAIRS_AT_A_TIME = 256
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


def extend_pairs(
    shapes: Shapes, pairs: np.ndarray, score: np.ndarray, curvature: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Best triples of pairs, (k, 2), with any third feature: (k, 3), and their score statistics, (k,)."""
    best = TopList(MARGIN * most, 3)
    scale = 1.0 / max(float(curvature.sum()), 1e-300)
    for start in range(0, len(pairs), PAIRS_AT_A_TIME):
        part = pairs[start : start + PAIRS_AT_A_TIME]
        phi = shapes.values(part[:, 0], LINEAR) * shapes.values(part[:, 1], LINEAR)
        phi *= np.asarray(score, np.float32)
        for first in range(0, shapes.n_features, FEATURES_AT_A_TIME):
            columns = np.arange(first, min(first + FEATURES_AT_A_TIME, shapes.n_features))
            found = (phi @ shapes.values(columns, LINEAR).T) ** 2
            found = np.maximum(found, (phi @ shapes.values(columns, EVEN).T) ** 2) * scale
            # A feature does not extend a set that holds it.
            found[(part[:, :1] == columns) | (part[:, 1:] == columns)] = 0.0
            rows, places = np.nonzero(found > best.threshold)
            triples = np.column_stack([part[rows], columns[places]])
            best.offer(np.sort(triples, axis=1), found[rows, places])
    return confirmed(shapes, best.best()[0], score, curvature, most)
