"""Gaussian responses: f is the mean, eta the noise variance."""

from __future__ import annotations

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, Family
from raytpnn.numerics.jit import internal

__all__ = ["Gaussian", "rows"]


@internal
def rows(y, f, w, score, curvature, loglik, need):
    """Score, curvature and log-likelihood of one block of rows."""
    if need & DERIVATIVES:
        for i in range(len(y)):
            score[i] = w[i] * (y[i] - f[i])
            curvature[i] = w[i]
    if need & LIKELIHOOD:
        for i in range(len(y)):
            residual = y[i] - f[i]
            loglik[i] = -0.5 * (w[i] * residual) * residual


class Gaussian(Family):
    """Y ~ N(f, eta)."""

    name = "gaussian"
    code = 0
    has_nuisance = True
    identity_mean = True

    def mean(self, f):
        """A'(f) = f."""
        return f

    def variance(self, f):
        """A''(f) = 1."""
        return np.ones_like(f)

    def link(self, mean):
        """Identity."""
        return mean

    def row_loglik(self, y, f):
        """Minus half the squared residual."""
        return -0.5 * (y - f) ** 2

    def log_constant(self, y, w):
        """Zero: what remains depends on eta, and stands in the engine."""
        return 0.0

    def log_density(self, y, f, nuisance):
        """Normal log density."""
        return -0.5 * (np.log(2 * np.pi * nuisance) + (y - f) ** 2 / nuisance)

    def cdf(self, y, f, nuisance):
        """Normal distribution function."""
        from scipy.special import ndtr

        return ndtr((y - f) / np.sqrt(nuisance))

    def quantile(self, u, f, nuisance):
        """Normal quantile."""
        from scipy.special import ndtri

        return f + np.sqrt(nuisance) * ndtri(u)

    def sample(self, rng, f, nuisance):
        """Normal draws."""
        return rng.normal(f, np.sqrt(nuisance))

    def problem(self, y):
        """Any finite response will do."""
        return None
