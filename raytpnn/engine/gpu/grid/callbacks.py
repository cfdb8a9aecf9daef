"""The way from the compiled moves to rows that lie on devices.

The moves reach every pass over the rows through an address in the record `Work`. Here are functions for these
places that do nothing but call back into Python, with the number of the pass and its arguments: the moves
themselves stay the compiled ones, decision for decision.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from raytpnn.engine.jit.function_table import compile_as_unit, slot_of
from raytpnn.engine.jit.pointers import integers
from raytpnn.engine.jit.signatures import WORK_T
from raytpnn.engine.records import MOST_UNITS, NUISANCE, WORK
from raytpnn.numerics.jit import internal

__all__ = ["CALLBACK", "CALLS", "HOST_SLOT", "grid_addresses", "place_callback"]

# Passes over the rows, by the number under which they are asked for.
CALLS = (
    "multiply_factor",
    "evaluate",
    "phi_moments",
    "replace_term",
    "copy_phi",
    "take_trial_fit",
    "shift_fit",
    "fit_from_terms",
    "gram_matrix",
    "score_of_terms",
    "change_trial_fit",
    "bin_sums",
)
# Passes that are made of these.
MADE_OF_CALLS = ("rebuild_term",)
(
    MULTIPLY_FACTOR,
    EVALUATE,
    PHI_MOMENTS,
    REPLACE_TERM,
    COPY_PHI,
    TAKE_TRIAL_FIT,
    SHIFT_FIT,
    FIT_FROM_TERMS,
    GRAM_MATRIX,
    SCORE_OF_TERMS,
    CHANGE_TRIAL_FIT,
    BIN_SUMS,
) = range(len(CALLS))

# Where in Work.units the address of the callback stands, behind all units.
HOST_SLOT = MOST_UNITS - 1
_HOST_OFFSET = dict(WORK.fields or {})["units"][1] + 8 * HOST_SLOT

# Number of the pass, seven integers or addresses, three numbers.
CALLBACK = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 8, *[ctypes.c_double] * 3)
_SIGNATURE = types.void(WORK_T, *[types.int64] * 8, *[types.float64] * 3)


def _call_host(typingctx, work, call, a, b, c, d, e, f, g, x, y, z):
    """Call the function of C whose address stands behind the units."""

    def codegen(context, builder, _, values):
        cell = cgutils.pointer_add(builder, values[0], _HOST_OFFSET, cgutils.intp_t.as_pointer())
        kinds = [context.get_value_type(kind) for kind in _SIGNATURE.args[1:]]
        kind = ir.FunctionType(ir.VoidType(), kinds)
        builder.call(builder.inttoptr(builder.load(cell), kind.as_pointer()), values[1:])
        return context.get_dummy_value()

    return _SIGNATURE, codegen


call_host: Any = intrinsic(_call_host)


@internal
def multiply_factor(problem, work, feature, j, row):
    """Factor table j stands in work.table."""
    call_host(work, MULTIPLY_FACTOR, feature, j, row, 0, 0, 0, 0, 0.0, 0.0, 0.0)


@internal
def evaluate(
    problem, settings, state, work, address, old_row, old_beta, new_row, new_beta, need, row, features, d
):
    """Leaves the sums in work.sums."""
    at = np.int64(features.ctypes.data)
    dispersion = state.scalar[NUISANCE]
    call_host(work, EVALUATE, address, old_row, new_row, need, row, d, at, old_beta, new_beta, dispersion)


@internal
def phi_moments(problem, work, row):
    """The two sums come back in work.block, which is otherwise unused here."""
    call_host(work, PHI_MOMENTS, row, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0)
    return work.block[0, 0], work.block[0, 1]


@internal
def replace_term(problem, work, k, old_beta, row, new_beta):
    """No sum, so that the host does not wait."""
    call_host(work, REPLACE_TERM, k, row, 0, 0, 0, 0, 0, old_beta, new_beta, 0.0)


@internal
def copy_phi(problem, work, source, target):
    """No sum, so that the host does not wait."""
    call_host(work, COPY_PHI, source, target, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0)


@internal
def take_trial_fit(problem, work):
    """No sum, so that the host does not wait."""
    call_host(work, TAKE_TRIAL_FIT, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0)


@internal
def shift_fit(problem, work, amount):
    """No sum, so that the host does not wait."""
    call_host(work, SHIFT_FIT, 0, 0, 0, 0, 0, 0, 0, amount, 0.0, 0.0)


@internal
def fit_from_terms(problem, work, K, intercept, coefficients, address):
    """No sum, so that the host does not wait."""
    at = np.int64(coefficients.ctypes.data)
    call_host(work, FIT_FROM_TERMS, K, at, address, 0, 0, 0, 0, intercept, 0.0, 0.0)


@internal
def gram_matrix(problem, settings, work, K):
    """Leaves the matrix in work.gram."""
    call_host(work, GRAM_MATRIX, K, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0)


@internal
def score_of_terms(problem, work, K, out):
    """Leaves the sums in out[1:]."""
    call_host(work, SCORE_OF_TERMS, K, np.int64(out.ctypes.data), 0, 0, 0, 0, 0, 0.0, 0.0, 0.0)


@internal
def change_trial_fit(problem, work, address, old_row, old_beta, new_row, new_beta):
    """No sum, so that the host does not wait."""
    call_host(work, CHANGE_TRIAL_FIT, address, old_row, new_row, 0, 0, 0, 0, old_beta, new_beta, 0.0)


@internal
def bin_sums(problem, settings, state, work, k, j):
    """Leaves the sums in work.bin_score and work.bin_curvature; the tables stand in work.table."""
    features = state.features[k]
    at = np.int64(features.ctypes.data)
    bins = integers(problem.n_bins, problem.p)[features[j]]
    beta, dispersion = state.beta[k], state.scalar[NUISANCE]
    call_host(work, BIN_SUMS, k, j, state.order[k], at, bins, 0, 0, beta, dispersion, settings.bin_unit)


@internal
def rebuild_term(problem, work, features, d, k, trial, old_beta, new_beta):
    """Build the term in the row of the trial, then take it over."""
    for j in range(d):
        multiply_factor(problem, work, features[j], j, trial)
    replace_term(problem, work, k, old_beta, trial, new_beta)


def grid_addresses() -> dict[int, int]:
    """Addresses of the functions of this file, by their slot in Work.units."""
    return {slot_of(name): compile_as_unit(name, globals()[name]) for name in (*CALLS, *MADE_OF_CALLS)}


def place_callback(work: np.record, function: Callable[..., None]) -> Any:
    """Have a chain's passes over rows call a Python function; what is returned must outlive the chain."""
    callback = CALLBACK(function)
    for slot, address in grid_addresses().items():
        work.units[slot] = address
    work.units[HOST_SLOT] = ctypes.cast(callback, ctypes.c_void_p).value
    return callback
