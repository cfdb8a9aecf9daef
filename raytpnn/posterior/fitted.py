"""Draws with the data they were fitted to, laid out for questions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.draws.draws import Draws
from raytpnn.families import Family
from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.norms import MAX_ROWS, Norms, component_norms, evenly_spaced, over_outputs
from raytpnn.forward.outputs import OutputsPredictor
from raytpnn.forward.prediction import LATENT_ENTRIES, Predictor, row_blocks
from raytpnn.posterior.evaluate.observed import as_shift, encode_response

__all__ = ["Fitted"]

# What is larger than so many standard errors is more than noise makes; see examples/inclusion.py.
STANDARD_ERRORS = 4.0


class Fitted:
    """What every question to a posterior starts from.

    Parameters
    ----------
    draws : Draws
    encoder : Encoder
    bins : Bins
        Training rows, encoded.
    family : Family
    y : (n,) float64
        Training response; 0 and 1 for two classes.
    weight, offset : (n,) float64, optional
        Training sample weights (1 if not given) and offset (0 if not given).
    classes : tuple, optional
        Labels that y = 0, 1, ... stand for, when the user gave labels.
    config : dict, optional
        How the run was made, for the record; JSON types.
    """

    def __init__(
        self,
        draws: Draws,
        encoder: Encoder,
        bins: Bins,
        family: Family,
        y: np.ndarray,
        weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        classes: tuple[Any, ...] | None = None,
        config: dict[str, Any] | None = None,
    ):
        self.draws = draws
        self.encoder = encoder
        self.bins = bins
        self.family = family
        self.y = np.asarray(y, np.float64)
        self.weight = np.ones_like(self.y) if weight is None else np.asarray(weight, np.float64)
        self.offset = np.zeros_like(self.y) if offset is None else np.asarray(offset, np.float64)
        self.classes = None if classes is None else tuple(classes)
        self.config = config or {}
        if draws.n_draws == 0:
            raise ValueError("there are no draws: a posterior needs at least one")

    def __repr__(self) -> str:
        chains = len(np.unique(self.draws.chain))
        return (
            f"Posterior({self.family.name}, {self.draws.n_draws:,} draws of {chains} chain(s), "
            f"{self.bins.n_rows:,} rows, {self.bins.n_features:,} features)"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded features for people: with the gene symbol where one is known."""
        return self.bins.names if self.encoder is None else self.encoder.labels

    def output(self, name: str) -> Any:
        """One output as a posterior of its own; see `raytpnn.posterior.one_output.one_output`."""
        from raytpnn.posterior.one_output import one_output

        whole: Any = self
        return one_output(whole, name)

    @cached_property
    def ensemble(self) -> Ensemble:
        """The terms of all draws, laid out for compiled code."""
        return Ensemble.of(self.draws, self.bins)

    @cached_property
    def predictor(self) -> Any:
        """Latent f of all draws as a function of codes: a `Predictor`, or one for every output."""
        if self.family.outputs is not None:
            return OutputsPredictor.of(self.draws, self.bins, self.family.outputs)
        return Predictor(self.ensemble)

    @cached_property
    def norms(self) -> Norms:
        """Norms of the components over the training rows; of several outputs, of all of them together."""
        if self.family.outputs is not None:
            place = {features: i for i, features in enumerate(self.ensemble.components)}
            views = [self.output(name) for name in self.family.outputs]
            places = [np.array([place[S] for S in view.ensemble.components], np.int64) for view in views]
            return over_outputs([view.norms for view in views], places, len(place))
        return component_norms(self.predictor, self.norm_codes(), negligible=self.negligible)

    @cached_property
    def negligible(self) -> float:
        """Size of an effect, in units of f, up to which noise alone makes one: four standard errors.

        The standard error is that of a constant estimated from all training rows, 1 / sqrt(information); for
        gaussian the standard deviation of the noise over sqrt(n). An effect of four of them lowers the
        deviance by 16. Of several outputs, the largest.
        """
        if self.family.outputs is not None:
            return max(self.output(name).negligible for name in self.family.outputs)
        nuisance = float(np.mean(self.draws.nuisance))
        information = self.weight.sum() / (1.0 if self.family.dispersion_in_rows else nuisance)
        if information > 0.0:
            mean = float(np.average(self.y, weights=self.weight))
            information *= float(self.family.information(np.array(self.family.link(mean)), nuisance))
        return STANDARD_ERRORS / np.sqrt(information) if information > 0.0 else np.inf

    def refuse_outputs(self, what: str) -> None:
        """Raise ValueError if there are several outputs, of which `what` is to be asked one by one."""
        if self.family.outputs is not None:
            listed = ", ".join(map(repr, self.family.outputs[:4]))
            raise ValueError(
                f"{what} is of one function, and family {self.family.name!r} has several; ask one of its "
                f"outputs: post.output({self.family.outputs[0]!r}).{what} (outputs: {listed})"
            )

    def training_codes(self) -> np.ndarray:
        """Codes of the features in use at the training rows, (k, n)."""
        return np.asarray(self.bins.codes[self.ensemble.used])

    def norm_codes(self) -> np.ndarray:
        """Codes of the features in use at the training rows over which norms are taken, (k, m)."""
        rows = evenly_spaced(self.bins.n_rows, MAX_ROWS)
        return np.asarray(self.bins.codes[self.ensemble.used[:, None], rows])

    def training_blocks(self, rows: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of training rows and the f of every draw there, (draws, rows), of at most 64 MB.

        Parameters
        ----------
        rows : (m,) int, optional
            Training rows wanted; all by default.
        """
        wanted = np.arange(self.bins.n_rows) if rows is None else rows
        size = max(LATENT_ENTRIES // (self.draws.n_draws * self.draws.n_outputs), 1)
        for block in row_blocks(len(wanted), size):
            chosen = wanted[block]
            codes = np.array(self.bins.codes[self.ensemble.used[:, None], chosen])
            yield chosen, self.predictor.latent(codes, self.offset[chosen])

    def training_densities(self, units: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of training rows and their log density in every draw, (draws, rows).

        Parameters
        ----------
        units : (m,) int, optional
            What is left out as one: rows, unless a family has several rows for one of the user's.
        """
        for chosen, f in self.training_blocks(units):
            yield chosen, self.family.log_density(self.y[chosen], f, self.draws.nuisance[:, None])

    @property
    def unit_weight(self) -> np.ndarray:
        """Sample weights of what `training_densities` counts as one, (units,)."""
        return self.weight

    def encode_response(self, y: Any) -> np.ndarray:
        """Responses as the model sees them, (n,) float64: 0 and 1 for class labels.

        Raises
        ------
        ValueError
            Naming the first value that is not a known class, not a finite number, or not of the family.
        """
        return encode_response(y, self.family, self.classes)

    def encode_rows(self, X: Any, offset: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Rows as the predictor takes them.

        Returns
        -------
        codes : (k, n) uint8 or uint16
            Bins of the features in use; row i is encoded feature `ensemble.used[i]`, the largest code means
            missing.
        offset : (n,) float64
            Zeros if none was given.

        Raises
        ------
        ValueError
            If X lacks a column or has no rows, or the offset does not fit; the message says which.
        """
        codes = self.encoder.transform(X, self.ensemble.used)
        if codes.shape[1] == 0:
            raise ValueError("X has no rows; give at least one")
        return codes, as_shift(offset, codes.shape[1])
