"""Functions of a feature's ranks, of which tests of effects are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from raytpnn.data.encoding.bins import Bins

__all__ = ["Basis"]

# Cells of ranks held at a time.
CHUNK_CELLS = 20_000_000


class Basis:
    """Legendre polynomials of the features' ranks at some training rows; a missing value gives 0.

    Parameters
    ----------
    bins : Bins
    rows : (n,) int64
    """

    def __init__(self, bins: Bins, rows: np.ndarray) -> None:
        self.bins, self.rows = bins, rows
        self.known: dict[tuple[int, int], np.ndarray] = {}

    def ranks(self, features: Sequence[int] | np.ndarray) -> np.ndarray:
        """Ranks with mean 0 and length 1, (features, n) float32; zeros for a feature without spread."""
        chosen = np.asarray(features, np.int64)
        bins = self.bins
        codes = np.asarray(bins.codes[chosen[:, None], self.rows], np.int64)
        missing = codes == bins.missing_code
        place = bins.first[bins.marginal[chosen]][:, None] + np.where(missing, 0, codes)
        out = bins.value[place].astype(np.float32)
        known = np.maximum((~missing).sum(axis=1, keepdims=True), 1)
        out -= np.where(missing, 0.0, out).sum(axis=1, keepdims=True, dtype=np.float64) / known
        out[missing] = 0.0
        length = np.sqrt(np.einsum("ij,ij->i", out, out, dtype=np.float64))
        return out / np.maximum(length, 1e-12)[:, None].astype(np.float32)

    def chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All features, some at a time, and their ranks."""
        step = max(CHUNK_CELLS // max(len(self.rows), 1), 1)
        for start in range(0, self.bins.n_features, step):
            features = np.arange(start, min(start + step, self.bins.n_features))
            yield features, self.ranks(features)

    def codes(self, feature: int) -> np.ndarray:
        """Bins of a feature at the rows; a missing cell gets the number of bins."""
        codes = np.asarray(self.bins.codes[feature][self.rows], np.int64)
        return np.minimum(codes, len(self.bins.values_of(feature)))

    def powers(self, feature: int, degree: int) -> np.ndarray:
        """Polynomials of degree 1 ... `degree`, at most one fewer than there are bins, (n, degrees)."""
        values, weights = self.bins.values_of(feature), self.bins.weights_of(feature)
        degree = max(min(degree, len(values) - 1), 1)
        if (feature, degree) in self.known:
            return self.known[feature, degree]
        table = np.polynomial.legendre.legvander(2.0 * values - 1.0, degree)[:, 1:]
        table = np.vstack([table - weights @ table, np.zeros((1, degree))])
        found = table[self.codes(feature)]
        if (len(self.known) + 1) * found.size <= CHUNK_CELLS:
            self.known[feature, degree] = found
        return found

    def effect(self, features: Sequence[int], degree: int) -> np.ndarray:
        """Products of one polynomial of every feature, (n, columns); degree 1 ... `degree` each."""
        parts = [self.powers(feature, degree) for feature in features]
        columns = [
            np.prod([part[:, d] for part, d in zip(parts, degrees, strict=True)], axis=0)
            for degrees in product(*(range(part.shape[1]) for part in parts))
        ]
        return np.stack(columns, axis=1)
