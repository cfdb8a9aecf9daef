"""Wide data: features one by one, each beyond those selected before it.

Where features outnumber rows, many say the same: none of them is needed beyond all others, and yet one of
them is. And a fit takes up so much noise that tests beyond it do not hold their rate. So there another
question is asked, of single features: does it explain what those selected before it leave. The best of all
features is compared with the best of all for permuted rows (Westfall and Young; after the first step
residuals are permuted, as by Freedman and Lane). It is taken if the p-value is at most the rate, and so on
until none is: the probability that any step is wrong is then at most the rate. No law of the response is
assumed: with 22 rows of two classes among 54,675 features the tail of an F law is far off.
"""

from __future__ import annotations

import numpy as np

from raytpnn.posterior.selection.basis import Basis
from raytpnn.posterior.selection.left_out import FitWithout
from raytpnn.posterior.selection.score_tests import Tested, orthonormal

__all__ = ["one_by_one"]

# Features selected so are at most this share of the rows.
MOST_SHARE = 0.1
# Permutations of the rows, and cells of features x permutations held at a time.
PERMUTATIONS, MOST_CELLS = 999, 10_000_000
# Marks the stream of random numbers that permutes rows.
PERMUTATION_STREAM = 15_485_863
# Of a feature that others explain to so much nothing is left to test.
EXPLAINED = 0.99


def one_by_one(fit: FitWithout, basis: Basis, first: list[int], rate: float, seed: int = 0) -> list[Tested]:
    """Features beyond those before them, with p-values over all features together.

    Parameters
    ----------
    fit : FitWithout
    basis : Basis
    first : list of int
        Features selected already.
    rate : float
        Largest p-value.
    seed : int
        Of the permutations.

    Returns
    -------
    list of Tested
        Their p-values never fall from one step to the next.
    """
    family, weight = fit.family, fit.weight
    rng = np.random.default_rng([seed, PERMUTATION_STREAM])
    rows = np.flatnonzero(weight > 0.0)
    f = family.start(fit.y, fit.offset) + fit.offset
    dispersion = float(np.mean([model.dispersion for model in fit.models]))
    root = np.sqrt(weight[rows])
    score = family.reference_rows(fit.y, f, np.ones(len(f)), dispersion)[0][rows] * root
    chosen, p_value = list(first), 0.0
    found: list[Tested] = []
    while len(found) < max(int(MOST_SHARE * len(rows)), 1):
        columns = np.ones((1, len(rows)), np.float32)
        if chosen:
            columns = np.vstack([columns, basis.ranks(chosen)[:, rows]])
        q = orthonormal(columns.T * root[:, None])
        if len(rows) - q.shape[1] < 3:
            break
        left = score - q @ (q.T @ score)
        permuted = np.stack([left, *(rng.permutation(left) for _ in range(PERMUTATIONS))], axis=1)
        permuted -= q @ (q.T @ permuted)
        permuted /= np.maximum(np.sqrt(np.einsum("ij,ij->j", permuted, permuted)), 1e-300)
        best, largest = best_feature(basis, rows, root, q, permuted)
        # Ties count against the feature: with two classes and few rows they are common.
        p_value = max(p_value, float(np.mean(largest >= largest[0] * (1.0 - 1e-5))))
        if best < 0 or p_value > rate:
            break
        found.append(Tested((best,), 1, p_value))
        chosen.append(best)
    return found


def best_feature(
    basis: Basis, rows: np.ndarray, root: np.ndarray, q: np.ndarray, permuted: np.ndarray
) -> tuple[int, np.ndarray]:
    """Feature that goes along best with the first column, beyond q; and the best share for every column."""
    best, largest = -1, np.zeros(permuted.shape[1])
    targets = permuted.astype(np.float32)
    step = max(MOST_CELLS // permuted.shape[1], 1)
    for features, all_ranks in basis.chunks():
        for start in range(0, len(features), step):
            u = all_ranks[start : start + step, rows] * root.astype(np.float32)
            squares = np.einsum("ij,ij->i", u, u, dtype=np.float64)
            u = u - (u @ q.astype(np.float32)) @ q.T.astype(np.float32)
            rest = np.einsum("ij,ij->i", u, u, dtype=np.float64)
            usable = rest > (1.0 - EXPLAINED) * np.maximum(squares, 1e-12)
            if not usable.any():
                continue
            u = u[usable] / np.sqrt(rest[usable])[:, None].astype(np.float32)
            share = np.abs(u @ targets)
            top = int(np.argmax(share[:, 0]))
            if share[top, 0] > largest[0]:
                best = int(features[start : start + step][usable][top])
            np.maximum(largest, share.max(axis=0), out=largest)
    return best, largest
