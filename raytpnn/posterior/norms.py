"""How large every component is in every draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from raytpnn.posterior.forward import Evaluator
from raytpnn.posterior.parallel import even_ranges, run_all
from raytpnn.posterior.prediction import PARTS, Predictor
from raytpnn.posterior.vectors import LANES

__all__ = ["MAX_ROWS", "Norms", "component_norms", "evenly_spaced"]

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
    """

    draw: np.ndarray
    component: np.ndarray
    norm: np.ndarray
    n_draws: int
    n_components: int

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


def evenly_spaced(n: int, most: int) -> np.ndarray:
    """At most `most` of the rows 0 ... n - 1, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def component_norms(predictor: Predictor, codes: np.ndarray, together: np.ndarray | None = None) -> Norms:
    """Empirical l2 norm of every component in every draw that holds it.

    Parameters
    ----------
    predictor : Predictor
    codes : (k, n)
        Training codes of the features in use. Of more than 10,000 rows, 10,000 evenly spaced ones count.
    together : (number of components,) int64, optional
        Number of the group of a component, ascending: norms are then those of the sums over groups, and
        groups stand in the place of components.
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
    return Norms(draw[sort], component[sort], norm[sort], ensemble.n_draws, n_groups)
