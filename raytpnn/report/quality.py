"""How good predictions are: leave-one-out on training rows, plain on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.numerics.level import TAILS
from raytpnn.posterior.evaluate import scores
from raytpnn.posterior.evaluate.loo import LEAST_DRAWS, good_k, relative_efficiency, smoothed_weights
from raytpnn.posterior.evaluate.mixture import mixture_quantiles
from raytpnn.report.rows import Rows, thin_rows

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["Assessment", "assess"]

MAX_ROWS = 1000
# Rows of scores that take a search or an integral each.
FEW_ROWS = 200
# Rows times draws: with very many draws, fewer rows, so that an array stays below 64 MB.
MAX_CELLS = 8_000_000


@dataclass(frozen=True)
class Assessment:
    """Predictions beside what was seen.

    Attributes
    ----------
    y : (n,) float64
    mean : (n,) float64
        Predicted mean response.
    below, upto : (n,) float64
        Predictive probability of less than y, and of y or less; equal for a continuous response.
    log_density : (n,) float64
    how : str
        "new" (rows not used for fitting), "loo" (training rows, each predicted from the others by importance
        weights) or "fit" (training rows as they were fitted: too good).
    unreliable : float
        Share of rows whose importance weights are not to be trusted; 0 unless "loo".
    n_all : int
        Rows that there are; len(y) of them, evenly spaced, are assessed.
    width : float
        Mean width of the 90% predictive interval, not leaving out any row; of at most 200 rows.
    crps : float
        Mean continuous ranked probability score of these rows; NaN for two classes.
    crps_rows : slice
        The rows of which width and crps are.
    """

    y: np.ndarray
    mean: np.ndarray
    below: np.ndarray
    upto: np.ndarray
    log_density: np.ndarray
    how: str
    unreliable: float
    n_all: int
    width: float
    crps: float
    crps_rows: slice

    def coverage(self, level: float) -> float:
        """Share of y within the predictive interval with equal tails.

        y is at least the lower end if P(Y <= y) reaches the lower tail, and at most the upper end if P(Y < y)
        is short of the upper one: no interval has to be solved for.
        """
        tail = 0.5 * (1.0 - level)
        return float(np.mean((self.upto >= tail) & (self.below < 1.0 - tail)))


def assess(post: Posterior, rows: Rows) -> Assessment:
    """Predict rows and compare with their response; of many rows, 1,000 evenly spaced ones.

    Training rows are predicted leaving out each row's own influence, by Pareto-smoothed importance sampling;
    weights of the fit enter the row's log-likelihood that is left out.
    """
    if rows.y is None:
        raise ValueError("responses are needed to assess predictions; give y with X")
    n_all = rows.n
    rows = thin_rows(rows, min(MAX_ROWS, max(MAX_CELLS // post.draws.n_draws, 50)))
    y, family, nuisance = rows.y, post.family, post.draws.nuisance
    assert y is not None
    f = post.predictor.latent(rows.codes, rows.offset)
    log_density = family.log_density(y, f, nuisance[:, None])
    weight, unreliable, how = np.full(f.shape, 1.0 / len(f)), 0.0, "fit" if rows.training else "new"
    if rows.training and len(f) >= LEAST_DRAWS:
        efficiency = relative_efficiency(post, rows.number)
        log_weight, khat = smoothed_weights(log_density * post.weight[rows.number], efficiency)
        weight, unreliable, how = np.exp(log_weight), float(np.mean(khat > good_k(len(f)))), "loo"
    upto = np.sum(weight * family.cdf(y, f, nuisance[:, None]), axis=0)
    below = upto
    if family.discrete:
        below = np.sum(weight * family.cdf(y - 1.0, f, nuisance[:, None]), axis=0)
    top = log_density.max(axis=0)
    with np.errstate(divide="ignore"):
        density = top + np.log(np.sum(weight * np.exp(log_density - top), axis=0))
    few = slice(None, None, max(1, -(-rows.n // FEW_ROWS)))
    ends = mixture_quantiles(family, np.array(TAILS), f[:, few], nuisance)
    mean = np.sum(weight * family.mean(f), axis=0)
    crps = float("nan")
    if not family.binary:
        crps = float(np.mean(scores.mixture_crps(family, y[few], f[:, few], nuisance, weight[:, few])))
    return Assessment(y, mean, below, upto, density, how, unreliable, n_all, scores.width(ends), crps, few)
