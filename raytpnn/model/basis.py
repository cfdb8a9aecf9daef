"""The basis in plain NumPy float64: definition, for tests and for reading.

A factor is 1 - s/c with s = sigmoid((x - b) / gamma) and c the mean of s over the feature's training
marginal, so that its mean over the marginal is 0; a term is a product of factors. The height of a factor is
its largest absolute value over the feature's bins, that of a term the product of its factors' heights.
"""

from __future__ import annotations

import numpy as np

from raytpnn.data.encoding.bins import Bins

__all__ = ["factor", "height", "phi"]


def factor(bins: Bins, feature: int, b: float, gamma: float) -> np.ndarray:
    """1 - s/c for every bin of a feature, then 0 for a missing value, (bins + 1,)."""
    u = (bins.values_of(feature) - b) / gamma
    s = np.where(u >= 0, 1.0 / (1.0 + np.exp(-np.abs(u))), np.exp(-np.abs(u)) / (1.0 + np.exp(-np.abs(u))))
    c = bins.weights_of(feature) @ s
    return np.append(1.0 - s / c, 0.0)


def height(bins: Bins, features: np.ndarray, b: np.ndarray, gamma: np.ndarray) -> float:
    """Height of a term: the most that its basis function can be at any combination of bins."""
    values = zip(features, b, gamma, strict=True)
    return float(np.prod([np.abs(factor(bins, int(j), float(at), float(by))).max() for j, at, by in values]))


def phi(bins: Bins, features: np.ndarray, b: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Basis function at the training rows, (n,)."""
    product = np.ones(bins.n_rows)
    for j, feature in enumerate(features):
        table = factor(bins, int(feature), float(b[j]), float(gamma[j]))
        codes = np.minimum(bins.codes[feature].astype(np.int64), len(table) - 1)
        product *= table[codes]
    return product
