"""Backend "cuda" on a real Ray with GPUs that are only promised: workers drive the CPU host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.cuda_host.build import COMPILER, compile_library
from support.cuda_run_cases import assert_same_run, fit

from raytpnn import Resources
from raytpnn.chains.executors.ray_session import ClusterError
from raytpnn.engine.gpu.device import HOOK
from raytpnn.engine.gpu.kernel_files import kernel_folder

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH"),
]


def start(gpus, devices="host_devices"):
    tests = str(Path(__file__).parents[1])
    variables = {HOOK: f"support.device_hooks:{devices}", "PYTHONPATH": f"{tests}:{os.environ['PYTHONPATH']}"}
    ray.init(
        address="local",
        num_cpus=2,
        num_gpus=gpus,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100_000_000,
        runtime_env={"env_vars": variables},
    )


@pytest.mark.skipif("PYTHONPATH" not in os.environ, reason="workers find the package by PYTHONPATH")
@pytest.mark.parametrize(("gpus", "share", "workers"), [(1, None, 1), (1, 0.5, 2)])
def test_workers_with_a_gpu_draw_what_threads_draw(tmp_path, gpus, share, workers):
    # Compiled here, so that workers find it.
    compile_library(kernel_folder() / "sweep.cu", ("WIDE_CODES=0", "TABLES_IN_SHARED=1"))
    fit(tmp_path / "numba", "numba")
    start(gpus)
    try:
        resources = None if share is None else Resources(gpus=share, workers=workers)
        post = fit(tmp_path / "cuda", "cuda", executor="ray", resources=resources)
    finally:
        ray.shutdown()
    assert_same_run(tmp_path / "cuda", tmp_path / "numba")
    assert post.config["backend"] == "cuda"


@pytest.mark.skipif("PYTHONPATH" not in os.environ, reason="workers find the package by PYTHONPATH")
def test_a_worker_has_as_many_gpus_as_a_chain_has_shards(tmp_path):
    compile_library(kernel_folder() / "rows_grid.cu", ("WIDE_CODES=0", "TABLES_IN_SHARED=1"))
    few = {"chains": 2, "warmup": 12, "draws": 6, "thin": 1}
    fit(tmp_path / "numba", "numba", **few)
    start(2, "two_devices")
    try:
        with pytest.raises(ClusterError, match=r"takes 4 workers .* has room for 2: one asks for .*'GPU': 1"):
            fit(None, "cuda", executor="ray", shards=4, **few)
        fit(tmp_path / "cuda", "cuda", executor="ray", shards=2, **few)
    finally:
        ray.shutdown()
    assert_same_run(tmp_path / "cuda", tmp_path / "numba")


def test_a_cluster_without_gpus_is_an_error_at_once():
    start(0) if "PYTHONPATH" in os.environ else pytest.skip("workers find the package by PYTHONPATH")
    try:
        with pytest.raises(ClusterError, match=r"asks for .*'GPU': 1.*have .*'GPU': 0"):
            fit(None, "cuda", executor="ray")
    finally:
        ray.shutdown()


def test_more_than_one_gpu_a_worker_is_refused():
    with pytest.raises(ValueError, match=r"resources\.gpus can be at most 1, got 2"):
        fit(None, "cuda", executor="ray", resources=Resources(gpus=2))
