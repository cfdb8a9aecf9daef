"""How everything compiled here is compiled: cached, GIL released, strict IEEE arithmetic."""

from __future__ import annotations

from typing import Any

from numba import njit
from numba.core.types import unliteral

__all__ = ["compiled", "internal"]

# error_model="numpy" lets divisions vectorise; fastmath stays off, so that every execution rounds alike.
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def _once_a_type(dispatcher: Any) -> Any:
    """Make a function compile once for int64, not once more for every literal it is called with."""
    resolve = dispatcher.get_call_template

    def get_call_template(args, kws):
        return resolve(tuple(unliteral(a) for a in args), {name: unliteral(a) for name, a in kws.items()})

    dispatcher.get_call_template = get_call_template
    return dispatcher


def compiled(function: Any) -> Any:
    """Compile a function that Python calls too."""
    return _once_a_type(njit(function, **OPTIONS))


def internal(function: Any) -> Any:
    """Compile a function that only compiled code calls: without a wrapper for Python that is faster."""
    return _once_a_type(njit(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS))
