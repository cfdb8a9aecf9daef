"""Building basis functions."""

from __future__ import annotations

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.signatures import (
    FEATURES,
    FLAG,
    INTEGER,
    NOTHING,
    PROBLEM_T,
    SETTINGS_T,
    STATE_T,
    VECTOR,
    WORK_T,
)
from raytpnn.engine.records import B_GAMMA
from raytpnn.engine.rows.factor_tables import SMALLEST_MEAN, factor_table
from raytpnn.engine.rows.row_passes import multiply_factor
from raytpnn.model.limits import GAMMA_SLOTS
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import gamma_variate, uniforms

__all__ = ["build_phi", "prior_factor", "take_trial"]


@unit(FLAG(PROBLEM_T, WORK_T, FEATURES, VECTOR, VECTOR, INTEGER, INTEGER, INTEGER))
def build_phi(problem, work, features, b, gamma, d, first, row):
    """Multiply factors first ... d - 1 into a row of phi with those before; False if one has no mass."""
    for j in range(first, d):
        c = factor_table(problem, work, j, features[j], b[j], gamma[j])
        if not c >= SMALLEST_MEAN:
            return False
        multiply_factor(problem, work, features[j], j, row)
    return True


@unit(NOTHING(SETTINGS_T, STATE_T, WORK_T, INTEGER, INTEGER, INTEGER))
def prior_factor(settings, state, work, purpose, slot, place):
    """Location and scale of the trial's variable at `place` from their prior."""
    work.trial_b[0, place], _ = uniforms(state, purpose, slot, 0)
    variate = gamma_variate(state, purpose, slot + GAMMA_SLOTS, settings.a_gamma)
    work.trial_gamma[0, place] = state.scalar[B_GAMMA] * variate


@internal
def take_trial(state, work, k, d, beta):
    """Write the trial's numbers over term k."""
    state.order[k] = d
    state.beta[k] = beta
    for j in range(d):
        state.features[k, j] = work.trial_features[0, j]
        state.b[k, j] = work.trial_b[0, j]
        state.gamma[k, j] = work.trial_gamma[0, j]
