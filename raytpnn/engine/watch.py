"""What a draw says at some rows, from its terms: for chains that do not keep the fit of all rows."""

from __future__ import annotations

from numba import types

from raytpnn.engine.layout import INTERCEPT
from raytpnn.engine.memory import doubles
from raytpnn.engine.rows import phi_at
from raytpnn.engine.tables import factor_table
from raytpnn.engine.types import NOTHING, PROBLEM_T, STATE_T, VECTOR, WORK_T
from raytpnn.engine.units import unit

__all__ = ["watch_terms"]


@unit(NOTHING(PROBLEM_T, STATE_T, WORK_T, types.int64[::1], VECTOR, VECTOR))
def watch_terms(problem, state, work, watched, fit, size):
    """Fit at the watched rows, and the mean square of every term over them."""
    offset = doubles(problem.offset, problem.n)
    for i in range(len(watched)):
        fit[i] = offset[watched[i]] + state.scalar[INTERCEPT]
    for k in range(state.K):
        d = state.order[k]
        features = state.features[k]
        for j in range(d):
            factor_table(problem, work, j, features[j], state.b[k, j], state.gamma[k, j])
        total = 0.0
        for i in range(len(watched)):
            value = state.beta[k] * phi_at(problem, work, features, d, watched[i])
            fit[i] += value
            total += value * value
        size[k] = total / len(watched)
