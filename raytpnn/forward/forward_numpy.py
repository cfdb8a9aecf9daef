"""The forward pass in plain NumPy: slow, readable, what the compiled one is tested against."""

from __future__ import annotations

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.draws.draws import Draws

__all__ = ["factor_table", "latent", "term_values"]


def factor_table(bins: Bins, feature: int, b: float, gamma: float) -> np.ndarray:
    """1 - s/c of every code of a feature, 0 for missing: (largest code + 1,) float64."""
    with np.errstate(over="ignore"):
        s = 1.0 / (1.0 + np.exp((b - bins.values_of(feature)) / gamma))
    c = np.sum(bins.weights_of(feature) * s)
    table = np.zeros(bins.missing_code + 1)
    table[: len(s)] = 1.0 - s / c
    return table


def term_values(draws: Draws, bins: Bins, term: int, codes: np.ndarray) -> np.ndarray:
    """Value beta * prod_j (1 - s_j/c_j) of one term at every row, (n,)."""
    value = np.full(codes.shape[1], draws.beta[term])
    for v in range(draws.variable_start[term], draws.variable_start[term + 1]):
        table = factor_table(bins, draws.feature[v], draws.b[v], draws.gamma[v])
        value *= table[codes[draws.feature[v]]]
    return value


def latent(draws: Draws, bins: Bins, codes: np.ndarray) -> np.ndarray:
    """Intercept plus terms of every draw at every row.

    Parameters
    ----------
    draws : Draws
    bins : Bins
        Training marginals.
    codes : (p, n)
        Codes of all encoded features.

    Returns
    -------
    (D, n) float64
    """
    f = np.empty((draws.n_draws, codes.shape[1]))
    for i in range(draws.n_draws):
        f[i] = draws.intercept[i]
        for term in range(draws.term_start[i], draws.term_start[i + 1]):
            f[i] += term_values(draws, bins, term, codes)
    return f
