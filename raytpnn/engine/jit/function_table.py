"""Parts of the sampler that are compiled apart and call each other through pointers.

Numba optimises a function together with all it calls, so that the inner passes would be compiled again in
every move, in the sweep, and in the block: a minute of it. A unit is compiled once; its callers find its
address in the record `Work`, filled in by `unit_addresses` when a chain is made.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

from raytpnn.engine.jit.signatures import WORK_T
from raytpnn.engine.records import WORK
from raytpnn.families import Family
from raytpnn.numerics.jit import internal

__all__ = [
    "UNIT_NAMES",
    "compile_as_unit",
    "compile_unit",
    "family_address",
    "is_cached",
    "slot_of",
    "unit",
    "unit_addresses",
]

# Slots are fixed by name: they are part of cached machine code, whatever the order of imports.
UNIT_NAMES = (
    "begin_block",
    "bin_sums",
    "birth",
    "build_phi",
    "change_component",
    "change_output",
    "change_trial_fit",
    "copy_phi",
    "death",
    "draw_new_set",
    "draw_nuisance",
    "draw_scales",
    "evaluate",
    "fit_from_terms",
    "gram_matrix",
    "joint_beta",
    "log_likelihood_change",
    "log_ratio_of_move",
    "moments_without",
    "multiply_factor",
    "phi_moments",
    "prior_factor",
    "propose_set",
    "rebuild_term",
    "replace_term",
    "score_of_terms",
    "shift_fit",
    "step_factor",
    "sweep",
    "take_factor",
    "take_trial_fit",
    "term_tables",
    "try_restructure",
    "update_intercept",
)
# Those that only ensembles of replicas need: plain chains do not wait for them.
ENSEMBLE_UNIT_NAMES = ("draw_from_prior",)
# Those that only chains on subsets of the rows need.
SUBSET_UNIT_NAMES = (
    "propose_walk",
    "screen_birth",
    "screen_death",
    "screen_restructure",
    "take_subset",
    "watch_terms",
)
# Those that only shards need.
SHARD_UNIT_NAMES = ("meet",)
# The one that every family has of its own.
FAMILY_UNIT_NAMES = ("family_rows",)
_SLOTS = UNIT_NAMES + ENSEMBLE_UNIT_NAMES + SUBSET_UNIT_NAMES + SHARD_UNIT_NAMES + FAMILY_UNIT_NAMES
_UNITS: dict[str, tuple[Any, Any]] = {}
_UNITS_OFFSET = dict(WORK.fields or {})["units"][1]


def unit(signature: Any) -> Any:
    """Declare a unit with one signature; the record `Work` must be among its arguments."""

    def decorate(function: Any) -> Any:
        dispatcher = internal(function)
        slot = _SLOTS.index(function.__name__)
        _UNITS[function.__name__] = (dispatcher, signature)
        # Numba keeps the value of a record as a pointer to it.
        place = signature.args.index(WORK_T)
        offset = _UNITS_OFFSET + 8 * slot

        def call(typingctx, *args):
            def codegen(context, builder, _, values):
                cell = cgutils.pointer_add(builder, values[place], offset, cgutils.intp_t.as_pointer())
                convention = context.call_conv
                kind = convention.get_function_type(signature.return_type, signature.args)
                callee = builder.inttoptr(builder.load(cell), kind.as_pointer())
                _, result = convention.call_function(
                    builder, callee, signature.return_type, signature.args, values
                )
                return result

            return signature, codegen

        # Numba wants to see the arguments one by one.
        own = list(inspect.signature(function).parameters.values())
        first = inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        call.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
        call.__name__ = function.__name__
        caller: Any = intrinsic(call)
        caller.unit = dispatcher
        return caller

    return decorate


def _unit(name: str) -> tuple[Any, Any]:
    """Function and signature of a unit; importing `raytpnn.engine.sweeps.ensemble` declares all of them."""
    if name not in _UNITS:
        raise RuntimeError(f"no module that declares the unit {name!r} is imported")
    return _UNITS[name]


def is_cached(name: str) -> bool:
    """Whether a unit is compiled already, here or in the cache."""
    dispatcher, signature = _unit(name)
    if signature.args in dispatcher.overloads:
        return True
    return dispatcher._cache.load_overload(signature.args, dispatcher.targetctx) is not None


def compile_unit(name: str) -> int:
    """Compile a unit, or take it from the cache; returns its address."""
    return compile_as_unit(name, _unit(name)[0])


def compile_as_unit(name: str, dispatcher: Any) -> int:
    """Compile a function that can stand in a unit's place; returns its address."""
    _, signature = _unit(name)
    dispatcher.compile(signature.args)
    result = dispatcher.overloads[signature.args]
    if result.signature.return_type != signature.return_type:
        raise TypeError(
            f"unit {name} returns {result.signature.return_type}, declared as {signature.return_type}"
        )
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)


def slot_of(name: str) -> int:
    """Place of a unit's address in Work.units."""
    return _SLOTS.index(name)


def unit_addresses(
    family: Family, ensemble: bool = False, subsets: bool = False, shards: bool = False
) -> np.ndarray:
    """Addresses of all units, (units,) int64; 0 for units of kinds that were not asked for."""
    skipped = (() if ensemble else ENSEMBLE_UNIT_NAMES) + (() if subsets else SUBSET_UNIT_NAMES)
    skipped += FAMILY_UNIT_NAMES + (() if shards else SHARD_UNIT_NAMES)
    addresses = np.array([0 if name in skipped else compile_unit(name) for name in _SLOTS], np.int64)
    addresses[slot_of("family_rows")] = family_address(family)
    return addresses


def family_source(family: Family) -> Any:
    """Python source of `family_rows`, or of what stands in its place for several outputs."""
    source = _unit("family_rows")[0].py_func
    return source if family.outputs is None else source.__globals__["family_rows_of_outputs"].py_func


# By kernel: the function, which keeps its code alive, and its address.
_COMPILED_FAMILIES: dict[Any, tuple[Any, int]] = {}


def family_address(family: Family) -> int:
    """Address of a family's own unit `family_rows`: the source, with its kernel in the place of `rows`.

    Callers do not know which family they call, so that another family compiles nothing else.
    """
    kernel: Any = family.kernel
    if kernel not in _COMPILED_FAMILIES:
        source = family_source(family)
        own = FunctionType(source.__code__, source.__globals__ | {"rows": kernel}, source.__name__)
        # Numba keeps compiled code by this name.
        own.__qualname__ = f"family_rows_{family.name}"
        made = internal(own, kernel)
        _COMPILED_FAMILIES[kernel] = made, compile_as_unit("family_rows", made)
    return _COMPILED_FAMILIES[kernel][1]
