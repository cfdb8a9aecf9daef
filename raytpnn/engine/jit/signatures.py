"""Numba types of the records, for the signatures of units."""

from __future__ import annotations

from numba import from_dtype, types

from raytpnn.engine.records import BATCH, PROBLEM, SETTINGS, STATE, WORK

BATCH_T = from_dtype(BATCH)
PROBLEM_T = from_dtype(PROBLEM)
SETTINGS_T = from_dtype(SETTINGS)
STATE_T = from_dtype(STATE)
WORK_T = from_dtype(WORK)
# What every move takes.
CHAIN = (PROBLEM_T, SETTINGS_T, STATE_T, WORK_T)
INTEGER = types.int64
DOUBLE = types.float64
FLAG = types.boolean
NOTHING = types.void
PAIR = types.UniTuple(types.float64, 2)
VECTOR = types.float64[::1]
FEATURES = types.int32[::1]
