"""Step sizes that learn in warm-up."""

from __future__ import annotations

import math

from raytpnn.numerics.elementary import exp
from raytpnn.numerics.jit import internal

__all__ = ["adapt_step"]


@internal
def adapted(log_step, count, log_ratio, target):
    """Robbins-Monro step number `count` of a log step size towards the target acceptance rate."""
    acceptance = 0.0
    if log_ratio >= 0.0:
        acceptance = 1.0
    elif log_ratio > -700.0:
        acceptance = exp(log_ratio)
    gain = 1.0 / math.sqrt(count + 9.0)
    moved = log_step + gain * (acceptance - target)
    # A step of 3 already proposes from far beyond the local scale; below 1e-4 nothing would move.
    return min(max(moved, -9.21), 1.1)


@internal
def adapt_step(settings, state, index, log_ratio):
    """Adapt log_step[index]."""
    state.step_count[index] += 1
    state.log_step[index] = adapted(
        state.log_step[index], state.step_count[index], log_ratio, settings.target_acceptance
    )
