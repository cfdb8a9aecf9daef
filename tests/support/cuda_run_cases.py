"""What `test_cuda_runs` and other tests share: assert_same_run, data, fit."""

from __future__ import annotations

import numpy as np
from support.run_cases import files_of

import raytpnn

SHORT = {"chains": 3, "warmup": 120, "draws": 90, "thin": 2, "seed": 7}


def data(family="gaussian", n=30):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    f = np.sin(2 * np.nan_to_num(X[:, 0])) + np.nan_to_num(X[:, 1])
    if family == "poisson":
        return X, rng.poisson(np.exp(0.5 * f))
    return X, f + 0.3 * rng.normal(size=n)


def fit(out, backend, family="gaussian", **options):
    X, y = data(family)
    prior = raytpnn.Prior(K_max=8, max_order=3)
    settings = {"prior": prior, "executor": "threads", **SHORT, **options}
    return raytpnn.sample(X, y, family=family, backend=backend, out=out, **settings)


def assert_same_run(left, right):
    """Draws and checkpoints are the same, byte for byte."""
    for under in ("draws", "checkpoint"):
        ours, theirs = files_of(left, under), files_of(right, under)
        assert list(ours) == list(theirs)
        assert ours
        assert [name for name in ours if ours[name] != theirs[name]] == []
