"""How everything compiled here is compiled: cached, GIL released, strict IEEE arithmetic."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core.caching import IndexDataCacheFile
from numba.core.types import unliteral

__all__ = ["SUPPORTED", "allocating", "compiled", "internal"]

# Versions of Numba whose private names are known: those of `pyproject.toml`.
SUPPORTED = ">=0.61,<0.69"

PACKAGE = Path(__file__).parent.parent
# error_model="numpy" lets divisions vectorise; fastmath stays off, so that every execution rounds alike.
# It is stated because Numba lets a callee inherit it from the caller it is first compiled for.
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": False}
# Nothing in a sweep is allocated, so nothing needs counting: without this, every slice costs calls that count
# references, a tenth of a sweep or more with few rows. A function that allocates does not compile then.
WITHOUT_COUNTING: dict[str, Any] = {"_nrt": False}
WITHOUT_WRAPPER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class CheckedCache(IndexDataCacheFile):
    """Numba's cache of one function, whose entries say what they are.

    Numba writes the index before the code, and numbers files of code from 1 again when sources change. A
    process that looks at that moment would be given the code of other sources, or of another signature.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keep code with its key and the stamp of its sources."""
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        """Code of a key; None if there is none, or what is there is something else."""
        found = super().load(key)
        if not isinstance(found, tuple) or len(found) != 3 or found[:2] != (self._source_stamp, key):
            return None
        return found[2]


@cache
def _stamp_of_sources() -> tuple[float, int]:
    """Newest change and total size of all compiled sources."""
    folders = ("numerics", "families", "model", "engine")
    stats = [path.stat() for folder in folders for path in (PACKAGE / folder).rglob("*.py")]
    return max(stat.st_mtime for stat in stats), sum(stat.st_size for stat in stats)


def _cached_with_callees(dispatcher: Any, *callees: Any) -> Any:
    """Let the cache of a function expire when any compiled source changes.

    Numba looks at the function's own file only, and would go on using copies of changed callees. Files
    outside the package count too: its own, and those of callees that are named.
    """
    newest, size = _stamp_of_sources()
    for function in (dispatcher, *callees):
        path = Path(function.py_func.__code__.co_filename)
        if PACKAGE not in path.parents and path.exists():
            newest, size = max(newest, path.stat().st_mtime), size + path.stat().st_size
    index = _private(_private(dispatcher, "_cache"), "_cache_file")
    _private(index, "_source_stamp")
    index._source_stamp = newest, size
    index.__class__ = CheckedCache
    return dispatcher


def _private(owner: Any, name: str) -> Any:
    """Attribute that Numba does not promise to keep; ImportError if this version has none."""
    if not hasattr(owner, name):
        raise ImportError(
            f"Numba {numba.__version__} has no {type(owner).__name__}.{name}, which raytpnn needs; install "
            f"numba{SUPPORTED}"
        )
    return getattr(owner, name)


def _once_a_type(dispatcher: Any) -> Any:
    """Make a function compile once for int64, not once more for every literal it is called with."""
    resolve = dispatcher.get_call_template

    def get_call_template(args, kws):
        return resolve(tuple(unliteral(a) for a in args), {name: unliteral(a) for name, a in kws.items()})

    dispatcher.get_call_template = get_call_template
    return dispatcher


def allocating(function: Any) -> Any:
    """Compile a function that Python calls and that makes arrays."""
    return _once_a_type(_cached_with_callees(njit(function, **OPTIONS)))


def compiled(function: Any) -> Any:
    """Compile a function that Python calls too; it makes no arrays."""
    return _once_a_type(_cached_with_callees(njit(function, **OPTIONS, **WITHOUT_COUNTING)))


def internal(function: Any, *callees: Any) -> Any:
    """Compile a function that only compiled code calls: without a wrapper for Python that is faster.

    Callees that may stand in files outside the package are named.
    """
    made = njit(function, **OPTIONS, **WITHOUT_COUNTING, **WITHOUT_WRAPPER)
    return _once_a_type(_cached_with_callees(made, *callees))
