"""Gaussian responses: f is the mean, eta the noise variance."""

from __future__ import annotations

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, ExponentialFamily, standardisation
from raytpnn.numerics.jit import internal

__all__ = ["Gaussian"]


@internal
def rows(y, f, w, dispersion, score, curvature, loglik, need):
    """Score, curvature and log-likelihood of one block of rows."""
    if need & DERIVATIVES:
        for i in range(len(y)):
            score[i] = w[i] * (y[i] - f[i])
            curvature[i] = w[i]
    if need & LIKELIHOOD:
        for i in range(len(y)):
            residual = y[i] - f[i]
            loglik[i] = -0.5 * (w[i] * residual) * residual


class Gaussian(ExponentialFamily):
    """Y ~ N(f, eta)."""

    name = "gaussian"
    code = 0
    description = "Numbers with normal noise of one variance (gaussian). Effects add up to the mean response."
    kernel = staticmethod(rows)
    quadratic = True
    dispersion = True
    dispersion_unit = 2.0 * np.pi
    dispersion_exponent = 2.0
    dispersion_name = "noise variance"
    identity_mean = True
    guess_order = 3

    def guess(self, values, distinct, numeric):
        """Any numbers."""
        if not numeric:
            return None
        if len(values) and values.min() >= 0.0 and np.all(values == np.floor(values)):
            return f"{len(distinct):,} distinct whole numbers; --family poisson if they are counts"
        return f"numbers, {len(distinct):,} of them distinct"

    def scaling(self, y):
        """Mean and standard deviation."""
        return standardisation(y)

    def start(self, y, offset):
        """Mean."""
        return float(np.mean(y - offset))

    def reference_rows(self, y, f, w, dispersion):
        """Weighted residual, 1, and minus half its square."""
        residual = y - f
        return w * residual, w * np.ones_like(f), -0.5 * (w * residual) * residual

    def mean(self, f):
        """A'(f) = f."""
        return f

    def variance(self, f, nuisance=1.0):
        """A''(f) = 1, times eta."""
        return np.ones_like(f) * nuisance

    def link(self, mean):
        """Identity."""
        return mean

    def row_loglik(self, y, f):
        """Minus half the squared residual."""
        return -0.5 * (y - f) ** 2

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

    def noise(self, nuisance):
        """Its standard deviation."""
        return "Noise, standard deviation", np.sqrt(nuisance)
