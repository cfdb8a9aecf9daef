"""Starting is quick: nothing heavy at import, nothing compiled twice."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numba.core import event

import raytpnn
from raytpnn import Moves, Prior
from raytpnn.engine import precompile as warm


def test_a_second_fit_compiles_nothing():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(50, 4)))
    X.columns = list("abcd")
    args = {"chains": 2, "warmup": 5, "draws": 5}
    raytpnn.sample(X, X["a"], **args).predict(X)
    # Two-byte codes: the encoder's kernels are compiled for them too, the sampler's are not.
    raytpnn.sample(X, X["a"], max_bins=300, **args)
    with event.install_recorder("numba:compile") as recorder:
        raytpnn.sample(X, X["b"], **args).predict(X)
        # Another size, prior, family and other moves: still the same code.
        raytpnn.sample(X.head(30), X["b"].head(30) > 0, family="bernoulli", **args)
        raytpnn.sample(X, X["c"], prior=Prior(K_max=7, max_order=2), moves=Moves.paper(), **args)
        raytpnn.sample(X, X["c"], max_bins=300, **args)
    assert [item.data["dispatcher"].__name__ for _, item in recorder.buffer if item.is_start] == []


def test_a_fit_that_fails_leaves_no_helper_behind(monkeypatch):
    started = []

    def start(command, **options):
        started.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], **options))
        return started[0]

    monkeypatch.setattr(warm, "is_cached", lambda name: False)
    monkeypatch.setattr(warm.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(warm, "subprocess", SimpleNamespace(**vars(subprocess) | {"Popen": start}))
    with pytest.raises(ValueError, match="y"):
        raytpnn.sample(pd.DataFrame({"a": [1.0, 2.0]}), np.array([1.0, np.nan]))
    assert started[0].returncode is not None, "it was ended, and waited for"


def test_import_loads_nothing_heavy():
    heavy = ("numba", "pandas", "pyarrow", "scipy", "sklearn", "ray")
    code = f"import raytpnn, sys; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_public_names_resolve():
    for name in raytpnn.__all__:
        assert getattr(raytpnn, name) is not None
    assert set(raytpnn.__all__) <= set(dir(raytpnn))


def test_strict_arithmetic_is_not_inherited_from_fast_callers():
    """Numba compiles a callee with the fastmath of its first caller, unless told otherwise."""
    code = """
import numpy as np
from raytpnn.numerics.elementary import exp
from raytpnn.numerics.fast_math import fast

@fast
def caller(x):
    return exp(x)

first = caller(1.3)
print(abs(first / np.exp(1.3) - 1) < 1e-12, abs(exp(1.3) / np.exp(1.3) - 1) < 1e-12)
"""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        script = Path(folder) / "script.py"
        script.write_text(code)
        found = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=True, env=environment
        )
    assert found.stdout.split() == ["True", "True"]
