"""What is used of Numba beside its public API: each name must be there in every version that is allowed."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from raytpnn.numerics import jit

ROOT = Path(__file__).parents[2]
# Modules and the names in them.
NAMES = (
    ("numba.core.cgutils", "pointer_add"),
    ("numba.core.cgutils", "intp_t"),
    ("numba.core.types", "unliteral"),
    ("numba.np.arrayobj", "make_array"),
    ("numba.np.arrayobj", "populate_array"),
    ("numba.core.dispatcher", "Dispatcher.get_call_template"),
    ("numba.core.caching", "FunctionCache.load_overload"),
    ("numba.core.caching", "IndexDataCacheFile.load"),
    ("numba.core.caching", "IndexDataCacheFile.save"),
    ("numba.core.codegen", "JITCodeLibrary.get_pointer_to_function"),
    ("numba.core.callconv", "CPUCallConv.call_function"),
    ("numba.core.callconv", "CPUCallConv.get_function_type"),
    ("numba.core.options", "DefaultOptions._nrt"),
)


def double(x):
    return x + x


def one_more(x):
    return (x + 1.0).sum()


# Numba's cache goes by name, not by options.
def two_more(x):
    return (x + 2.0).sum()


def test_the_range_is_stated_once_and_holds_what_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (own,) = [r for r in map(Requirement, project["dependencies"]) if r.name == "numba"]
    assert own.specifier == SpecifierSet(jit.SUPPORTED)
    assert numba.__version__ in own.specifier, "allow this version when the tests of this file pass with it"


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[name for _, name in NAMES])
def test_private_names_are_there(module, name):
    found = import_module(module)
    for part in name.split("."):
        assert hasattr(found, part), f"Numba {numba.__version__} has no {module}.{name}"
        found = getattr(found, part)


def test_a_version_without_a_private_name_is_refused_in_words():
    cache = SimpleNamespace(_cache_file=SimpleNamespace(_stamp=0))
    older = SimpleNamespace(_cache=cache, py_func=double)
    message = rf"Numba {numba.__version__} has no SimpleNamespace\._source_stamp.*install numba>=0\.61,<0\.69"
    with pytest.raises(ImportError, match=message):
        jit._cached_with_callees(older)


def test_caches_expire_with_all_sources():
    dispatcher = jit.compiled(double)
    dispatcher(1.0)
    (types,) = dispatcher.signatures

    def found():
        return dispatcher._cache.load_overload(types, dispatcher.targetctx) is not None

    assert found()
    dispatcher._cache._cache_file._source_stamp = (0.0, 0)
    assert not found(), "what was saved under another stamp is used"


def test_only_functions_that_ask_for_it_allocate():
    """The effect of `_nrt: False`: no memory is managed, so that no references are counted."""
    x = np.arange(8.0)
    assert jit.allocating(one_more)(x) == x.sum() + 8
    with pytest.raises(numba.core.errors.NumbaError, match=r"(?i)nrt"):
        jit.compiled(two_more)(x)


def test_literals_compile_nothing_more():
    dispatcher = jit.compiled(double)

    @numba.njit
    def caller():
        return dispatcher(1) + dispatcher(2)

    assert caller() == 6
    assert len(dispatcher.signatures) == 1


def test_code_of_other_sources_or_of_another_signature_is_not_taken(tmp_path):
    """What a process sees that looks between the writing of an index and of its code."""

    def cache_of(stamp):
        made = IndexDataCacheFile(str(tmp_path), "function", stamp)
        made.__class__ = jit.CheckedCache
        return made

    old, new = cache_of((1.0, 10)), cache_of((2.0, 11))
    old.save("f(int64)", "old code")
    assert old.load("f(int64)") == "old code"
    assert new.load("f(int64)") is None
    (entry,) = tmp_path.glob("*.nbc")
    before = entry.read_bytes()
    new.save("f(int64)", "new code")
    assert new.load("f(int64)") == "new code"
    entry.write_bytes(before)
    assert new.load("f(int64)") is None, "code of other sources under a fresh index"
    new.save("f(float64)", "code of another signature")
    (other,) = set(tmp_path.glob("*.nbc")) - {entry}
    entry.write_bytes(other.read_bytes())
    assert new.load("f(int64)") is None
    assert new.load("f(float64)") == "code of another signature"
