"""The encoded training matrix: small integers, one row per feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Bins"]


@dataclass(frozen=True)
class Bins:
    """Binned features, feature-major, with the training marginal of every feature.

    Features whose bins hold the same numbers of training rows share one marginal: continuous columns
    without ties all do, so that 50,000 of them cost one.

    Attributes
    ----------
    codes : (p, n) uint8 or uint16
        Bin of every cell. The largest code of the dtype means missing.
    names : tuple of str
        Name of every encoded feature.
    marginal : (p,) int32
        Which marginal a feature has.
    first : (m + 1,) int64
        Where each marginal starts in `value` and `weight`.
    value : (total,) float64
        Value of a bin in [0, 1]: its mid-rank, or 0 and 1 for a binary feature.
    weight : (total,) float64
        Share of the feature's non-missing training rows in the bin. Sums to 1 over a marginal.
    """

    codes: np.ndarray
    names: tuple[str, ...]
    marginal: np.ndarray
    first: np.ndarray
    value: np.ndarray
    weight: np.ndarray

    @property
    def n_features(self) -> int:
        """Number of encoded features p."""
        return int(self.codes.shape[0])

    @property
    def n_rows(self) -> int:
        """Number of training rows n."""
        return int(self.codes.shape[1])

    @property
    def missing_code(self) -> int:
        """Code of a missing cell."""
        return int(np.iinfo(self.codes.dtype).max)

    def values_of(self, feature: int) -> np.ndarray:
        """Bin values of one feature."""
        m = self.marginal[feature]
        return self.value[self.first[m] : self.first[m + 1]]

    def weights_of(self, feature: int) -> np.ndarray:
        """Bin weights of one feature."""
        m = self.marginal[feature]
        return self.weight[self.first[m] : self.first[m + 1]]
