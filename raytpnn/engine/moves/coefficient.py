"""The proposal of one coefficient given the rest: a Newton step along its basis function."""

from __future__ import annotations

import math

from raytpnn.numerics.elementary import exp, log, normal_quantile
from raytpnn.numerics.jit import internal

__all__ = ["draw_coefficient", "log_normal", "log_prior_over_proposal"]

LOG_2_PI = 1.8378770664093453
# Weight of the Newton step; the rest is the prior, whose tails cover the target's. Quadratic: exact, so 1.
NEWTON_SHARE = 0.9


@internal
def log_normal(x, mean, precision):
    """Log density of N(mean, 1 / precision)."""
    return 0.5 * (log(precision) - LOG_2_PI) - 0.5 * (precision * (x - mean)) * (x - mean)


@internal
def draw_coefficient(settings, work, u, v, mean, precision, prior_precision):
    """A coefficient from the proposal; v chooses the part of the mixture, u the value."""
    if not settings.conditional_beta or (work.quadratic == 0 and v >= NEWTON_SHARE):
        return normal_quantile(u) / math.sqrt(prior_precision)
    return mean + normal_quantile(u) / math.sqrt(precision)


@internal
def log_prior_over_proposal(settings, work, beta, mean, precision, prior_precision):
    """Log of pi(beta) / q(beta)."""
    if not settings.conditional_beta:
        return 0.0
    prior = log_normal(beta, 0.0, prior_precision)
    newton = log_normal(beta, mean, precision)
    if work.quadratic != 0:
        return prior - newton
    first = log(NEWTON_SHARE) + newton
    second = log(1.0 - NEWTON_SHARE) + prior
    largest = max(first, second)
    return prior - (largest + log(exp(first - largest) + exp(second - largest)))
