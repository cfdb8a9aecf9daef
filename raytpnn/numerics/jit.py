"""How everything compiled here is compiled: cached, GIL released, strict IEEE arithmetic."""

from __future__ import annotations

from numba import njit

__all__ = ["compiled", "internal"]

# error_model="numpy" lets divisions vectorise; fastmath stays off, so that every execution rounds alike.
compiled = njit(cache=True, nogil=True, error_model="numpy")
# For functions that only compiled code calls: without the wrapper for Python they compile much faster.
internal = njit(
    cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
)
