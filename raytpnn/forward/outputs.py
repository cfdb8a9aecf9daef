"""The latent functions of families of several outputs, at new rows: records, a field for each output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.draws.draws import Draws
from raytpnn.families import Family
from raytpnn.families.outputs import as_records
from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.prediction import LATENT_ENTRIES, Predictor, row_blocks

__all__ = ["OutputsPredictor"]


@dataclass(frozen=True)
class OutputsPredictor:
    """What `Predictor` is for one function: of every output one, over the features that any of them uses.

    Attributes
    ----------
    names : tuple of str
        Of the outputs.
    used : (k,) int64
        Encoded features that some output uses; codes are of these.
    parts : tuple of Predictor
    """

    names: tuple[str, ...]
    used: np.ndarray
    parts: tuple[Predictor, ...]

    @staticmethod
    def of(draws: Draws, bins: Bins, names: Sequence[str]) -> OutputsPredictor:
        """Predictors of the outputs of some draws."""
        parts = tuple(Predictor(Ensemble.of(draws.of_output(c), bins)) for c in range(len(names)))
        return OutputsPredictor(tuple(names), draws.used_features().astype(np.int64), parts)

    def codes_of(self, output: int, codes: np.ndarray) -> np.ndarray:
        """Codes of the features that one output uses."""
        return codes[np.searchsorted(self.used, self.parts[output].ensemble.used)]

    def latent(self, codes: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Latent f of every draw at every row, (D, n) records; the offset is the first output's."""
        zero = np.zeros_like(offset)
        f = [part.latent(self.codes_of(c, codes), zero if c else offset) for c, part in enumerate(self.parts)]
        return as_records(f, self.names)

    def latent_blocks(self, codes: np.ndarray, offset: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Pairs of rows and the f of every draw there, (D, rows) records, of at most 64 MB."""
        draws = self.parts[0].ensemble.n_draws
        size = max(LATENT_ENTRIES // max(draws * len(self.parts), 1), 1)
        for rows in row_blocks(codes.shape[1], size):
            yield rows, self.latent(codes[:, rows], offset[rows])

    def mean(self, family: Family, codes: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Posterior mean of the mean response, (n,), or of the probabilities of classes, (n, classes)."""
        blocks = self.latent_blocks(codes, offset)
        return np.concatenate([family.mean(f).mean(axis=0) for _, f in blocks])

    def latent_mean(self, codes: np.ndarray) -> np.ndarray:
        """Posterior mean of f without offset, (n,) records."""
        means = [part.latent_mean(self.codes_of(c, codes)) for c, part in enumerate(self.parts)]
        return as_records(means, self.names)
