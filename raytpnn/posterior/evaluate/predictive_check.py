"""Posterior predictive checks: does the data look like what the model would produce."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from raytpnn.families import Family
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.posterior.effects.components import check_level

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["predictive_check"]


def predictive_check(
    posterior: Posterior, draws: int = 1000, level: float = CREDIBLE_LEVEL, seed: int = 0
) -> pd.DataFrame:
    """Compare statistics of the training response with those of simulated ones.

    Every draw simulates one response for all training rows (those of sample weight 0 left out), row by row
    from the family. Statistics are mean, sd, min, max, zeros (share of zeros) and log_loss, minus the mean
    log density of the responses given the draw: too large a value observed means data more scattered than
    the model allows (a count with more spread than a Poisson, outliers).

    Parameters
    ----------
    posterior : Posterior
    draws : int
        Most draws to use, evenly spaced.
    level : float
        Probability of the interval of a replicated statistic, with equal tails.
    seed : int
        Of the simulation.

    Returns
    -------
    DataFrame
        statistic, observed (for log_loss its mean over draws), replicated (mean over draws), low, high,
        p_value: the share of draws whose replicated statistic is above the observed one, ties counting half.
        Near 0 or 1, the model does not reproduce the statistic.
    """
    check_level(level)
    thin = posterior.thin(draws)
    rows = np.flatnonzero(posterior.weight > 0.0)
    if not len(rows):
        raise ValueError("all sample weights are 0: there is no data to compare with")
    family, nuisance = thin.family, thin.draws.nuisance[:, None]
    centre = float(np.mean(thin.y[rows]))
    observed, replicated = (Running(thin.draws.n_draws, centre) for _ in range(2))
    for chosen, f in thin.training_blocks(rows):
        rng = np.random.default_rng([seed, int(chosen[0])])
        y = np.broadcast_to(thin.y[chosen], f.shape)
        observed.add(family, y, f, nuisance)
        replicated.add(family, np.asarray(family.sample(rng, f, nuisance), np.float64), f, nuisance)
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    records = []
    for name in family.statistics:
        mine, other = observed.statistic(name), replicated.statistic(name)
        p_value = np.mean((other > mine) + 0.5 * (other == mine))
        records.append((name, mine.mean(), other.mean(), *np.quantile(other, tails), p_value))
    return pd.DataFrame(records, columns=["statistic", "observed", "replicated", "low", "high", "p_value"])


class Running:
    """Statistics of responses that come in blocks of rows, one set per draw.

    Parameters
    ----------
    n_draws : int
    centre : float
        Near the mean of the responses, so that their squares lose no digits.
    """

    def __init__(self, n_draws: int, centre: float):
        self.centre = centre
        self.n = 0
        self.total, self.squares = np.zeros(n_draws), np.zeros(n_draws)
        self.zeros, self.log_loss = np.zeros(n_draws), np.zeros(n_draws)
        self.min, self.max = np.full(n_draws, np.inf), np.full(n_draws, -np.inf)

    def add(self, family: Family, y: np.ndarray, f: np.ndarray, nuisance: np.ndarray) -> None:
        """Take a block in: y and f are (draws, rows), nuisance is (draws, 1)."""
        self.n += y.shape[1]
        self.total += (y - self.centre).sum(axis=1)
        self.squares += ((y - self.centre) ** 2).sum(axis=1)
        self.zeros += (y == 0.0).sum(axis=1)
        self.log_loss -= family.log_density(y, f, nuisance).sum(axis=1)
        self.min = np.minimum(self.min, y.min(axis=1))
        self.max = np.maximum(self.max, y.max(axis=1))

    def statistic(self, name: str) -> np.ndarray:
        """One statistic of every draw, (draws,)."""
        shift = self.total / self.n
        values = {
            "mean": self.centre + shift,
            "sd": np.sqrt(np.maximum(self.squares / self.n - shift**2, 0.0)),
            "min": self.min,
            "max": self.max,
            "zeros": self.zeros / self.n,
            "log_loss": self.log_loss / self.n,
        }
        return values[name]
