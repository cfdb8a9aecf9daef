"""The output at hand: which of a row's functions a move is about.

A state's terms each belong to one of a family's outputs. Moves and passes work on one output at a time: its
fit stands at work.fit, and the family's kernel finds those of the others at work.fits.
"""

from __future__ import annotations

from raytpnn.engine.records import INTERCEPT
from raytpnn.numerics.jit import internal

__all__ = [
    "centre_of",
    "count_members",
    "drawn_output",
    "intercept_of",
    "select_output",
    "set_intercept",
    "spread_coefficients",
]


@internal
def select_output(problem, settings, work, output):
    """Make an output the one at hand."""
    work.output = output
    work.fit = work.fits + 8 * problem.n * output
    work.quadratic = settings.quadratic_outputs[output]


@internal
def drawn_output(settings, u):
    """Output from a uniform number."""
    return min(int(u * settings.outputs), settings.outputs - 1)


@internal
def intercept_of(state, output):
    """Intercept of an output."""
    return state.scalar[INTERCEPT] if output == 0 else state.intercepts[output]


@internal
def set_intercept(state, output, value):
    """Set the intercept of an output."""
    if output == 0:
        state.scalar[INTERCEPT] = value
    else:
        state.intercepts[output] = value


@internal
def centre_of(settings, output):
    """Prior mean of the intercept of an output."""
    return settings.intercept_mean if output == 0 else settings.intercept_means[output]


@internal
def count_members(state, work):
    """List the terms of the output at hand in work.members; returns their number."""
    count = 0
    for k in range(state.K):
        if state.output[k] == work.output:
            work.members[0, count] = k
            count += 1
    return count


@internal
def spread_coefficients(state, work, out):
    """Coefficients of all terms, 0 for those of other outputs than the one at hand."""
    for k in range(state.K):
        out[k] = state.beta[k] if state.output[k] == work.output else 0.0
