"""Run the same source another way: copies of compiled functions with some of their callees replaced.

The moves are written once. The reference execution runs their Python source with the row passes, tables,
random numbers and elementary functions of NumPy in the place of the compiled ones; tests compile copies in
which one ratio is deliberately wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba.core.dispatcher import Dispatcher

__all__ = ["as_python", "rebuild"]


def rebuild(function: Any, replacements: dict[str, Any], decorate: Callable[[Any], Any]) -> Any:
    """Copy a compiled function and all that leads from it to a replaced one.

    Parameters
    ----------
    function : numba dispatcher
    replacements : dict
        Function name to what takes its place, wherever it is called.
    decorate : callable
        Applied to every copy: the identity for plain Python, a Numba decorator for a compiled copy.

    Returns
    -------
    callable
        The copy. Functions that reach no replaced one are used as they are, unless the copy is to be plain
        Python, where compiled callees are copied too.
    """
    plain = decorate is _identity
    return _Rebuilder(replacements, decorate, plain).copy(function)


def _identity(function: Any) -> Any:
    return function


def as_python(function: Any, replacements: dict[str, Any]) -> Any:
    """The plain Python of a compiled function, callees included."""
    return rebuild(function, replacements, _identity)


class _Rebuilder:
    def __init__(self, replacements: dict[str, Any], decorate: Callable[[Any], Any], plain: bool) -> None:
        self.replacements = replacements
        self.decorate = decorate
        self.plain = plain
        self.copies: dict[int, Any] = {}

    def copy(self, function: Any) -> Any:
        key = id(function)
        if key not in self.copies:
            self.copies[key] = self._copy(function)
        return self.copies[key]

    def _copy(self, function: Any) -> Any:
        source = function.py_func
        used = {
            name: source.__globals__[name] for name in source.__code__.co_names if name in source.__globals__
        }
        copied = {}
        for name, value in used.items():
            if name in self.replacements:
                copied[name] = self.replacements[name]
            else:
                callee = getattr(value, "unit", value)
                if isinstance(callee, Dispatcher):
                    copy = self.copy(callee)
                    copied[name] = value if copy is callee else copy
        unchanged = all(copied[name] is used[name] for name in copied)
        if unchanged and not self.plain:
            return function
        scope = dict(source.__globals__)
        scope.update(copied)
        return self.decorate(FunctionType(source.__code__, scope, source.__name__, source.__defaults__))
