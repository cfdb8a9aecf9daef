"""From score statistics and sets in use to a table of sets with weights, and feature weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb, log
from typing import Any

import numpy as np

from raytpnn.model.screens.evidence import evidence
from raytpnn.model.screens.pairs import confirmed, pair_operations, screen_pairs
from raytpnn.model.screens.parities import search_triples
from raytpnn.model.screens.shapes import Shapes
from raytpnn.model.screens.singles import screen_singles
from raytpnn.model.screens.triples import extend_sets, screen_all_triples, triple_operations

__all__ = ["Proposals", "can_tell", "learn_proposals", "screening_pays"]

# With so few features any pair is proposed often enough.
FEW_FEATURES = 8
# Rows that it takes to tell a set from the best of M by chance: so many times log M.
ROWS_TO_TELL = 4.0
# Sets of each kind that a table holds at most.
MOST_SETS = 1024
# Floating point operations of screens at most: pairs with even shapes, pairs, triples; pairs of signs.
EVEN_OPERATIONS, PAIR_OPERATIONS, TRIPLE_OPERATIONS, SIGN_OPERATIONS = 2e11, 2e12, 2e10, 5e9
# Screens of all pairs below so many are repeated; to look at a result takes as long as so many operations.
QUICK_OPERATIONS, SCANNED = 4e10, 100
# Features, and pairs, that are extended by every feature.
MOST_EXTENDED = 128
# Shares of the table: single features, pairs, triples, and sets that chains hold.
SHARES = (0.25, 0.3, 0.2, 0.25)
# What all features share alike in feature weights.
UNIFORM_SHARE = 0.25


@dataclass(frozen=True)
class Proposals:
    """How births and changes of sets propose features.

    Attributes
    ----------
    feature_weight : (p,) float64
        Positive, sum 1.
    sets : (T, 3) int64
        Sets in ascending order, filled up with -1.
    weight : (T,) float64
        Positive, sum 1.
    """

    feature_weight: np.ndarray
    sets: np.ndarray
    weight: np.ndarray


def can_tell(n_rows: int, sets: int) -> bool:
    """Whether so many rows can tell an effect from the best of so many sets by chance.

    The statistic of a set is at most about the number of rows; the largest of M by chance is about 2 log M.
    """
    return n_rows >= ROWS_TO_TELL * log(max(sets, 2))


def screening_pays(n_rows: int, n_features: int) -> bool:
    """Whether screens find what blind proposals do not: some features, and rows that can tell them apart."""
    return n_features > FEW_FEATURES and can_tell(n_rows, n_features)


def learn_proposals(
    shapes: Shapes,
    score: np.ndarray,
    curvature: np.ndarray,
    used: Mapping[tuple[int, ...], float],
    max_order: int,
    earlier: np.ndarray | None = None,
    progress: Callable[[float], None] | None = None,
    arrays: Any = np,
) -> Proposals:
    """Screen what a fit leaves, and make a table of it.

    Parameters
    ----------
    shapes : Shapes
    score, curvature : (n,) float64
        Of the log-likelihood of every row at the fit.
    used : mapping of tuple of int to float
        Sets that chains hold, with the number of terms on each.
    max_order : int
        Highest order of a term.
    earlier : (T, 3) int, optional
        Sets of the screen before. Where a search among all pairs or triples takes long, the first screen of a
        run searches, and later ones look at what it found again.
    progress : callable, optional
        Told the share of the pairs that is done.
    arrays : module
        NumPy, or CuPy for the products of all pairs on a GPU.
    """
    n, p = shapes.n_rows, shapes.n_features
    groups: list[tuple[np.ndarray, np.ndarray]] = []
    single = screen_singles(shapes, score, curvature)
    best = np.argsort(-single, kind="stable")[:MOST_SETS]
    groups.append((best[:, None], evidence(single[best], p)))
    if max_order > 1 and can_tell(n, p):
        known = None if earlier is None else of_order(earlier, 2)
        # With a feature that chains hold, a pair is one of fewer.
        leading = leading_features(used)
        some = [extended(shapes, leading[:, None], score, curvature)]
        if can_tell(n, comb(p, 2)):
            pairs, statistic = pairs_of(shapes, single, score, curvature, known, progress, arrays)
            some.append((pairs, evidence(statistic, comb(p, 2))))
        groups.append(joined(some))
        if max_order > 2:
            found, likely = groups[-1]
            best = found[np.argsort(-likely, kind="stable")[:MOST_EXTENDED]]
            held = np.array([S for S in used if len(S) == 2], np.int64).reshape(-1, 2)
            groups.append(triples_of(shapes, np.concatenate([held, best]), score, curvature, earlier))
    return gathered(groups, used, single, p, max_order)


def leading_features(used: Mapping[tuple[int, ...], float]) -> np.ndarray:
    """Features that most terms hold, (k,), at most so many as are extended."""
    terms: dict[int, float] = {}
    for S, count in used.items():
        for j in S:
            terms[j] = terms.get(j, 0.0) + count
    return np.array(sorted(terms, key=lambda j: (-terms[j], j))[:MOST_EXTENDED], np.int64)


def extended(
    shapes: Shapes, sets: np.ndarray, score: np.ndarray, curvature: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Extensions of sets by every feature, and how likely they are effects."""
    found, statistic = extend_sets(shapes, np.unique(sets, axis=0), score, curvature, MOST_SETS)
    return found, evidence(statistic, len(sets) * shapes.n_features)


