"""Binary responses: f is the log odds."""

from __future__ import annotations

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, Family
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import exp, log1p_unit
from raytpnn.numerics.jit import internal

__all__ = ["Bernoulli", "rows"]


@internal
def rows(y, f, w, score, curvature, loglik, need):
    """Score, curvature and log-likelihood of one block of rows."""
    for i in range(len(y)):
        curvature[i] = exp(-abs(f[i]))
    if need & LIKELIHOOD:
        for i in range(len(y)):
            positive = f[i] if f[i] > 0.0 else 0.0
            loglik[i] = w[i] * ((y[i] * f[i] - positive) - log1p_unit(curvature[i]))
    if need & DERIVATIVES:
        for i in range(len(y)):
            odds = curvature[i]
            share = 1.0 / (1.0 + odds)
            mean = share if f[i] > 0.0 else odds * share
            score[i] = w[i] * (y[i] - mean)
            curvature[i] = w[i] * ((odds * share) * share)


class Bernoulli(Family):
    """Y ~ Bernoulli(1 / (1 + exp(-f)))."""

    name = "bernoulli"
    code = 1
    discrete = True
    binary = True

    def mean(self, f):
        """Probability of a 1."""
        odds = elementary_numpy.exp(-np.abs(f))
        share = 1.0 / (1.0 + odds)
        return np.where(np.asarray(f) > 0.0, share, odds * share)

    def variance(self, f):
        """P (1 - p)."""
        odds = elementary_numpy.exp(-np.abs(f))
        share = 1.0 / (1.0 + odds)
        return (odds * share) * share

    def link(self, mean):
        """Log odds."""
        return float(np.log(mean / (1.0 - mean)))

    def row_loglik(self, y, f):
        """Log probability of y."""
        odds = elementary_numpy.exp(-np.abs(f))
        return (y * f - np.maximum(f, 0.0)) - elementary_numpy.log1p_unit(odds)

    def log_constant(self, y, w):
        """Zero."""
        return 0.0

    def log_density(self, y, f, nuisance):
        """Log probability of y."""
        return self.row_loglik(np.asarray(y, np.float64), np.asarray(f, np.float64))

    def cdf(self, y, f, nuisance):
        """Steps at 0 and 1."""
        y = np.asarray(y)
        return np.where(y < 0, 0.0, np.where(y < 1, 1.0 - self.mean(f), 1.0))

    def quantile(self, u, f, nuisance):
        """0 up to the probability of a 0, then 1."""
        return (np.asarray(u) > 1.0 - self.mean(f)).astype(np.float64)

    def sample(self, rng, f, nuisance):
        """Zeros and ones."""
        probability = self.mean(f)
        return (rng.random(np.shape(probability)) < probability).astype(np.float64)

    def problem(self, y):
        """Only 0 and 1 will do."""
        bad = np.flatnonzero((y != 0) & (y != 1))
        if len(bad):
            return f"row {bad[0]} is {y[bad[0]]:g}; a bernoulli response is 0 or 1"
        return None
