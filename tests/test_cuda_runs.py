"""Runs with backend "cuda" on the CPU host of the kernels: the same draws and files as those of "numba"."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_cases import POLICIES, HostDevice
from cuda_host.build import COMPILER

import raytpnn
from raytpnn.engine import device as devices
from raytpnn.engine.device import DeviceError

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH")

SHORT = {"chains": 3, "warmup": 150, "draws": 150, "thin": 2, "seed": 7}


def data(family="gaussian", n=40):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    f = np.sin(2 * np.nan_to_num(X[:, 0])) + np.nan_to_num(X[:, 1])
    if family == "poisson":
        return X, rng.poisson(np.exp(0.5 * f))
    return X, f + 0.3 * rng.normal(size=n)


def files(run):
    """Content of all draws and checkpoints of a run."""
    found = [path for folder in ("draws", "checkpoint") for path in (run / folder).rglob("*") if path.is_file()]
    return {path.relative_to(run).as_posix(): path.read_bytes() for path in found}


def fit(out, backend, family="gaussian", **options):
    X, y = data(family)
    prior = raytpnn.Prior(K_max=15, max_order=3)
    return raytpnn.sample(
        X, y, family, prior=prior, backend=backend, executor="threads", out=out, **(SHORT | options)
    )


@pytest.fixture(scope="module")
def numba_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("numba") / "run"
    fit(out, "numba")
    return out


@pytest.mark.parametrize("policy", POLICIES)
def test_draws_and_files_are_those_of_numba(numba_run, tmp_path, policy):
    device = HostDevice(policy)
    with devices.use(device):
        fit(tmp_path / "run", "cuda")
    assert files(tmp_path / "run") == files(numba_run)
    assert ("sweep_block", SHORT["chains"], 64) in device.launches
    assert not device.pieces, "memory was not given back"
