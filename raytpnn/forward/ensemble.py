"""The terms of all draws, laid out for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.draws.draws import Draws

__all__ = ["Ensemble", "Terms"]


class Terms(NamedTuple):
    """Terms and the marginals of the features they use, by name, for compiled code.

    Features are numbered by their place among the features in use, and stand in ascending order in a term.
    """

    beta: np.ndarray  # (T,) float64
    start: np.ndarray  # (T + 1,) int64, where a term's factors start
    feature: np.ndarray  # (V,) int64
    b: np.ndarray  # (V,) float64
    gamma: np.ndarray  # (V,) float64
    first_bin: np.ndarray  # (k,) int64, where a feature's bins start
    n_bins: np.ndarray  # (k,) int64
    value: np.ndarray  # float64, of a bin
    weight: np.ndarray  # float64, of a bin


@dataclass(frozen=True)
class Ensemble:
    """Draws regrouped for prediction: what every term is, whose it is, and of which component.

    Attributes
    ----------
    terms : Terms
    used : (k,) int64
        Encoded features in use, ascending. Row i of the codes given to compiled code is feature `used[i]`.
    draw : (T,) int64
        Draw that owns a term.
    component : (T,) int64
        Component of a term: its place in `components`.
    components : tuple of tuples of int
        Distinct sets of encoded features, each ascending.
    intercept : (D,) float64
    """

    terms: Terms
    used: np.ndarray
    draw: np.ndarray
    component: np.ndarray
    components: tuple[tuple[int, ...], ...]
    intercept: np.ndarray

    @staticmethod
    def of(draws: Draws, bins: Bins) -> Ensemble:
        """Regroup draws over the marginals of the training bins."""
        used, renumbered = np.unique(draws.feature, return_inverse=True)
        # Arrays are copied, so that a read-only one (from Arrow or a memory map) is not compiled for anew.
        by_feature = np.lexsort((renumbered, draws.term_of_variable))
        marginal = bins.marginal[used]
        first_bin = bins.first[marginal].astype(np.int64)
        terms = Terms(
            beta=np.array(draws.beta, np.float64),
            start=np.array(draws.variable_start, np.int64),
            feature=renumbered[by_feature].astype(np.int64),
            b=draws.b[by_feature].astype(np.float64),
            gamma=draws.gamma[by_feature].astype(np.float64),
            first_bin=first_bin,
            n_bins=bins.first[marginal + 1].astype(np.int64) - first_bin,
            value=np.array(bins.value, np.float64),
            weight=np.array(bins.weight, np.float64),
        )
        component, example = group_terms(terms, len(used))
        components = tuple(
            tuple(used[terms.feature[terms.start[t] : terms.start[t + 1]]].tolist()) for t in example
        )
        return Ensemble(
            terms, used.astype(np.int64), draws.draw_of_term, component, components, np.array(draws.intercept)
        )

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.intercept)

    @property
    def n_terms(self) -> int:
        """Number of terms of all draws."""
        return len(self.terms.beta)

    @cached_property
    def order(self) -> np.ndarray:
        """Number of variables of every component."""
        return np.array([len(component) for component in self.components], np.int64)

    @cached_property
    def holders(self) -> tuple[np.ndarray, np.ndarray]:
        """Terms by feature in use: `term[start[i] : start[i + 1]]` hold the i-th of `used`, ascending."""
        term_of_factor = np.repeat(np.arange(self.n_terms), np.diff(self.terms.start))
        by_feature = np.argsort(self.terms.feature, kind="stable")
        start = np.searchsorted(self.terms.feature[by_feature], np.arange(len(self.used) + 1))
        return start, term_of_factor[by_feature]

    def terms_with(self, features: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Terms that hold some of these encoded features, ascending, and how many of them each holds."""
        start, term = self.holders
        place = np.flatnonzero(np.isin(self.used, features))
        held = [term[start[i] : start[i + 1]] for i in place]
        return np.unique(np.concatenate([np.empty(0, np.int64), *held]), return_counts=True)

    def dense(self, codes: np.ndarray) -> np.ndarray:
        """Codes for compiled code: a missing cell gets the first code past the feature's bins.

        Parameters
        ----------
        codes : (k, n) uint8 or uint16
            Codes of the features in use.
        """
        past = self.terms.n_bins.astype(codes.dtype)[:, None]
        narrow = np.uint8 if np.all(self.terms.n_bins < 256) else np.uint16
        return np.ascontiguousarray(np.minimum(codes, past).astype(narrow, copy=False))


def group_terms(terms: Terms, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Give every term the number of its set of features, and every number one term that has it."""
    order = np.diff(terms.start)
    number = np.zeros(len(order), np.int64)
    # After step d, terms with one number agree in their first d + 1 features (-1 past the last one).
    for d in range(int(order.max(initial=0))):
        has = order > d
        feature = np.full(len(order), -1, np.int64)
        feature[has] = terms.feature[terms.start[:-1][has] + d]
        _, number = np.unique(number * (n_features + 1) + feature + 1, return_inverse=True)
    _, example = np.unique(number, return_index=True)
    return number.astype(np.int64), example
