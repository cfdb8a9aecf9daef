"""Binary responses: f is the log odds."""

from __future__ import annotations

from typing import Any

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, ExponentialFamily
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import exp, log1p_unit
from raytpnn.numerics.fast_math import fast
from raytpnn.numerics.jit import internal

__all__ = ["Bernoulli"]


@internal
def rows(y, f, w, dispersion, score, curvature, loglik, need):
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


@fast
def add_mean(sums, intercept, offset, total):
    """Add 1 / (1 + exp(-f)) of every draw to the total of a row."""
    for i in range(len(total)):
        value = 0.0
        for lane in range(len(intercept)):
            value += 1.0 / (1.0 + exp(-(np.float64(sums[i, lane]) + intercept[lane] + offset[i])))
        total[i] += value


class Bernoulli(ExponentialFamily):
    """Y ~ Bernoulli(1 / (1 + exp(-f)))."""

    name = "bernoulli"
    code = 1
    description = "Two classes (bernoulli). Effects add up to log odds: +0.7 about doubles the odds."
    kernel = staticmethod(rows)
    discrete = True
    binary = True
    labelled = True
    sigma_beta2 = 0.1
    # Where features outnumber rows, classes can be told apart in many ways.
    wide_sigma_beta2 = 30.0
    boosting_objective = "binary:logistic"
    scores = ("auroc", "nll", "ece", "error")
    # The spread of truth values follows from their mean.
    statistics = ("mean", "log_loss")
    guess_order = 1
    add_mean = staticmethod(add_mean)

    def problem(self, y):
        """Only 0 and 1 will do."""
        bad = np.flatnonzero((y != 0) & (y != 1))
        if len(bad):
            return f"row {bad[0]} is {y[bad[0]]:g}; a bernoulli response is 0 or 1"
        return None

    def guess(self, values, distinct, numeric):
        """Two distinct values."""
        if len(distinct) != 2:
            return None
        return f"it has two values, {shown(distinct[0])} and {shown(distinct[1])}"

    def start(self, y, offset):
        """Log odds; with one class alone, half a row of the other is assumed."""
        smallest = 0.5 / len(y)
        mean = min(max(float(y.mean()), smallest), 1.0 - smallest)
        return self.link(mean) - float(offset.mean())

    def mean(self, f):
        """Probability of a 1."""
        odds = elementary_numpy.exp(-np.abs(f))
        share = 1.0 / (1.0 + odds)
        return np.where(np.asarray(f) > 0.0, share, odds * share)

    def variance(self, f, nuisance=1.0):
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


def shown(value: Any) -> str:
    """Text in quotes, numbers without a needless point."""
    return repr(value) if isinstance(value, str) else f"{value:g}"
