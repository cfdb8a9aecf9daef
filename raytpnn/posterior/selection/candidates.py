"""Which effects are tested; what is not tested counts as not real.

With few features all single features and all pairs are looked at. Of many, those are tested that the draws
hold largest, and those that go along best with what the fit leaves of the response: a screen of all features,
and of all pairs of up to 15,000 features, is one matrix product. To leave an effect out costs power, never
the rate.
"""

from __future__ import annotations

import heapq

import numpy as np

from raytpnn.posterior.selection.basis import Basis
from raytpnn.posterior.selection.left_out import FitWithout

__all__ = ["effects_to_test", "near_equals", "whole_columns"]

# Single features that are tested whatever the screen says; and of more, how many by screen and by size.
ALL_SINGLES, SCREENED, LARGEST = 300, 200, 50
# Pairs and triples that are tested.
SCREENED_PAIRS, LARGEST_PAIRS, LARGEST_TRIPLES = 100, 50, 30
# Features whose pairs are all screened; of more, those that go along best with the residual themselves.
MOST_FEATURES = 15_000
BLOCK = 2048


def effects_to_test(fit: FitWithout, basis: Basis, degree: int, max_order: int = 3) -> list[tuple[int, ...]]:
    """Sets of encoded features whose effects are tested.

    Parameters
    ----------
    fit : FitWithout
    basis : Basis
    degree : int
        Of the polynomials of each feature in the screen of pairs, 1 or 2.
    max_order : int
        1, 2 or 3.
    """
    chosen: list[tuple[int, ...]]
    sizes = fit.sizes()
    p = fit.bins.n_features
    score = fit.residual * fit.weight
    largest = [
        sorted((own for own in sizes if len(own) == order and sizes[own] > 0.0), key=lambda own: -sizes[own])
        for order in (1, 2, 3)
    ]
    if p <= ALL_SINGLES:
        chosen = [(j,) for j in range(p)]
    else:
        along = np.concatenate([np.abs(ranks @ score.astype(np.float32)) for _, ranks in basis.chunks()])
        best = np.argpartition(-along, SCREENED)[:SCREENED]
        screened: set[tuple[int, ...]] = {(int(j),) for j in best}
        chosen = sorted(screened | set(largest[0][:LARGEST]))
    if max_order > 1 and p > 1:
        pairs: set[tuple[int, ...]] = set(screened_pairs(basis, score, degree))
        chosen += sorted(pairs | set(largest[1][:LARGEST_PAIRS]))
    if max_order > 2:
        chosen += sorted(largest[2][:LARGEST_TRIPLES])
    return chosen


def screened_pairs(basis: Basis, score: np.ndarray, degree: int) -> list[tuple[int, int]]:
    """Pairs whose products of polynomials go along best with a score."""
    p = basis.bins.n_features
    features = np.arange(p)
    if p > MOST_FEATURES:
        along = np.concatenate([np.abs(ranks @ score.astype(np.float32)) for _, ranks in basis.chunks()])
        features = np.sort(np.argsort(-along)[:MOST_FEATURES])
    columns = [basis.ranks(features)]
    for power in range(2, degree + 1):
        raised = columns[0] ** power
        raised -= raised.mean(axis=1, keepdims=True)
        raised /= np.maximum(np.sqrt((raised**2).sum(axis=1, keepdims=True)), 1e-12)
        columns.append(raised)
    weighted = [column * score.astype(np.float32) for column in columns]
    best: list[tuple[float, int, int]] = []
    for top in range(0, len(features), BLOCK):
        rows = slice(top, min(top + BLOCK, len(features)))
        for left in range(top, len(features), BLOCK):
            others = slice(left, min(left + BLOCK, len(features)))
            found = np.zeros((rows.stop - rows.start, others.stop - others.start), np.float32)
            for one in weighted:
                for other in columns:
                    found += (one[rows] @ other[others].T) ** 2
            if left == top:
                found[np.tril_indices(len(found))] = -1.0
            if len(best) == SCREENED_PAIRS and found.max(initial=0.0) <= best[0][0]:
                continue
            number = min(SCREENED_PAIRS, found.size)
            for place in np.argpartition(-found, number - 1, axis=None)[:number]:
                i, j = divmod(int(place), found.shape[1])
                item = (float(found[i, j]), int(features[top + i]), int(features[left + j]))
                if item[0] < 0.0:
                    continue
                if len(best) < SCREENED_PAIRS:
                    heapq.heappush(best, item)
                elif item > best[0]:
                    heapq.heapreplace(best, item)
    return [(i, j) for _, i, j in best]


def whole_columns(column: np.ndarray) -> list[tuple[int, ...]]:
    """Features of every input column that has several: levels of text, a number and its missing cells.

    Parameters
    ----------
    column : (p,) int
        Input column of every encoded feature.
    """
    _, place, number = np.unique(column, return_inverse=True, return_counts=True)
    several = np.flatnonzero(number > 1)
    return [tuple(np.flatnonzero(place == i).tolist()) for i in several]


def near_equals(basis: Basis, leaders: list[int], near: float) -> list[tuple[int, ...]]:
    """Groups of features whose ranks go along with a leader's: all other features, and none twice.

    Parameters
    ----------
    basis : Basis
    leaders : list of int
        Encoded features; who comes first has the first choice.
    near : float
        Least absolute correlation of ranks.
    """
    if not leaders:
        return []
    own = basis.ranks(leaders)
    along: list[list[int]] = [[] for _ in leaders]
    for features, ranks in basis.chunks():
        for i, j in zip(*np.nonzero(np.abs(own @ ranks.T) >= near), strict=True):
            along[i].append(int(features[j]))
    taken: set[int] = set()
    groups = []
    for leader, members in zip(leaders, along, strict=True):
        free = sorted(({*members, leader}) - taken)
        if leader in taken or len(free) < 2:
            continue
        taken.update(free)
        groups.append(tuple(free))
    return groups
