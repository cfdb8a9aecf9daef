"""A search for triples without main effects and pairs among very many features, by signs.

Where a response is the product of three centred features and little else, its sign is the product of their
signs. On some tens of rows the signs of a feature are one word; then the third feature of a pair is looked
up: p^2 / 2 steps instead of p^3 / 6. Rows with the largest residuals are the most reliable; each repetition
takes others of them. What is found is confirmed on all rows.
"""

from __future__ import annotations

import numpy as np

from raytpnn.model.screens.pairs import confirmed
from raytpnn.model.screens.shapes import LINEAR, Shapes
from raytpnn.numerics.jit import compiled

__all__ = ["search_triples"]

# Bits of the filter that most pairs do not pass.
FILTER_BITS = 22
# Triples that are found by chance in one repetition, about 2 to this power.
CHANCE_BITS = 8
# Of all rows, those with the largest residuals that signs are taken from.
RELIABLE_SHARE = 0.4
FEWEST_ROWS = 24
MOST_BITS = 60
MOST_FOUND = 1 << 16
MOST_REPETITIONS = 64
FEATURES_AT_A_TIME = 4096


def search_triples(
    shapes: Shapes,
    score: np.ndarray,
    curvature: np.ndarray,
    most: int,
    operations: float,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Triples of features whose signs multiply to that of the residual: (k, 3) and their statistics (k,).

    Parameters
    ----------
    shapes : Shapes
    score, curvature : (n,) float64
    most : int
        Triples that are wanted.
    operations : float
        Pairs that are looked at in all; each repetition, of which there are 1 to 64, looks at p^2 / 2.
    seed : int
        Equal seeds look at equal rows.
    """
    p, n = shapes.n_features, shapes.n_rows
    bits = int(np.ceil(3 * np.log2(max(p, 2)) - np.log2(6.0))) - CHANCE_BITS
    bits = min(max(bits, FEWEST_ROWS), MOST_BITS)
    reliable = np.argsort(-np.abs(score), kind="stable")[: max(int(RELIABLE_SHARE * n), bits)]
    if len(reliable) < bits or p < 3:
        return np.zeros((0, 3), np.int64), np.zeros(0)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(min(max(int(operations / (0.5 * p * p)), 1), MOST_REPETITIONS)):
        rows = rng.choice(reliable, bits, replace=False)
        words = signs_of(shapes, rows)
        target = word_of(score[rows] > 0.0)
        out = np.zeros((MOST_FOUND, 3), np.int64)
        places = np.argsort(words, kind="stable")
        seen = np.zeros(1 << (FILTER_BITS - 6), np.uint64)
        count = matches(words, words[places], places, target, bits, seen, out)
        found.append(out[:count])
    sets = np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
    return confirmed(shapes, sets, score, curvature, most)


def word_of(signs: np.ndarray) -> np.uint64:
    """Bits as one word, the first the lowest."""
    return np.uint64(sum(1 << i for i, sign in enumerate(signs.tolist()) if sign))


def signs_of(shapes: Shapes, rows: np.ndarray) -> np.ndarray:
    """Signs of every feature at some rows, (p,) uint64."""
    words = np.zeros(shapes.n_features, np.uint64)
    some = Shapes(shapes.codes[:, rows], shapes.marginal, shapes.tables)
    for start in range(0, shapes.n_features, FEATURES_AT_A_TIME):
        part = slice(start, min(start + FEATURES_AT_A_TIME, shapes.n_features))
        positive = some.values(part, LINEAR) > 0.0
        for i in range(len(rows)):
            words[part] |= positive[:, i].astype(np.uint64) << np.uint64(i)
    return words


@compiled
def matches(words, ordered, places, target, bits, seen, out):
    """Triples i < j < k whose words, and the target or its complement, cancel; how many were written.

    `seen` is the filter, empty at first: a bit for every lower part of a word.
    """
    p = len(words)
    one = np.uint64(1)
    mask = (one << np.uint64(bits)) - one
    low = (one << np.uint64(FILTER_BITS)) - one
    for k in range(p):
        for word in (words[k], words[k] ^ mask):
            at = word & low
            seen[at >> np.uint64(6)] |= one << (at & np.uint64(63))
    count = 0
    for i in range(p):
        first = words[i] ^ target
        for j in range(i + 1, p):
            key = first ^ words[j]
            at = key & low
            if (seen[at >> np.uint64(6)] >> (at & np.uint64(63))) & one:
                for word in (key, key ^ mask):
                    place = np.searchsorted(ordered, word)
                    while place < p and ordered[place] == word:
                        k = places[place]
                        if k > j and count < len(out):
                            out[count, 0] = i
                            out[count, 1] = j
                            out[count, 2] = k
                            count += 1
                        place += 1
    return count
