"""Counts: f is the log of the mean."""

from __future__ import annotations

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, Family
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import exp
from raytpnn.numerics.jit import internal

__all__ = ["Poisson", "rows"]


@internal
def rows(y, f, w, score, curvature, loglik, need):
    """Score, curvature and log-likelihood of one block of rows."""
    for i in range(len(y)):
        curvature[i] = exp(f[i])
    if need & LIKELIHOOD:
        for i in range(len(y)):
            loglik[i] = w[i] * (y[i] * f[i] - curvature[i])
    if need & DERIVATIVES:
        for i in range(len(y)):
            score[i] = w[i] * (y[i] - curvature[i])
            curvature[i] = w[i] * curvature[i]


class Poisson(Family):
    """Y ~ Poisson(exp(f))."""

    name = "poisson"
    code = 2
    discrete = True

    def mean(self, f):
        """exp(f)."""
        return elementary_numpy.exp(f)

    def variance(self, f):
        """exp(f)."""
        return elementary_numpy.exp(f)

    def link(self, mean):
        """Logarithm."""
        return float(np.log(mean))

    def row_loglik(self, y, f):
        """Y f - exp(f)."""
        return y * f - elementary_numpy.exp(f)

    def log_constant(self, y, w):
        """Minus the weighted sum of log y!."""
        from scipy.special import gammaln

        return -float(np.sum(w * gammaln(y + 1.0)))

    def log_density(self, y, f, nuisance):
        """Log probability of y."""
        from scipy.special import gammaln

        y, f = np.asarray(y, np.float64), np.asarray(f, np.float64)
        return self.row_loglik(y, f) - gammaln(y + 1.0)

    def cdf(self, y, f, nuisance):
        """Poisson distribution function."""
        from scipy.special import pdtr

        y = np.asarray(y)
        return np.where(y < 0, 0.0, pdtr(np.maximum(np.floor(y), 0.0), self.mean(f)))

    def quantile(self, u, f, nuisance):
        """Poisson quantile."""
        from scipy.stats import poisson

        return poisson.ppf(u, self.mean(f))

    def sample(self, rng, f, nuisance):
        """Poisson draws; means beyond the generator's range are held to it."""
        return rng.poisson(np.minimum(self.mean(f), 9.0e18)).astype(np.float64)

    def problem(self, y):
        """Only whole numbers from 0 on will do."""
        bad = np.flatnonzero((y < 0) | (y != np.floor(y)))
        if len(bad):
            return f"row {bad[0]} is {y[bad[0]]:g}; a poisson response is a whole number, 0 or more"
        return None
