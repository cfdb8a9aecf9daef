"""Scores of a predictive distribution, the same for every model.

A model predicts either a mixture over draws (ours, BART) or a mean with one normal error (the rest), whose
variance it estimated on rows held out from its fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from raytpnn.families import get_family
from raytpnn.posterior.evaluate.scores import auroc, ece, mixture_crps, rmse

__all__ = ["Forecast", "detection_auroc", "normal_crps", "score"]

# Probabilities of exactly 0 or 1 would make one row's loss infinite.
LEAST_PROBABILITY = 1e-6
# Draws of a mixture that densities and CRPS are taken over; means are over all of them.
MOST_DRAWS = 1000


@dataclass(frozen=True)
class Forecast:
    """What a model says about test rows.

    Attributes
    ----------
    mean : (n,)
        Expected response, or probability of a 1.
    draws : (D, n), optional
        Means by draw, for numbers.
    variance : (D,) or float, optional
        Of the error around each draw; around `mean` if there are no draws.
    notes : dict
        What else there is to tell of a fit, as text.
    """

    mean: np.ndarray
    draws: np.ndarray | None = None
    variance: np.ndarray | float | None = None
    notes: dict[str, str] = field(default_factory=dict)

    def part(self, rows: slice) -> Forecast:
        """Of some rows only."""
        draws = None if self.draws is None else self.draws[:, rows]
        return replace(self, mean=self.mean[rows], draws=draws)


def normal_crps(y: np.ndarray, mean: np.ndarray, sd: float) -> np.ndarray:
    """CRPS of a normal distribution, (n,)."""
    z = (y - mean) / sd
    return sd * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))


def score(y: np.ndarray, forecast: Forecast, binary: bool) -> dict[str, float]:
    """Scores: auroc, ece and nll of two classes; rmse, mae, crps and nll of numbers."""
    mean = np.asarray(forecast.mean, np.float64)
    if binary:
        chance = np.clip(mean, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        loss = -np.mean(np.log(np.where(y == 1, chance, 1 - chance)))
        return {"auroc": auroc(y, mean), "ece": ece(y, mean), "nll": float(loss)}
    found = {"rmse": rmse(y, mean), "mae": float(np.mean(np.abs(y - mean)))}
    if forecast.draws is not None:
        return found | of_mixture(y, forecast.draws, np.asarray(forecast.variance, np.float64))
    if forecast.variance is not None:
        sd = float(np.sqrt(forecast.variance))
        found["crps"] = float(np.mean(normal_crps(y, mean, sd)))
        found["nll"] = -float(np.mean(norm.logpdf(y, mean, sd)))
    return found


def of_mixture(y: np.ndarray, draws: np.ndarray, variance: np.ndarray) -> dict[str, float]:
    """CRPS and negative log density of a mixture of normals."""
    kept = np.unique(np.linspace(0, len(draws) - 1, min(MOST_DRAWS, len(draws))).round().astype(int))
    draws, variance = np.ascontiguousarray(draws[kept]), variance[kept]
    density = logsumexp(norm.logpdf(y, draws, np.sqrt(variance)[:, None]), axis=0) - np.log(len(kept))
    crps = mixture_crps(get_family("gaussian"), y, draws, variance)
    return {"crps": float(np.mean(crps)), "nll": -float(np.mean(density))}


def detection_auroc(inside: np.ndarray, outside: np.ndarray) -> float:
    """AUROC of telling rows like those of training from others by the certainty of the predicted class.

    Both hold probabilities of a 1. As `detection_auroc` of `raytpnn.posterior.evaluate.out_of_distribution`,
    for any model: the certainty is 1 + log2 max(p, 1 - p).
    """
    known, novel = (1 + np.log2(np.maximum(p, 1 - p)) for p in (inside, outside))
    return auroc(np.repeat([1.0, 0.0], [len(known), len(novel)]), np.concatenate([known, novel]))
