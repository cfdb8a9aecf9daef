"""Pooled draws: flat arrays, one row per draw, terms and their variables behind offsets."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from raytpnn.storage.formats.length import Counted

__all__ = ["Draws"]


@dataclass(frozen=True)
class Draws:
    """States kept by all chains, on the user's scale of the response.

    Draw i owns the terms `term_start[i]:term_start[i + 1]`; term t owns the variables
    `variable_start[t]:variable_start[t + 1]`. Chains may differ in length (a run that was interrupted).

    Attributes
    ----------
    chain, draw : (D,) int32
        Chain of a draw and its number within the chain, both from 0; sorted by (chain, draw).
    loglik, intercept, nuisance, b_gamma, sigma_beta2 : (D,) float64
        Scalars of a draw. `nuisance` is 1 for families without one.
    term_start : (D + 1,) int64
    beta : (T,) float64
    variable_start : (T + 1,) int64
    feature : (V,) int32
        Encoded feature of a factor.
    b, gamma : (V,) float64
        Location and scale of a factor.
    output : (T,) int32
        Output that a term belongs to; 0 if not given.
    intercepts : (D, outputs) float64
        Of every output; `intercept`, that of the first, if not given.
    """

    chain: np.ndarray
    draw: np.ndarray
    loglik: np.ndarray
    intercept: np.ndarray
    nuisance: np.ndarray
    b_gamma: np.ndarray
    sigma_beta2: np.ndarray
    term_start: np.ndarray
    beta: np.ndarray
    variable_start: np.ndarray
    feature: np.ndarray
    b: np.ndarray
    gamma: np.ndarray
    output: np.ndarray = None  # type: ignore[assignment]
    intercepts: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.output is None:
            object.__setattr__(self, "output", np.zeros(len(self.beta), np.int32))
        if self.intercepts is None:
            object.__setattr__(self, "intercepts", self.intercept[:, None])

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.intercepts.shape[1]

    @property
    def n_draws(self) -> int:
        """Number of draws of all chains."""
        return len(self.chain)

    @property
    def K(self) -> np.ndarray:
        """Number of terms of every draw, (D,)."""
        return np.diff(self.term_start)

    @property
    def order(self) -> np.ndarray:
        """Number of variables of every term, (T,)."""
        return np.diff(self.variable_start)

    @property
    def draw_of_term(self) -> np.ndarray:
        """Draw that owns every term, (T,) int64."""
        return np.repeat(np.arange(self.n_draws), self.K)

    @property
    def term_of_variable(self) -> np.ndarray:
        """Term that owns every factor, (V,) int64."""
        return np.repeat(np.arange(len(self.beta)), self.order)

    def used_features(self) -> np.ndarray:
        """List the encoded features that occur in some term, ascending."""
        return np.unique(self.feature)

    def take(self, index: np.ndarray) -> Draws:
        """Pick some draws, in the order given.

        Parameters
        ----------
        index : (m,) int
        """
        terms, term_start = owned(self.term_start, index)
        variables, variable_start = owned(self.variable_start, terms)
        chosen = {"beta": terms, "output": terms, "feature": variables, "b": variables, "gamma": variables}
        starts = {"term_start": term_start, "variable_start": variable_start}
        return Draws(
            **{
                field.name: getattr(self, field.name)[chosen.get(field.name, index)]
                for field in fields(Draws)
                if field.name not in starts
            },
            **starts,
        )

    def of_output(self, output: int) -> Draws:
        """The same draws as those of one function: the terms and the intercept of one output."""
        if self.n_outputs == 1:
            return self
        kept = self.output == output
        terms = np.flatnonzero(kept)
        variables, variable_start = owned(self.variable_start, terms)
        before = np.concatenate([[0], np.cumsum(kept)])
        return replace(
            self,
            intercept=self.intercepts[:, output],
            term_start=before[self.term_start].astype(np.int64),
            beta=self.beta[terms],
            variable_start=variable_start,
            feature=self.feature[variables],
            b=self.b[variables],
            gamma=self.gamma[variables],
            output=np.zeros(len(terms), np.int32),
            intercepts=self.intercepts[:, output : output + 1],
        )

    def counted(self, which: Counted) -> Draws:
        """Only the draws that count, numbered anew from 0 in every chain."""
        chosen = self.take(np.flatnonzero(which.among(self.draw)))
        _, first, length = np.unique(chosen.chain, return_index=True, return_counts=True)
        number = np.arange(chosen.n_draws) - np.repeat(first, length)
        return replace(chosen, draw=number.astype(np.int32))

    def evenly_spaced(self, most: int) -> Draws:
        """At most `most` draws (one a chain at least), evenly spaced in every chain."""
        chains, first, length = np.unique(self.chain, return_index=True, return_counts=True)
        each = max(most // len(chains), 1)
        kept = [
            start + np.unique(np.linspace(0, size - 1, min(size, each)).round().astype(np.int64))
            for start, size in zip(first, length, strict=True)
        ]
        return self.take(np.concatenate(kept))

    @staticmethod
    def concatenate(parts: list[Draws]) -> Draws:
        """Join draws in the order given, shifting the offsets."""
        offsets = {"term_start": "beta", "variable_start": "feature"}
        joined = {}
        for field in fields(Draws):
            arrays = [getattr(part, field.name) for part in parts]
            if field.name in offsets:
                sizes = np.cumsum([0] + [len(getattr(part, offsets[field.name])) for part in parts])
                arrays = [a[:-1] + s for a, s in zip(arrays, sizes[:-1], strict=True)] + [sizes[-1:]]
            joined[field.name] = np.concatenate(arrays)
        return Draws(**joined)


def owned(start: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of what some owners own, one owner after the other, and where each of them starts."""
    count = start[owners + 1] - start[owners]
    new_start = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    within = np.arange(new_start[-1]) - np.repeat(new_start[:-1], count)
    return np.repeat(start[owners], count) + within, new_start
