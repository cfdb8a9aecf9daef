"""Wide data: features one by one, each beyond those selected before it.

Where features outnumber rows, many say the same: none of them is needed beyond all others, and yet one of
them is. So there a second question is asked, of single features: does it explain what those selected before it
leave. The best of all features is taken if its p-value times their number is at most the rate, and so on until
none is: the probability that any step is wrong is then at most the rate.
"""

from __future__ import annotations

import numpy as np

from raytpnn.posterior.selection.basis import Basis
from raytpnn.posterior.selection.left_out import FitWithout
from raytpnn.posterior.selection.score_tests import Tested, orthonormal

__all__ = ["one_by_one"]

# Features selected so are at most this share of the rows.
MOST_SHARE = 0.1
# Of a feature that others explain to so much nothing is left to test.
EXPLAINED = 0.99


def one_by_one(fit: FitWithout, basis: Basis, first: list[int], rate: float) -> list[tuple[Tested, float]]:
    """Features beyond those before them, with the p-value times the number of features.

    Parameters
    ----------
    fit : FitWithout
    basis : Basis
    first : list of int
        Features selected already.
    rate : float
        Largest corrected p-value.

    Returns
    -------
    list of pairs
        A feature, tested, and its corrected p-value, which never falls from one step to the next.
    """
    from scipy.stats import f as f_law

    family, weight = fit.family, fit.weight
    f = family.start(fit.y, fit.offset) + fit.offset
    dispersion = float(np.mean([model.dispersion for model in fit.models]))
    root = np.sqrt(weight)
    score = family.reference_rows(fit.y, f, np.ones(len(f)), dispersion)[0] * root
    known, p = int(np.sum(weight > 0.0)), fit.bins.n_features
    chosen, found, corrected = list(first), [], 0.0
    while len(found) < max(int(MOST_SHARE * known), 1):
        columns = [np.ones((1, len(f))), basis.ranks(chosen)] if chosen else [np.ones((1, len(f)))]
        q = orthonormal(np.vstack(columns).T * root[:, None])
        freedom = known - q.shape[1] - 1
        if freedom < 2:
            break
        left = score - q @ (q.T @ score)
        best, share = -1, 0.0
        for features, ranks in basis.chunks():
            u = ranks * root.astype(np.float32)
            inside = u @ q.astype(np.float32)
            squares = np.einsum("ij,ij->i", u, u, dtype=np.float64)
            rest = squares - np.einsum("ij,ij->i", inside, inside, dtype=np.float64)
            usable = rest > (1.0 - EXPLAINED) * np.maximum(squares, 1e-12)
            explained = np.where(usable, (u @ left.astype(np.float32)) ** 2 / np.maximum(rest, 1e-12), 0.0)
            top = int(np.argmax(explained))
            if explained[top] > share:
                best, share = int(features[top]), float(explained[top])
        total = float(left @ left)
        if best < 0 or not share < total:
            break
        p_value = float(f_law.sf(share / ((total - share) / freedom), 1, freedom))
        corrected = max(corrected, min(p_value * p, 1.0))
        if corrected > rate:
            break
        found.append((Tested((best,), 1, p_value), corrected))
        chosen.append(best)
    return found