def joined(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Lists of sets and how likely each is, one behind the other."""
    return np.concatenate([sets for sets, _ in parts]), np.concatenate([likely for _, likely in parts])


def triples_of(
    shapes: Shapes,
    pairs: np.ndarray,
    score: np.ndarray,
    curvature: np.ndarray,
    earlier: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Triples that extend pairs, and the best of all where rows can tell them, and how likely they are."""
    n, p = shapes.n_rows, shapes.n_features
    some = [extended(shapes, pairs, score, curvature)]
    if can_tell(n, comb(p, 3)):
        if triple_operations(p, n) <= TRIPLE_OPERATIONS:
            triples, statistic = screen_all_triples(shapes, score, curvature, MOST_SETS)
        elif earlier is None:
            triples, statistic = search_triples(shapes, score, curvature, MOST_SETS, SIGN_OPERATIONS)
        else:
            triples, statistic = confirmed(shapes, of_order(earlier, 3), score, curvature, MOST_SETS)
        some.append((triples, evidence(statistic, comb(p, 3))))
    return joined(some)


def of_order(sets: np.ndarray, order: int) -> np.ndarray:
    """Those of a table's sets that have so many features, (k, order)."""
    return sets[np.sum(sets >= 0, axis=1) == order][:, :order]


def pairs_of(
    shapes: Shapes,
    single: np.ndarray,
    score: np.ndarray,
    curvature: np.ndarray,
    known: np.ndarray | None,
    progress: Callable[[float], None] | None,
    arrays: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Best pairs of all features, or of those that lead where all are too many; or those known already."""
    n, p = shapes.n_rows, shapes.n_features
    if known is not None and p * p * max(n, SCANNED) > QUICK_OPERATIONS:
        return confirmed(shapes, known, score, curvature, MOST_SETS)
    even = pair_operations(p, n, True) <= EVEN_OPERATIONS
    if pair_operations(p, n, False) <= PAIR_OPERATIONS:
        return screen_pairs(shapes, score, curvature, MOST_SETS, even, progress, arrays)
    leading = np.sort(np.argsort(-single, kind="stable")[: int(np.sqrt(PAIR_OPERATIONS / n))])
    some = Shapes(shapes.codes[leading], shapes.marginal[leading], shapes.tables)
    pairs, statistic = screen_pairs(some, score, curvature, MOST_SETS, False, progress, arrays)
    return leading[pairs], statistic


def gathered(
    groups: list[tuple[np.ndarray, np.ndarray]],
    used: Mapping[tuple[int, ...], float],
    single: np.ndarray,
    p: int,
    max_order: int,
) -> Proposals:
    """One table of all groups of sets, each with its share, and the feature weights that go with it."""
    weights: dict[tuple[int, ...], float] = {}
    for (sets, likely), share in zip(groups, SHARES, strict=False):
        total = likely.sum()
        if total > 0.0:
            # A set can be in a group twice: the larger counts.
            group: dict[tuple[int, ...], float] = {}
            for S, value in zip(map(tuple, sets.tolist()), (likely / total).tolist(), strict=True):
                group[S] = max(group.get(S, 0.0), value)
            for S, value in group.items():
                weights[S] = weights.get(S, 0.0) + share * value
    held = {S: np.sqrt(terms) for S, terms in used.items() if len(S) <= min(3, max_order)}
    for S, root in held.items():
        weights[S] = weights.get(S, 0.0) + SHARES[-1] * root / sum(held.values())
    rows = sorted((*S, -1, -1)[:3] for S in weights)
    weight = np.array([weights[tuple(j for j in row if j >= 0)] for row in rows])
    # Compiled code wants every weight positive.
    weight = np.maximum(weight / weight.sum(), 1e-12)
    return Proposals(feature_weights(single, used, p), np.array(rows, np.int64), weight / weight.sum())


def feature_weights(single: np.ndarray, used: Mapping[tuple[int, ...], float], p: int) -> np.ndarray:
    """Weights of features: a quarter alike, the rest by what a screen finds and by what chains hold, (p,)."""
    counts = np.zeros(p)
    for S, terms in used.items():
        counts[list(S)] += terms
    parts = [evidence(single, p), np.sqrt(counts)]
    parts = [part / part.sum() for part in parts if part.sum() > 0.0]
    learned = np.mean(parts, axis=0) if parts else np.full(p, 1.0 / p)
    return (1.0 - UNIFORM_SHARE) * learned / learned.sum() + UNIFORM_SHARE / p
