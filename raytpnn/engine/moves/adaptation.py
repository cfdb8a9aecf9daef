"""Step sizes that learn in warm-up."""

from __future__ import annotations

import math

from raytpnn.numerics.elementary import exp
from raytpnn.numerics.jit import internal

__all__ = ["adapt_step"]


@internal
def adapt_step(settings, state, index, log_ratio):
    """Robbins-Monro step of log_step[index] towards the target acceptance rate."""
    acceptance = 0.0
    if log_ratio >= 0.0:
        acceptance = 1.0
    elif log_ratio > -700.0:
        acceptance = exp(log_ratio)
    state.step_count[index] += 1
    gain = 1.0 / math.sqrt(state.step_count[index] + 9.0)
    moved = state.log_step[index] + gain * (acceptance - settings.target_acceptance)
    # A step of 3 already proposes from far beyond the local scale; below 1e-4 nothing would move.
    state.log_step[index] = min(max(moved, -9.21), 1.1)
