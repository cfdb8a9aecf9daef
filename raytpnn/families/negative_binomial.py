"""Counts with more spread than Poisson's: f is the log of the mean mu, the variance mu + eta mu^2."""

from __future__ import annotations

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, Family
from raytpnn.families.poisson import Poisson, add_mean
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import exp, log, log1p_unit, log_gamma
from raytpnn.numerics.jit import internal

__all__ = ["NegativeBinomial"]

# Dispersions below this are as good as none.
LEAST_DISPERSION = 1e-3


@internal
def rows(y, f, w, dispersion, score, curvature, loglik, need):
    """Score, curvature and log-likelihood of one block of rows."""
    size = 1.0 / dispersion
    log_dispersion = log(dispersion)
    # With t = log(eta mu), the share of eta mu in 1 + eta mu is that of a logistic law.
    for i in range(len(y)):
        t = f[i] + log_dispersion
        curvature[i] = exp(t if t < 0.0 else -t)
    if need & LIKELIHOOD:
        constant = log_gamma(size)
        for i in range(len(y)):
            t = f[i] + log_dispersion
            total = y[i] + size
            one = (t if t > 0.0 else 0.0) + log1p_unit(curvature[i])
            loglik[i] = w[i] * ((log_gamma(total) - constant) + (y[i] * t - total * one))
    if need & DERIVATIVES:
        for i in range(len(y)):
            odds = curvature[i]
            share = 1.0 / (1.0 + odds)
            part = share if f[i] + log_dispersion > 0.0 else odds * share
            total = y[i] + size
            score[i] = w[i] * (y[i] - total * part)
            curvature[i] = w[i] * (total * ((odds * share) * share))


class NegativeBinomial(Family):
    """Y ~ Poisson(G exp(f)) with G of a gamma law of mean 1 and variance eta."""

    name = "negative_binomial"
    code = 4
    description = (
        "Counts with more spread than Poisson's (negative_binomial). Effects add up to the log of the "
        "expected count: +0.7 about doubles it."
    )
    kernel = staticmethod(rows)
    dispersion = True
    dispersion_in_rows = True
    dispersion_name = "overdispersion"
    discrete = True
    scores = ("deviance", "nll", "crps")
    statistics = ("mean", "sd", "min", "max", "zeros", "log_loss")
    tail = 1e-9
    add_mean = staticmethod(add_mean)

    def problem(self, y):
        """Only whole numbers from 0 on will do."""
        found = Poisson().problem(y)
        return found and found.replace("poisson", "negative_binomial")

    def start(self, y, offset):
        """Log of the mean count at an offset of 0."""
        return Poisson().start(y, offset)

    def pilot(self, y, offset):
        """Log counts, net of the offset."""
        return np.log(y + 0.5) - offset

    def dispersion_start(self, variance):
        """Of log counts, the variance is that of a count's rate, and more."""
        return max(variance, LEAST_DISPERSION)

    def user_dispersion(self, nuisance, scale):
        """The same: counts are not scaled."""
        return nuisance

    def parts(self, f, dispersion):
        """log(eta mu), and odds and share of the logistic law that goes with it."""
        t = f + elementary_numpy.log(dispersion)
        odds = elementary_numpy.exp(-np.abs(t))
        return t, odds, 1.0 / (1.0 + odds)

    def reference_rows(self, y, f, w, dispersion):
        """Weighted score, curvature and log-likelihood."""
        size = 1.0 / dispersion
        t, odds, share = self.parts(f, dispersion)
        total = y + size
        one = np.maximum(t, 0.0) + elementary_numpy.log1p_unit(odds)
        gammas = elementary_numpy.log_gamma(total) - elementary_numpy.log_gamma(size)
        loglik = w * (gammas + (y * t - total * one))
        part = np.where(t > 0.0, share, odds * share)
        return w * (y - total * part), w * (total * ((odds * share) * share)), loglik

    def information(self, f, dispersion=1.0):
        """Mu / (1 + eta mu)."""
        t, odds, share = self.parts(f, dispersion)
        return np.where(t > 0.0, share, odds * share) / dispersion

    def log_constant(self, y, w):
        """Minus the weighted sum of log y!."""
        return Poisson().log_constant(y, w)

    def mean(self, f):
        """exp(f)."""
        return elementary_numpy.exp(f)

    def variance(self, f, nuisance=1.0):
        """Mu + eta mu^2."""
        mean = self.mean(f)
        return mean + nuisance * mean * mean

    def link(self, mean):
        """Logarithm."""
        return float(np.log(mean))

    def log_density(self, y, f, nuisance):
        """Log probability of y."""
        from scipy.special import gammaln

        y, f = np.asarray(y, np.float64), np.asarray(f, np.float64)
        size, t = 1.0 / nuisance, f + np.log(nuisance)
        gammas = gammaln(y + size) - gammaln(size) - gammaln(y + 1.0)
        return gammas + y * t - (y + size) * np.logaddexp(0.0, t)

    def cdf(self, y, f, nuisance):
        """Negative binomial distribution function."""
        from scipy.special import betainc, expit

        y = np.asarray(y)
        # As a share of 1 + eta mu: nothing overflows.
        rest = expit(-(np.asarray(f) + np.log(nuisance)))
        return np.where(y < 0, 0.0, betainc(1.0 / nuisance, np.maximum(np.floor(y), 0.0) + 1.0, rest))

    def quantile(self, u, f, nuisance):
        """Negative binomial quantile."""
        from scipy.special import expit
        from scipy.stats import nbinom

        return nbinom.ppf(u, 1.0 / nuisance, expit(-(np.asarray(f) + np.log(nuisance))))

    def sample(self, rng, f, nuisance):
        """Poisson draws of gamma draws; means beyond the generator's range are held to it."""
        f, nuisance = np.broadcast_arrays(f, nuisance)
        rate = self.mean(f) * nuisance * rng.standard_gamma(1.0 / nuisance)
        return rng.poisson(np.minimum(rate, 9.0e18)).astype(np.float64)

    def point_score(self, y, mean):
        """Mean deviance of the Poisson law, by which predicted means of counts are compared."""
        return Poisson().point_score(y, mean)
