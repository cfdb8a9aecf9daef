"""Runs with backend "cuda" on the CPU host of the kernels: the same draws and files as those of "numba"."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest
from support.cuda_cases import POLICIES, HostDevice
from support.cuda_host.build import COMPILER
from support.cuda_run_cases import assert_same_run, data, fit

import raytpnn
from raytpnn.engine.gpu import device as devices
from raytpnn.engine.gpu.chains import DeviceChains
from raytpnn.engine.gpu.device import DeviceError, missing_for_cuda
from raytpnn.engine.rows import subset_options as subset_use

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH")


def fit_on_host(out, device, **options):
    with devices.use(device):
        fit(out, "cuda", **options)
    assert not device.pieces, "memory was not given back"


@pytest.fixture(scope="module")
def numba_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("numba") / "run"
    fit(out, "numba")
    return out


@needs_compiler
def test_draws_and_files_are_those_of_numba(numba_run, tmp_path):
    device = HostDevice("late copies")
    fit_on_host(tmp_path / "run", device)
    assert_same_run(tmp_path / "run", numba_run)
    # All chains in one launch, block after block.
    assert device.launches == [("sweep_block", 3, 32)] * 3


class Diary(HostDevice):
    """Notes the sizes of uploads, and how many blocks had been begun whenever the host waited."""

    def __init__(self):
        super().__init__("late copies")
        self.uploads, self.begun_at_waits = [], []

    def upload(self, address, source, stream):
        self.uploads.append(source.nbytes)
        super().upload(address, source, stream)

    def synchronize(self, event):
        if self.launches:
            self.begun_at_waits.append(len(self.launches))
        super().synchronize(event)


@needs_compiler
def test_the_data_are_on_the_device_once_for_all_chains(tmp_path):
    device = Diary()
    fit_on_host(tmp_path / "run", device)
    X, y = data()
    assert device.uploads.count(X.size) == 1, "codes, a byte a cell"
    assert device.uploads.count(8 * len(y)) == 4, "response, weights, offset, and the rows that are watched"


@needs_compiler
def test_draws_come_back_while_the_next_block_runs(tmp_path, monkeypatch):
    device = Diary()
    fit_on_host(tmp_path / "run", device)
    # The first of three blocks is waited for when the second is under way, and so on.
    assert device.begun_at_waits[:3] == [2, 3, 3]

    # Broken twin: what waits for every block before it begins the next.
    run_blocks = DeviceChains.run_blocks

    def one_by_one(self, states, tasks):
        for task in tasks:
            for ran in run_blocks(self, states, [task]):
                states = np.stack([chain.state for chain in ran])
                yield ran

    monkeypatch.setattr(DeviceChains, "run_blocks", one_by_one)
    device = Diary()
    fit_on_host(tmp_path / "slow", device)
    assert device.begun_at_waits[:3] == [1, 2, 3]


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_neither_streams_nor_schedules_change_a_draw(tmp_path, policy, family):
    fit(tmp_path / "numba", "numba", family)
    device = HostDevice(policy, order="random", os_threads=2)
    fit_on_host(tmp_path / "cuda", device, family=family)
    assert_same_run(tmp_path / "cuda", tmp_path / "numba")


@needs_compiler
def test_a_buffer_that_is_used_too_early_is_seen(numba_run, tmp_path, monkeypatch):
    """Broken twin: with one buffer the draws of a block are overwritten before they are copied back."""
    begin = DeviceChains._begin

    def with_one_buffer(self, task, count, side):
        return begin(self, task, count, 0)

    monkeypatch.setattr(DeviceChains, "_begin", with_one_buffer)
    fit_on_host(tmp_path / "run", HostDevice("late copies"))
    with pytest.raises(AssertionError):
        assert_same_run(tmp_path / "run", numba_run)


@needs_compiler
def test_little_memory_means_more_launches_and_the_same_draws(numba_run, tmp_path):
    device = HostDevice(memory_bytes=3 * 2**20)
    fit_on_host(tmp_path / "run", device)
    assert_same_run(tmp_path / "run", numba_run)
    assert {chains for _, chains, _ in device.launches} == {1, 2}


@needs_compiler
def test_too_little_memory_for_one_chain_is_said():
    with devices.use(HostDevice(memory_bytes=2**19)), pytest.raises(DeviceError, match="one chain takes 1"):
        fit(None, "cuda")


@needs_compiler
def test_chains_are_spread_over_devices(numba_run, tmp_path):
    pair = HostDevice(), HostDevice()
    with devices.use(*pair):
        fit(tmp_path / "run", "cuda")
    assert_same_run(tmp_path / "run", numba_run)
    assert all(device.launches for device in pair)


@needs_compiler
def test_learned_weights_reach_the_device(tmp_path):
    options = {"feature_weights": "adaptive", "warmup": 250, "draws": 50, "thin": 1}
    fit(tmp_path / "numba", "numba", **options)
    fit_on_host(tmp_path / "cuda", HostDevice("lazy"), **options)
    assert_same_run(tmp_path / "cuda", tmp_path / "numba")


@needs_compiler
@pytest.mark.parametrize("swap_every", [1, 3])
def test_tempered_runs_are_the_same(tmp_path, swap_every):
    tempering = raytpnn.Tempering(replicas=3, swap_every=swap_every)
    options = {"tempering": tempering, "chains": 2, "warmup": 110, "draws": 30, "thin": 2}
    fit(tmp_path / "numba", "numba", **options)
    device = HostDevice("late copies")
    fit_on_host(tmp_path / "cuda", device, **options)
    assert_same_run(tmp_path / "cuda", tmp_path / "numba")
    assert {launch[:2] for launch in device.launches} == {("sweep_block", 6), ("end_sweep", 2)}


@needs_compiler
@pytest.mark.parametrize("way", ["always", "if it pays"])
@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_runs_with_delayed_acceptance_are_the_same(tmp_path, monkeypatch, family, way):
    options = {"family": family, "delayed_acceptance": True, "sample_weight": np.linspace(0.5, 1.5, 30)}
    if way == "always":
        options["minibatch"] = 12
    # Off below 20,000 rows unless a size is given.
    monkeypatch.setattr(subset_use, "LEAST_ROWS_TO_SCREEN", 30)
    monkeypatch.setattr(subset_use, "LEAST_SCREEN", 12)
    fit(tmp_path / "numba", "numba", **options)
    device = HostDevice("late copies", order="random")
    fit_on_host(tmp_path / "cuda", device, **options)
    assert_same_run(tmp_path / "cuda", tmp_path / "numba")
    posts = [raytpnn.load(tmp_path / name) for name in ("numba", "cuda")]
    told = posts[1].config["screening"]
    assert told == posts[0].config["screening"]
    births = [one["birth and death"] for one in told]
    assert all(group["proposed"] > group["passed"] > group["accepted"] for group in births)


@needs_compiler
def test_a_screened_run_goes_on_on_a_device(tmp_path):
    options = {"minibatch": 12, "delayed_acceptance": True, "thin": 1}
    fit(tmp_path / "whole", "numba", draws=90, **options)
    fit(tmp_path / "run", "numba", draws=30, **options)
    with devices.use(HostDevice()):
        raytpnn.resume(tmp_path / "run", draws=90, executor="threads", backend="cuda")
    left, right = (raytpnn.load(tmp_path / name).draws for name in ("run", "whole"))
    assert np.array_equal(left.beta, right.beta)
    assert np.array_equal(left.loglik, right.loglik)


@needs_compiler
def test_auto_does_not_take_it_for_delayed_acceptance():
    device = HostDevice()
    with devices.use(device):
        post = fit(None, "auto", warmup=5, draws=5, chains=1, minibatch=12, delayed_acceptance=True)
    assert post.config["backend"] == "numba"
    assert device.launches == []


@needs_compiler
def test_auto_takes_the_device_that_is_there(tmp_path):
    device = HostDevice()
    with devices.use(device):
        post = fit(None, "auto", warmup=5, draws=5, thin=1, chains=2)
    assert device.launches
    assert post.config["backend"] == "cuda"


@needs_compiler
def test_a_run_on_a_device_is_resumed_without_one(numba_run, tmp_path):
    with devices.use(HostDevice()):
        fit(tmp_path / "run", "cuda")
    lost = next((tmp_path / "run" / "checkpoint").rglob("*block=2*"))
    lost.unlink()
    raytpnn.resume(tmp_path / "run", executor="threads", backend="numba")
    assert_same_run(tmp_path / "run", numba_run)


def test_without_a_gpu_the_error_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    begin = time.monotonic()
    with pytest.raises(DeviceError, match=r"needs CuPy.*pip install 'raytpnn\[cuda12\]'"):
        fit(None, "cuda")
    assert time.monotonic() - begin < 60
    assert "CuPy" in (missing_for_cuda() or "")
