"""The best pair of wide data beyond those selected before it, against permuted rows.

All pairs are screened by the products of their ranks; of the best the functions of either feature alone are
taken out, so that a pair counts only beyond its main effects, and the best of what then remains is compared
with what the same steps find for permuted residuals. Permutations end as soon as the pair cannot be selected
any more (Besag and Clifford): where there is none, a few are enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.model.screens.top_list import TopList
from raytpnn.posterior.selection.score_tests import Effect, orthonormal

if TYPE_CHECKING:
    from raytpnn.posterior.selection.one_by_one import OneByOne

__all__ = ["best_pair"]

# Pairs of a screen that are looked at closely.
SCREENED = 30
# Degree of the functions of either feature alone, with so many rows for each.
DEGREE_OF_OWN, ROWS_A_DEGREE = 3, 12
# Permuted responses that may do better than the observed one at the largest q-value; of many features, none.
MOST_BETTER, MANY_FEATURES = 1, 10_000
# Responses that are screened together, first and then, and features of a block.
FIRST, TOGETHER, BLOCK = 3, 8, 512


def best_pair(room: OneByOne, taken: list[Effect], largest: float) -> tuple[Effect | None, float]:
    """Pair that goes along best with what some effects leave, and its p-value over all pairs.

    Parameters
    ----------
    room : OneByOne
    taken : list of tuples of int
        Effects selected already.
    largest : float
        p-value above which the exact one does not matter; then one that is too small may be returned, but
        none below this.
    """
    if room.basis.bins.n_features < 2:
        return None, 1.0
    q = room.taken_out(taken)
    ranks = np.concatenate([ranks[:, room.rows] for _, ranks in room.basis.chunks()])
    most_better = MOST_BETTER if len(ranks) <= MANY_FEATURES else 0
    permutations = int(np.ceil((1 + most_better) / largest)) - 1
    best, observed, better, done = None, 0.0, 0, 0
    while done <= permutations:
        # The first column is the response as observed: only the first batch needs it.
        number = min(FIRST - 1 if best is None else TOGETHER, permutations + 1 - done)
        targets = room.left(q, number)[:, 0 if best is None else 1 :]
        for target, pairs in zip(targets.T, screened(ranks, targets * room.root[:, None]), strict=True):
            pair, found = closest(room, q, target, [own for own in pairs if own not in taken])
            if best is None:
                best, observed = pair, found
                if best is None:
                    return None, 1.0
            else:
                better += found >= observed * (1.0 - 1e-5)
            done += 1
            if better > most_better:
                return best, max((1 + better) / done, float(np.nextafter(largest, 1.0)))
    return best, (1 + better) / done


def screened(ranks: np.ndarray, targets: np.ndarray) -> list[list[Effect]]:
    """Pairs whose products go along best with every target."""
    p = len(ranks)
    targets = targets.astype(np.float32)
    best = [TopList(SCREENED, 2) for _ in targets.T]
    for first in range(0, p, BLOCK):
        left = ranks[first : first + BLOCK]
        for second in range(first, p, BLOCK):
            right = ranks[second : second + BLOCK].T
            for target, kept in zip(targets.T, best, strict=True):
                found = (left * target) @ right
                if first == second:
                    found = np.triu(found, 1)
                if max(float(found.max()), -float(found.min())) > kept.threshold:
                    offer(kept, np.abs(found), first, second)
    return [[(int(i), int(j)) for i, j in kept.best()[0]] for kept in best]


def offer(kept: TopList, found: np.ndarray, first: int, second: int) -> None:
    """Offer the best pairs of a block."""
    places = np.flatnonzero(found > kept.threshold)
    if len(places) > SCREENED:
        places = places[np.argpartition(-found.ravel()[places], SCREENED - 1)[:SCREENED]]
    i, j = np.divmod(places, found.shape[1])
    kept.offer(np.column_stack([first + i, second + j]), found.ravel()[places])
    kept.best()


def closest(
    room: OneByOne, q: np.ndarray, target: np.ndarray, pairs: list[Effect]
) -> tuple[Effect | None, float]:
    """Pair whose product goes along best with a target beyond q and its own features; its correlation."""
    best: Effect | None = None
    largest = 0.0
    degree = int(np.clip(len(room.rows) // ROWS_A_DEGREE, 1, DEGREE_OF_OWN))
    for i, j in pairs:
        own = [room.basis.powers(feature, degree)[room.rows] for feature in (i, j)]
        controls = orthonormal(np.column_stack([q, np.column_stack(own) * room.root[:, None]]))
        u = room.basis.effect((i, j), 1)[room.rows, 0] * room.root
        left = u - controls @ (controls.T @ u)
        length = float(np.linalg.norm(left))
        if length <= 0.1 * float(np.linalg.norm(u)) or controls.shape[1] > len(u) - 3:
            continue
        rest = target - controls @ (controls.T @ target)
        found = abs(float(left @ rest)) / (length * max(float(np.linalg.norm(rest)), 1e-12))
        if found > largest:
            best, largest = (i, j), found
    return best, largest
