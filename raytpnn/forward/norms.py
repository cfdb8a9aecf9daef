"""How large every component is in every draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raytpnn.forward.forward import Evaluator
from raytpnn.forward.prediction import PARTS, Predictor
from raytpnn.forward.vectors import LANES
from raytpnn.parallel.threads import even_ranges, run_all

__all__ = ["MAX_ROWS", "Norms", "component_norms", "evenly_spaced", "gathered", "over_outputs"]

# More training rows than this are thinned: the norm of a component is then known to about 1 %.
MAX_ROWS = 10_000


@dataclass(frozen=True)
class Norms:
    """Norms of the components that draws hold; those not held have norm 0.

    Attributes
    ----------
    draw, component : (m,) int64
        Sorted by component, then by norm.
    norm : (m,) float64
        sqrt(mean over training rows of f_S^2).
    n_draws, n_components : int
    negligible : float
        Sizes up to this one are what noise alone makes.
    """

    draw: np.ndarray
    component: np.ndarray
    norm: np.ndarray
    n_draws: int
    n_components: int
    negligible: float = 0.0

    @property
    def share_of_draws(self) -> np.ndarray:
        """Share of draws in which each component is larger than what is negligible."""
        larger = np.bincount(self.component, self.norm > self.negligible, minlength=self.n_components)
        return larger / self.n_draws

    @property
    def count(self) -> np.ndarray:
        """Number of draws that hold each component."""
        return np.bincount(self.component, minlength=self.n_components)

    @property
    def mean(self) -> np.ndarray:
        """Posterior mean of each component's norm, over all draws."""
        return np.bincount(self.component, self.norm, minlength=self.n_components) / self.n_draws

    def quantile(self, q: float) -> np.ndarray:
        """Posterior quantile of each component's norm, over all draws, by linear interpolation."""
        count = self.count
        zeros = self.n_draws - count
        start = np.cumsum(count) - count

        def order_statistic(i: int) -> np.ndarray:
            place = np.minimum(start + np.maximum(i - zeros, 0), len(self.norm) - 1)
            return np.where(i < zeros, 0.0, self.norm[place])

        position = q * (self.n_draws - 1)
        below = int(np.floor(position))
        low, high = order_statistic(below), order_statistic(min(below + 1, self.n_draws - 1))
        return low + (position - below) * (high - low)


def gathered(norms: Norms, component: np.ndarray, group: np.ndarray, n_groups: int) -> Norms:
    """Root of the sum of the squared norms of the components in each group; a component may be in several.

    Parameters
    ----------
    norms : Norms
    component, group : (m,) int64
        Component i belongs to group g, for every such pair.
    n_groups : int
    """
    # Every (draw, component) is repeated for each group of the component.
    held = norms.count
    entry = np.cumsum(held) - held
    repeat = held[component]
    within = np.arange(repeat.sum()) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    entries = np.repeat(entry[component], repeat) + within
    key = np.repeat(group, repeat) * norms.n_draws + norms.draw[entries]
    distinct, position = np.unique(key, return_inverse=True)
    norm = np.sqrt(np.bincount(position, norms.norm[entries] ** 2, minlength=len(distinct)))
    owner, draw = distinct // norms.n_draws, distinct % norms.n_draws
    sort = np.lexsort((norm, owner))
    return Norms(draw[sort], owner[sort], norm[sort], norms.n_draws, n_groups, norms.negligible)


def over_outputs(parts: Sequence[Norms], places: Sequence[np.ndarray], n_components: int) -> Norms:
    """Root of the sum over outputs of squared norms.

    Parameters
    ----------
    parts : sequence of Norms
        Of every output.
    places : sequence of (components of the output,) int64
        Place of a component among those of all outputs.
    n_components : int
        Of all outputs.
    """
    n_draws = parts[0].n_draws
    pairs = zip(parts, places, strict=True)
    key = np.concatenate([place[part.component] * n_draws + part.draw for part, place in pairs])
    distinct, position = np.unique(key, return_inverse=True)
    squares = np.concatenate([part.norm**2 for part in parts])
    norm = np.sqrt(np.bincount(position, squares, minlength=len(distinct)))
    component, draw = distinct // n_draws, distinct % n_draws
    sort = np.lexsort((norm, component))
    negligible = max(part.negligible for part in parts)
    return Norms(draw[sort], component[sort], norm[sort], n_draws, n_components, negligible)


def evenly_spaced(n: int, most: int) -> np.ndarray:
    """At most `most` of the rows 0 ... n - 1, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def component_norms(
    predictor: Predictor, codes: np.ndarray, together: np.ndarray | None = None, negligible: float = 0.0
) -> Norms:
    """Empirical l2 norm of every component in every draw that holds it.

    Parameters
    ----------
    predictor : Predictor
    codes : (k, n)
        Training codes of the features in use. Of more than 10,000 rows, 10,000 evenly spaced ones count.
    together : (number of components,) int64, optional
        Number of the group of a component, ascending: norms are then those of the sums over groups, and
        groups stand in the place of components.
    negligible : float
        Sizes up to this one are what noise alone makes.
    """
    ensemble, packs = predictor.ensemble, predictor.by_draw
    together = np.arange(len(ensemble.components)) if together is None else together
    rows = evenly_spaced(codes.shape[1], MAX_ROWS)
    dense = ensemble.dense(codes if len(rows) == codes.shape[1] else codes[:, rows])
    group = np.repeat(np.arange(packs.n_groups), np.diff(packs.group_start))
    changes = (np.diff(group) != 0) | (np.diff(together[packs.component]) != 0)
    run = np.concatenate([[0], np.cumsum(changes)])[: len(group)].astype(np.int64)
    squares = np.zeros((int(run.max(initial=-1)) + 1, LANES))

    def evaluate(groups: range) -> None:
        first, last = packs.group_start[groups.start], packs.group_start[groups.stop]
        Evaluator(ensemble, packs, dense).squares(run, int(first), int(last), squares)

    run_all(evaluate, even_ranges(packs.n_groups, PARTS))
    pack = np.repeat(np.arange(len(run)), np.diff(packs.term_start))
    held, example = np.unique(run[pack] * LANES + packs.lane, return_index=True)
    norm = np.sqrt(squares.ravel()[held])
    draw, component = ensemble.draw[packs.term[example]], together[ensemble.component[packs.term[example]]]
    sort = np.lexsort((norm, component))
    n_groups = int(together.max(initial=-1)) + 1
    return Norms(draw[sort], component[sort], norm[sort], ensemble.n_draws, n_groups, negligible)
