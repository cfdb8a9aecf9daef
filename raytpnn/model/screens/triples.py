"""Extensions of sets by every feature, and all triples where there are few features."""

from __future__ import annotations

import numpy as np

from raytpnn.model.screens.pairs import MARGIN, offer_block
from raytpnn.model.screens.shapes import EVEN, LINEAR, Shapes
from raytpnn.model.screens.singles import exact_statistics
from raytpnn.model.screens.top_list import TopList

__all__ = ["confirmed", "extend_pairs", "screen_all_triples", "triple_operations"]

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
        pairs = TopList(best.most, 2)
        pairs.statistic = np.full(best.most, best.threshold)
        pairs.sets = np.zeros((best.most, 2), np.int64)
        offer_block(pairs, squared, 0, 0, scale, np)
        good = pairs.sets[:, 1] > 0
        if good.any():
            sets = np.column_stack([pairs.sets[good], np.full(int(good.sum()), third)])
            best.offer(sets, pairs.statistic[good])
    return confirmed(shapes, best.sets, score, curvature, most)


def extend_pairs(
    shapes: Shapes, pairs: np.ndarray, score: np.ndarray, curvature: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Best triples of pairs, (k, 2), with any third feature: (k, 3), and their score statistics, (k,)."""
    best: dict[tuple[int, ...], float] = {}
    scale = 1.0 / max(float(curvature.sum()), 1e-300)
    threshold = 0.0
    for start in range(0, len(pairs), PAIRS_AT_A_TIME):
        part = pairs[start : start + PAIRS_AT_A_TIME]
        phi = shapes.values(part[:, 0], LINEAR) * shapes.values(part[:, 1], LINEAR)
        phi *= np.asarray(score, np.float32)
        for first in range(0, shapes.n_features, FEATURES_AT_A_TIME):
            columns = slice(first, min(first + FEATURES_AT_A_TIME, shapes.n_features))
            found = (phi @ shapes.values(columns, LINEAR).T) ** 2
            found = np.maximum(found, (phi @ shapes.values(columns, EVEN).T) ** 2) * scale
            for i, j in zip(*np.nonzero(found > threshold), strict=True):
                third = first + int(j)
                if third not in part[i]:
                    triple = tuple(sorted((*map(int, part[i]), third)))
                    best[triple] = max(best.get(triple, 0.0), float(found[i, j]))
            if len(best) > 4 * MARGIN * most:
                kept = sorted(best, key=lambda triple: (-best[triple], triple))[: MARGIN * most]
                best = {triple: best[triple] for triple in kept}
                threshold = best[kept[-1]]
    sets = np.array(sorted(best), np.int64).reshape(-1, 3)
    return confirmed(shapes, sets, score, curvature, most)


def confirmed(
    shapes: Shapes, sets: np.ndarray, score: np.ndarray, curvature: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best of some sets by their exact statistics."""
    final = TopList(most, sets.shape[1])
    final.offer(sets, exact_statistics(shapes, sets, score, curvature))
    return final.sets, final.statistic
