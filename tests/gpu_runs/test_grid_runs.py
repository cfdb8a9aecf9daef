"""Runs with rows on several devices of the CPU host: the same draws and files as those of "numba"."""

from __future__ import annotations

import pytest
from support.cuda_cases import HostDevice
from support.cuda_host.build import COMPILER
from support.cuda_run_cases import assert_same_run, data, fit

import raytpnn
from raytpnn.engine.gpu import device as devices
from raytpnn.engine.gpu.device import DeviceError, Limits
from raytpnn.engine.gpu.grid import choice as grid_choice
from raytpnn.engine.gpu.grid.choice import grid_pays

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH")
FEW = {"chains": 2, "warmup": 12, "draws": 6, "thin": 1}


@pytest.fixture(scope="module")
def numba_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("numba") / "run"
    fit(out, "numba", **FEW)
    return out


def fit_in_grids(out, count, **options):
    """Fit on so many devices; returns them, their memory given back."""
    made = [HostDevice("lazy", order="random") for _ in range(count)]
    with devices.use(*made):
        fit(out, options.pop("backend", "cuda"), **FEW, **options)
    assert not any(device.pieces for device in made)
    return made


def kernels_of(made):
    return {kernel for device in made for kernel, *_ in device.launches}


@needs_compiler
@pytest.mark.parametrize("backend", ["cuda", "auto"])
def test_shards_on_devices_write_the_files_of_numba(numba_run, tmp_path, backend):
    made = fit_in_grids(tmp_path / "run", 4, shards=2, backend=backend)
    assert_same_run(tmp_path / "run", numba_run)
    # Two chains at a time, each on two devices; 30 rows are one row block, which the second of each pair has.
    assert [bool(device.launches) for device in made] == [False, True, False, True]
    assert "grid_pass" in kernels_of(made)


@needs_compiler
def test_few_chains_of_many_rows_run_in_grids(numba_run, tmp_path, monkeypatch):
    monkeypatch.setattr(grid_choice, "OVERHEAD_ROWS", 0)
    monkeypatch.setattr(grid_choice, "MARGIN", 1)
    made = fit_in_grids(tmp_path / "run", 1)
    assert_same_run(tmp_path / "run", numba_run)
    assert "grid_pass" in kernels_of(made)
    assert "sweep_block" not in kernels_of(made)


@needs_compiler
def test_a_run_in_grids_is_resumed_without_them(numba_run, tmp_path):
    fit_in_grids(tmp_path / "run", 2, shards=2)
    next((tmp_path / "run" / "checkpoint").rglob("*block=0*")).unlink()
    raytpnn.resume(tmp_path / "run", executor="threads", backend="numba", shards=1)
    assert_same_run(tmp_path / "run", numba_run)


def test_too_few_devices_are_said():
    with devices.use(HostDevice()), pytest.raises(DeviceError, match="needs 2 GPUs, this process sees 1"):
        fit(None, "cuda", shards=2, **FEW)


def test_auto_with_more_shards_than_devices_stays_on_the_cpu():
    device = HostDevice()
    with devices.use(device):
        post = fit(None, "auto", shards=2, **FEW)
    assert not device.launches
    assert post.config["backend"] == "auto"


def test_replicas_have_no_shards_on_devices():
    with devices.use(HostDevice(), HostDevice()), pytest.raises(ValueError, match="leave tempering out"):
        fit(None, "cuda", shards=2, tempering=raytpnn.Tempering(replicas=2), **FEW)


# Two strata of one row block each: what two shards take subsets of at least.
TWO_BLOCKS, SUBSET = 8200, 1100
WAYS = {
    "minibatch": {"minibatch": SUBSET},
    "delayed": {"minibatch": SUBSET, "delayed_acceptance": True},
}


