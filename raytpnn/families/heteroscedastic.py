"""Gaussian responses whose noise varies: a mean and the log of a standard deviation."""

from __future__ import annotations

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, standardisation
from raytpnn.families.outputs import OutputsFamily, as_records
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import exp
from raytpnn.numerics.jit import internal

__all__ = ["Heteroscedastic"]

HALF_LOG_2_PI = 0.5 * np.log(2.0 * np.pi)


@internal
def rows(y, f, w, dispersion, score, curvature, loglik, need, fits, output):
    """Score, curvature and log-likelihood of one block of rows, in the output at hand."""
    other = fits[1 - output]
    for i in range(len(y)):
        curvature[i] = exp(-2.0 * (other[i] if output == 0 else f[i]))
    if need & LIKELIHOOD:
        for i in range(len(y)):
            residual = y[i] - (f[i] if output == 0 else other[i])
            log_sd = other[i] if output == 0 else f[i]
            loglik[i] = w[i] * (-0.5 * (curvature[i] * residual) * residual - log_sd)
    if need & DERIVATIVES:
        if output == 0:
            for i in range(len(y)):
                score[i] = w[i] * (curvature[i] * (y[i] - f[i]))
                curvature[i] = w[i] * curvature[i]
        else:
            for i in range(len(y)):
                residual = y[i] - other[i]
                score[i] = w[i] * ((curvature[i] * residual) * residual - 1.0)
                # The expected curvature: the observed one would be near 0 where residuals are small.
                curvature[i] = 2.0 * w[i]


class Heteroscedastic(OutputsFamily):
    """Y ~ N(mean, exp(2 log_sd))."""

    name = "heteroscedastic"
    code = 21
    description = (
        "Numbers with normal noise whose size varies (heteroscedastic). Effects of output mean add up to the "
        "mean response, those of log_sd to the log of the noise's standard deviation."
    )
    kernel = staticmethod(rows)
    outputs = ("mean", "log_sd")
    guess_order = 90

    @property
    def quadratic_outputs(self):
        """Given the noise, the mean is."""
        return True, False

    def scaling(self, y):
        """Mean and standard deviation."""
        return standardisation(y)

    def starts(self, y, offset):
        """Mean, and log of the standard deviation."""
        spread = float(np.std(y - offset))
        return float(np.mean(y - offset)), float(np.log(spread)) if spread > 0.0 else 0.0

    def null_curvatures(self, starts, offset, dispersion):
        """One over the variance, and 2."""
        return float(np.exp(-2.0 * starts[1])), 2.0

    def user_outputs(self, location, scale):
        """The mean as any response; scales add up in the log."""
        return (location, scale), (float(np.log(scale)), 1.0)

    def reference_rows(self, y, f, w, dispersion, fits=None, output=0):
        """Score, expected curvature and log-likelihood in one output."""
        mean, log_sd = (f, fits[1]) if output == 0 else (fits[0], f)
        precision = elementary_numpy.exp(-2.0 * log_sd)
        residual = y - mean
        loglik = w * (-0.5 * (precision * residual) * residual - log_sd)
        if output == 0:
            return w * (precision * residual), w * precision, loglik
        return w * ((precision * residual) * residual - 1.0), 2.0 * w, loglik

    def information(self, f, dispersion=1.0):
        """Of the mean: one over the variance."""
        return np.exp(-2.0 * f["log_sd"])

    def log_constant(self, y, w):
        """Minus half the log of 2 pi a row."""
        return float(-HALF_LOG_2_PI * np.sum(w))

    def mean(self, f):
        """The first output."""
        return f["mean"]

    def variance(self, f, nuisance=1.0):
        """Exp(2 log_sd)."""
        return np.exp(2.0 * f["log_sd"]) * nuisance

    def link(self, mean):
        """The mean, with noise of standard deviation 1."""
        return as_records([np.asarray(mean, np.float64), np.zeros(np.shape(mean))], self.outputs)

    def log_density(self, y, f, nuisance):
        """Normal log density."""
        return -HALF_LOG_2_PI - f["log_sd"] - 0.5 * np.exp(-2.0 * f["log_sd"]) * (y - f["mean"]) ** 2

    def cdf(self, y, f, nuisance):
        """Normal distribution function."""
        from scipy.special import ndtr

        return ndtr((y - f["mean"]) * np.exp(-f["log_sd"]))

    def quantile(self, u, f, nuisance):
        """Normal quantile."""
        from scipy.special import ndtri

        return f["mean"] + np.exp(f["log_sd"]) * ndtri(u)

    def sample(self, rng, f, nuisance):
        """Normal draws."""
        return rng.normal(f["mean"], np.exp(f["log_sd"]))
