"""The proposal of one coefficient given the rest: a Newton step along its basis function."""

from __future__ import annotations

import math

from raytpnn.numerics.elementary import exp, log, normal_quantile
from raytpnn.numerics.jit import internal

__all__ = ["draw_coefficient", "log_coefficient_proposal", "log_normal"]

LOG_2_PI = 1.8378770664093453
# Weight of the Newton step; the rest is the prior, whose tails cover the target's. Gaussian: exact, so 1.
NEWTON_SHARE = 0.9
GAUSSIAN = 0


@internal
def log_normal(x, mean, precision):
    """Log density of N(mean, 1 / precision)."""
    return 0.5 * (log(precision) - LOG_2_PI) - 0.5 * (precision * (x - mean)) * (x - mean)


@internal
def draw_coefficient(settings, u, v, mean, precision, prior_precision):
    """A coefficient from the proposal; v chooses the part of the mixture, u the value."""
    if not settings.conditional_beta or (settings.family != GAUSSIAN and v >= NEWTON_SHARE):
        return normal_quantile(u) / math.sqrt(prior_precision)
    return mean + normal_quantile(u) / math.sqrt(precision)


@internal
def log_coefficient_proposal(settings, beta, mean, precision, prior_precision):
    """Log density of the proposal."""
    prior = log_normal(beta, 0.0, prior_precision)
    if not settings.conditional_beta:
        return prior
    newton = log_normal(beta, mean, precision)
    if settings.family == GAUSSIAN:
        return newton
    first = log(NEWTON_SHARE) + newton
    second = log(1.0 - NEWTON_SHARE) + prior
    largest = max(first, second)
    return largest + log(exp(first - largest) + exp(second - largest))