def fit_subsets(out, backend, way, count=0, n=TWO_BLOCKS, **options):
    """Fit with subsets of the rows, on so many devices if any; returns these."""
    X, y = data(n=n)
    settings = {"chains": 2, "warmup": 4, "draws": 2, "seed": 7, "prior": raytpnn.Prior(K_max=6, max_order=3)}
    made = [HostDevice("lazy", order="random") for _ in range(count)]
    with devices.use(*made):
        given = settings | WAYS[way] | options
        raytpnn.sample(X, y, backend=backend, out=out, executor="threads", **given)
    assert not any(device.pieces for device in made)
    return made


@needs_compiler
@pytest.mark.parametrize("way", WAYS)
def test_subsets_of_shards_on_devices_write_the_files_of_numba(tmp_path, way):
    fit_subsets(tmp_path / "numba", "numba", way)
    made = fit_subsets(tmp_path / "cuda", "cuda", way, 2, shards=2)
    assert_same_run(tmp_path / "cuda", tmp_path / "numba")
    assert all(kernels_of([device]) >= {"grid_subset", "grid_pass"} for device in made)
    assert ("grid_gather" in kernels_of(made)) == (way == "delayed")
    # Goes on with another number of shards, and without devices.
    raytpnn.resume(tmp_path / "cuda", draws=4, executor="threads", backend="numba", shards=1)
    raytpnn.resume(tmp_path / "numba", draws=4, executor="threads")
    assert_same_run(tmp_path / "cuda", tmp_path / "numba")


@needs_compiler
def test_a_large_minibatch_runs_in_a_grid(tmp_path, monkeypatch):
    """The rows of the subset count, not those of the data."""
    monkeypatch.setattr(grid_choice, "OVERHEAD_ROWS", 1000)
    monkeypatch.setattr(grid_choice, "MARGIN", 1)
    fit_subsets(tmp_path / "numba", "numba", "minibatch", n=2000)
    large = fit_subsets(tmp_path / "large", "cuda", "minibatch", 1, n=2000)
    small = fit_subsets(tmp_path / "small", "cuda", "minibatch", 1, n=2000, minibatch=600)
    assert_same_run(tmp_path / "large", tmp_path / "numba")
    assert "grid_subset" in kernels_of(large)
    assert "grid_subset" not in kernels_of(small)


@needs_compiler
def test_screened_chains_run_in_a_grid_where_all_rows_do(tmp_path, monkeypatch):
    fit_subsets(tmp_path / "numba", "numba", "delayed", n=2000)
    together = fit_subsets(tmp_path / "together", "cuda", "delayed", 1, n=2000)
    monkeypatch.setattr(grid_choice, "OVERHEAD_ROWS", 1000)
    monkeypatch.setattr(grid_choice, "MARGIN", 1)
    alone = fit_subsets(tmp_path / "alone", "cuda", "delayed", 1, n=2000)
    for name in ("together", "alone"):
        assert_same_run(tmp_path / name, tmp_path / "numba")
    assert "grid_gather" in kernels_of(alone)
    assert "grid_gather" not in kernels_of(together)


def test_subsets_too_small_for_their_shards_are_refused(tmp_path):
    message = "shards=2 takes subsets of at least 512 rows a shard"
    with pytest.raises(ValueError, match=message):
        fit_subsets(None, "cuda", "minibatch", 2, shards=2, minibatch=600)
    fit_subsets(tmp_path / "run", "numba", "minibatch", minibatch=600)
    with devices.use(HostDevice(), HostDevice()), pytest.raises(ValueError, match=message):
        raytpnn.resume(tmp_path / "run", draws=4, executor="threads", backend="cuda", shards=2)
    with pytest.raises(ValueError, match=message):
        raytpnn.resume(tmp_path / "run", draws=4, executor="threads", shards=2)


@pytest.mark.parametrize(
    ("n", "chains", "pays"),
    [
        (1_000, 1, False),
        (1_000_000, 1, True),
        (1_000_000, 4, True),
        (1_000_000, 400, False),
        (20_000, 4, False),
    ],
)
def test_the_rule(n, chains, pays):
    """On 108 multiprocessors; many chains or few rows are better off with a block of threads each."""
    limits = Limits("sm_80", 108, 167_936, 166_912, 40 * 2**30)
    assert grid_pays(limits, n, chains) is pays
