"""`raytpnn doctor --gpu-selftest` and what doctor says about GPUs, on the CPU host of the kernels."""

from __future__ import annotations

import pytest
from support.cuda_cases import HostDevice
from support.cuda_host.build import COMPILER
from typer.testing import CliRunner

from raytpnn.cli import app
from raytpnn.cli.machine import gpu_selftest
from raytpnn.engine.gpu import device as devices

STATEMENT = "The CUDA backend has been compiled and run through a CPU host; it has not yet been run on a GPU"
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH")


def run(*arguments):
    return CliRunner().invoke(app, ["doctor", *arguments])


def test_doctor_states_what_was_never_done():
    assert STATEMENT in run().output


def test_without_a_device_the_selftest_says_what_is_missing():
    done = run("--gpu-selftest")
    assert done.exit_code == 1
    assert STATEMENT in done.output
    assert "cannot be run: backend 'cuda' needs" in done.output


@needs_compiler
def test_sums_and_forward_pass_are_checked():
    device = HostDevice()
    with devices.use(device):
        assert "largest relative difference" in gpu_selftest.same_sums(device)
        assert "registers" in gpu_selftest.compiled(device, "langevin")
    assert not device.pieces


@needs_compiler
def test_one_chain_on_a_device_is_checked(monkeypatch):
    device = HostDevice()
    assert "equal to that of the CPU" in gpu_selftest.same_grid(device, "poisson")
    for way, kernel in (("minibatch", "grid_subset"), ("delayed acceptance", "grid_gather")):
        assert "equal to that of the CPU" in gpu_selftest.same_grid(device, "bernoulli", way)
        assert kernel in {name for name, *_ in device.launches}
    monkeypatch.setattr(gpu_selftest, "TIMED_SWEEPS", 2)
    assert "ms a sweep; one CPU core" in gpu_selftest.grid_speed(device, 200)
    assert not device.pieces


@needs_compiler
def test_a_chain_that_goes_another_way_fails(monkeypatch):
    """Broken twin: stripes added in another order."""
    monkeypatch.setattr("raytpnn.engine.gpu.grid.rows.add_stripes", lambda stripes: stripes[::-1].sum(axis=0))
    with pytest.raises(ArithmeticError, match="differs from that of the CPU"):
        gpu_selftest.same_grid(HostDevice(), "gaussian")


@needs_compiler
def test_a_device_that_computes_wrongly_fails(monkeypatch):
    """Broken twin: sums with another gamma."""
    right = gpu_selftest.factor_at_rows
    monkeypatch.setattr(
        gpu_selftest, "factor_at_rows", lambda problem, b, gamma: right(problem, b, 2 * gamma)
    )
    monkeypatch.setattr(
        gpu_selftest, "checks_of", lambda d, *sizes: [("sums", lambda: gpu_selftest.same_sums(d))]
    )
    with devices.use(HostDevice()):
        done = run("--gpu-selftest")
    assert done.exit_code == 1
    assert "FAILED: ArithmeticError" in done.output


@needs_compiler
@pytest.mark.slow
def test_the_whole_selftest_on_the_host():
    with devices.use(HostDevice()):
        told = list(gpu_selftest.selftest(sizes=((50, 2),), grid_sizes=(100,)))
    assert [outcome for _, outcome, good in told if not good] == []
    assert len(told) == 19
