"""Times until an event, of a Weibull law: f is the log of the time by which 63% have had it.

A time that was cut short is negative: -12 means that 12 went by without the event.
"""

from __future__ import annotations

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, Family
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import exp, log
from raytpnn.numerics.jit import internal

__all__ = ["Weibull", "impossible_time"]

# Standard deviation of the logarithm of an exponential time.
EXPONENTIAL_SPREAD = np.pi / np.sqrt(6.0)


@internal
def rows(y, f, w, dispersion, score, curvature, loglik, need):
    """Score, curvature and log-likelihood of one block of rows."""
    log_shape = log(dispersion)
    for i in range(len(y)):
        z = (log(y[i] if y[i] > 0.0 else -y[i]) - f[i]) / dispersion
        hazard = exp(z)
        event = 1.0 if y[i] > 0.0 else 0.0
        if need & LIKELIHOOD:
            loglik[i] = w[i] * (event * (z - log_shape) - hazard)
        if need & DERIVATIVES:
            score[i] = w[i] * ((hazard - event) / dispersion)
            curvature[i] = w[i] * (hazard / (dispersion * dispersion))


def impossible_time(y: np.ndarray) -> str | None:
    """What makes times impossible, naming the first; None if nothing does."""
    bad = np.flatnonzero(y == 0.0)
    if len(bad):
        return f"row {bad[0]} has the time 0; a time is above 0 (negative: cut short without an event)"
    if not np.any(y > 0.0):
        return "no row has an event: nothing is known of when they happen"
    return None


class Weibull(Family):
    """Log T = f + eta log E with E exponential: times are accelerated, and hazards proportional."""

    name = "weibull"
    code = 5
    description = (
        "Times until an event, right-censored, of a Weibull law (weibull). Effects add up to the log of "
        "time: +0.7 about doubles it."
    )
    kernel = staticmethod(rows)
    dispersion = True
    dispersion_in_rows = True
    dispersion_exponent = 1.0
    dispersion_name = "spread of log times"
    censored = True
    scores = ("concordance", "nll")
    statistics = ()

    def problem(self, y):
        """Any times but 0; negative ones are cut short."""
        return impossible_time(y)

    def start(self, y, offset):
        """Log of the time at risk per event, net of the offset."""
        events = max(float(np.sum(y > 0.0)), 0.5)
        return float(np.log(np.sum(np.abs(y) * np.exp(-offset)) / events))

    def pilot(self, y, offset):
        """Log times, net of the offset."""
        return np.log(np.abs(y)) - offset

    def dispersion_start(self, variance):
        """Spread whose log times have that variance."""
        return float(np.sqrt(variance)) / EXPONENTIAL_SPREAD

    def user_dispersion(self, nuisance, scale):
        """The same: times are not scaled."""
        return nuisance

    def reference_rows(self, y, f, w, dispersion):
        """Weighted score, curvature and log-likelihood."""
        z = (elementary_numpy.log(np.abs(y)) - f) / dispersion
        hazard, event = elementary_numpy.exp(z), (y > 0.0).astype(np.float64)
        loglik = w * (event * (z - elementary_numpy.log(dispersion)) - hazard)
        return w * ((hazard - event) / dispersion), w * (hazard / (dispersion * dispersion)), loglik

    def information(self, f, dispersion=1.0):
        """That of a row with an event."""
        return np.full_like(f, 1.0 / (dispersion * dispersion))

    def log_constant(self, y, w):
        """Minus the weighted sum of log times of events."""
        event = y > 0.0
        return -float(np.sum(w[event] * np.log(y[event])))

    def mean(self, f):
        """Time by which 63% have had the event."""
        return elementary_numpy.exp(f)

    def variance(self, f, nuisance=1.0):
        """Variance of the time."""
        from scipy.special import gamma

        scale = self.mean(f)
        return scale * scale * (gamma(1.0 + 2.0 * nuisance) - gamma(1.0 + nuisance) ** 2)

    def link(self, mean):
        """Logarithm."""
        return float(np.log(abs(mean)))

    def cumulative_hazard(self, time, f, nuisance):
        """-log P(T > time)."""
        return np.exp((np.log(time) - f) / nuisance)

    def log_density(self, y, f, nuisance):
        """Log density of a time of an event; log P(T > time) of one that was cut short."""
        time = np.abs(y)
        log_hazard = (np.log(time) - f) / nuisance - np.log(nuisance) - np.log(time)
        return np.where(np.asarray(y) > 0.0, log_hazard, 0.0) - self.cumulative_hazard(time, f, nuisance)

    def cdf(self, y, f, nuisance):
        """P(T <= y)."""
        y = np.asarray(y, np.float64)
        upto = -np.expm1(-self.cumulative_hazard(np.maximum(y, 1e-300), f, nuisance))
        return np.where(y > 0.0, upto, 0.0)

    def quantile(self, u, f, nuisance):
        """Weibull quantile."""
        return np.exp(f + nuisance * np.log(-np.log1p(-np.asarray(u))))

    def sample(self, rng, f, nuisance):
        """Times of events."""
        f, nuisance = np.broadcast_arrays(f, nuisance)
        return np.exp(f + nuisance * np.log(rng.standard_exponential(f.shape)))
