"""Times until an event without a law of their own: f is the log of the hazard in an interval of time.

A row is one interval of one person: y is the time that the person was watched in it, negative if no event
ended it. `raytpnn.data.survival` makes such rows of persons, and curves of what was fitted.
"""

from __future__ import annotations

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, Family
from raytpnn.families.weibull import impossible_time
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import exp
from raytpnn.numerics.jit import internal

__all__ = ["Survival"]


@internal
def rows(y, f, w, dispersion, score, curvature, loglik, need):
    """Score, curvature and log-likelihood of one block of rows."""
    for i in range(len(y)):
        event = 1.0 if y[i] > 0.0 else 0.0
        expected = (y[i] if y[i] > 0.0 else -y[i]) * exp(f[i])
        if need & LIKELIHOOD:
            loglik[i] = w[i] * (event * f[i] - expected)
        if need & DERIVATIVES:
            score[i] = w[i] * (event - expected)
            curvature[i] = w[i] * expected


class Survival(Family):
    """In an interval of length e, P(no event) = exp(-e exp(f)): a piecewise exponential law."""

    name = "survival"
    code = 6
    description = (
        "Times until an event, right-censored, of any shape (survival). Effects add up to the log of the "
        "hazard: +0.7 about doubles the risk at any moment."
    )
    kernel = staticmethod(rows)
    censored = True
    in_intervals = True
    scores = ("concordance", "nll")
    statistics = ()

    def problem(self, y):
        """Any times but 0; negative ones end without an event."""
        return impossible_time(y)

    def start(self, y, offset):
        """Log of events by time at risk, net of the offset."""
        events = max(float(np.sum(y > 0.0)), 0.5)
        return float(np.log(events / np.sum(np.abs(y) * np.exp(offset))))

    def reference_rows(self, y, f, w, dispersion):
        """Weighted score, curvature and log-likelihood."""
        event = (y > 0.0).astype(np.float64)
        expected = np.abs(y) * elementary_numpy.exp(f)
        return w * (event - expected), w * expected, w * (event * f - expected)

    def information(self, f, dispersion=1.0):
        """Expected events in a unit of time, which is that of a row's on average."""
        return elementary_numpy.exp(f)

    def mean(self, f):
        """The hazard."""
        return elementary_numpy.exp(f)

    def variance(self, f, nuisance=1.0):
        """Variance of the time, if the hazard stayed."""
        return elementary_numpy.exp(-2.0 * f)

    def link(self, mean):
        """Log hazard at which that is the expected time."""
        return -float(np.log(abs(mean)))

    def log_density(self, y, f, nuisance):
        """Log density of the end of an interval by an event; log P(no event) where there is none."""
        return np.where(np.asarray(y) > 0.0, f, 0.0) - np.abs(y) * np.exp(f)

    def cdf(self, y, f, nuisance):
        """P(T <= y), if the hazard stayed."""
        return -np.expm1(-np.maximum(y, 0.0) * np.exp(f))

    def quantile(self, u, f, nuisance):
        """Quantile, if the hazard stayed."""
        return -np.log1p(-np.asarray(u)) * np.exp(-np.asarray(f))

    def sample(self, rng, f, nuisance):
        """Times of events, if the hazard stayed."""
        f, _ = np.broadcast_arrays(f, nuisance)
        return np.exp(-f) * rng.standard_exponential(f.shape)
