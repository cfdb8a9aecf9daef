"""How prediction is compiled: as the engine, but free to reorder sums."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["fast", "fast_internal"]

# No draw depends on these results, so that fastmath is allowed here (and only here). Sizes of components at
# the probe rows are part of what ends a run; between kinds of processors they may differ in the last bit.
fast = njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
# Called from compiled code only: no wrapper for Python, which takes as long to compile as the function.
WITHOUT_WRAPPER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
fast_internal = njit(cache=True, nogil=True, fastmath=True, error_model="numpy", **WITHOUT_WRAPPER)
