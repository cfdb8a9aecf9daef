"""Features as centred and scaled ranks, and their squares: the shapes that screens multiply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from raytpnn.data.encoding.bins import Bins

__all__ = ["EVEN", "LINEAR", "Shapes"]

LINEAR, EVEN = 0, 1
# A square that a feature's own rank explains but for this share of its variance is none (two bins).
LEAST_REST = 1e-6


@dataclass(frozen=True)
class Shapes:
    """Linear and even shapes of features at some rows.

    Each has mean 0 and variance 1 over the feature's training marginal, and the even one is uncorrelated with
    the linear one. Cells that are missing are 0, as the factors of terms are there.

    Attributes
    ----------
    codes : (p, m) uint8 or uint16
        Bins at the rows that are screened.
    marginal : (p,) int
        Which row of the tables a feature has.
    tables : (2, marginals, width) float32
        Linear and even value of every bin, 0 for missing.
    """

    codes: np.ndarray
    marginal: np.ndarray
    tables: np.ndarray

    @staticmethod
    def of(bins: Bins, rows: np.ndarray | None = None) -> Shapes:
        """Shapes of encoded features, at all rows or at some."""
        starts, ends = bins.first[:-1], bins.first[1:]
        width = int((ends - starts).max(initial=0)) + 1
        tables = np.zeros((2, len(starts), width), np.float32)
        for m, (start, end) in enumerate(zip(starts, ends, strict=True)):
            value, weight = bins.value[start:end], bins.weight[start:end]
            linear = standardised(value - weight @ value, weight)
            square = linear**2 - 1.0
            even = standardised(square - linear * (weight @ (square * linear)), weight)
            tables[LINEAR, m, : end - start] = linear
            tables[EVEN, m, : end - start] = even
        codes = bins.codes if rows is None else bins.codes[:, rows]
        return Shapes(codes, np.asarray(bins.marginal, np.intp), tables)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.codes)

    @property
    def n_rows(self) -> int:
        """Number of rows that are screened."""
        return int(self.codes.shape[1])

    def values(self, features: np.ndarray | slice, shape: int) -> np.ndarray:
        """One shape of some features, (features, rows) float32."""
        codes = np.minimum(self.codes[features], self.tables.shape[2] - 1)
        return self.tables[shape][self.marginal[features][:, None], codes]


def standardised(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Centred values scaled to variance 1; zeros if there is no variance to speak of."""
    values = values - weight @ values
    variance = float(weight @ values**2)
    return values / np.sqrt(variance) if variance > LEAST_REST else np.zeros_like(values)
