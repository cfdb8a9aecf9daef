"""Counts: f is the log of the mean."""

from __future__ import annotations

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, ExponentialFamily
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import exp
from raytpnn.numerics.fast_math import fast
from raytpnn.numerics.jit import internal

__all__ = ["Poisson"]

# Whole numbers from 0 on with a larger mean are seldom counts that a normal noise would not suit.
MOST_MEAN_COUNT = 10.0
# Counts whose variance is so many times their mean may be of a wider law.
MUCH_SPREAD = 4.0
# Up to this exponent, sums over any number of rows stay finite and above 0.
LARGEST_EXPONENT = 600.0
# Of a count that is predicted, where its deviance is asked for.
SMALLEST_MEAN = 1e-300


@internal
def rows(y, f, w, dispersion, score, curvature, loglik, need):
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


@fast
def add_mean(sums, intercept, offset, total):
    """Add exp(f) of every draw to the total of a row."""
    for i in range(len(total)):
        value = 0.0
        for lane in range(len(intercept)):
            value += exp(np.float64(sums[i, lane]) + intercept[lane] + offset[i])
        total[i] += value


class Poisson(ExponentialFamily):
    """Y ~ Poisson(exp(f))."""

    name = "poisson"
    code = 2
    description = "Counts (poisson). Effects add up to the log of the expected count: +0.7 about doubles it."
    kernel = staticmethod(rows)
    discrete = True
    boosting_objective = "count:poisson"
    scores = ("deviance", "nll", "crps")
    statistics = ("mean", "sd", "min", "max", "zeros", "log_loss")
    guess_order = 2
    add_mean = staticmethod(add_mean)

    def problem(self, y):
        """Only whole numbers from 0 on will do."""
        bad = np.flatnonzero((y < 0) | (y != np.floor(y)))
        if len(bad):
            return f"row {bad[0]} is {y[bad[0]]:g}; a poisson response is a whole number, 0 or more"
        return None

    def guess(self, values, distinct, numeric):
        """Whole numbers, none negative, some 0, of a small mean."""
        if not numeric or not len(values) or np.any(values != np.floor(values)):
            return None
        if values.min() != 0.0 or values.mean() > MOST_MEAN_COUNT or len(distinct) <= 2:
            return None
        reason = f"whole numbers from 0 on, mean {values.mean():.3g}, look like counts"
        ratio = values.var() / values.mean()
        if ratio < MUCH_SPREAD:
            return reason
        wider = "--family negative_binomial if effects and exposure do not explain it"
        return f"{reason}; their variance is {ratio:.3g} times their mean: {wider}"

    def start(self, y, offset):
        """Log of the mean count at an offset of 0."""
        return float(np.log(max(y.sum(), 0.5)) - log_sum_exp(offset))

    def mean(self, f):
        """exp(f)."""
        return elementary_numpy.exp(f)

    def variance(self, f, nuisance=1.0):
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

    def point_score(self, y, mean):
        """Mean deviance."""
        from sklearn.metrics import mean_poisson_deviance

        # A mean of 0 would have an infinite deviance, which scikit-learn refuses.
        return float(mean_poisson_deviance(y, np.maximum(mean, SMALLEST_MEAN)))


def log_sum_exp(x: np.ndarray) -> float:
    """Log of the sum of exp(x), for x of any size."""
    largest = float(x.max())
    # Numbers of ordinary size are added as they are, so that the result does not change in its last digit.
    shift = largest if abs(largest) > LARGEST_EXPONENT else 0.0
    return float(np.log(np.exp(x - shift).sum()) + shift)
