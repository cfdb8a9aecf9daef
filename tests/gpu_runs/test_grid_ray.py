"""One chain on GPUs of several Ray workers, each the CPU host of the kernels: the draws of one process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from support.cuda_host.build import COMPILER, compile_library
from support.cuda_run_cases import assert_same_run
from support.device_hooks import one_small_device
from support.ray_cases import FAST_HEALTH_CHECKS
from support.shard_ray_cases import Killer, shared_files

import raytpnn
from raytpnn import Resources
from raytpnn.chains.executors.ray_session import ClusterError
from raytpnn.chains.observe.progress import Reporter
from raytpnn.engine.gpu import device as devices
from raytpnn.engine.gpu.device import HOOK, DeviceError
from raytpnn.engine.gpu.grid import choice as grid_choice
from raytpnn.engine.gpu.kernel_files import kernel_folder

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH"),
    pytest.mark.skipif("PYTHONPATH" not in os.environ, reason="workers find the package by PYTHONPATH"),
]
TESTS = Path(__file__).parents[1]
# Row blocks for all of four workers.
N = 16_400
SIZE = {"chains": 1, "warmup": 30, "draws": 30, "seed": 5}


def fit(out, **options):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, 3))
    X[::9, 1] = np.nan
    y = np.sin(X[:, 0]) + np.nan_to_num(X[:, 1]) * X[:, 2] + rng.normal(size=N)
    settings = {"prior": raytpnn.Prior(K_max=8, max_order=3), "backend": "cuda", "executor": "ray"}
    return raytpnn.sample(X, y, out=out, **{**settings, **SIZE, **options})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run in one process, on a CPU, unsharded."""
    # Compiled here, so that workers find it.
    compile_library(kernel_folder() / "rows_grid.cu", ("WIDE_CODES=0", "TABLES_IN_SHARED=1"))
    run = tmp_path_factory.mktemp("whole") / "run"
    fit(run, backend="numba", executor="threads")
    return run


@pytest.fixture(scope="module")
def nodes(request, tmp_path_factory):
    """Be connected to two nodes with GPUs; nodes that differ follow each other, see `on_nodes`."""
    from ray.cluster_utils import Cluster

    gpus, path = request.param
    folder = tmp_path_factory.mktemp("nodes")
    if path == "no torch":
        path = folder
        (folder / "torch").mkdir()
        (folder / "torch" / "__init__.py").write_text("raise ModuleNotFoundError('No module named torch')\n")
    os.environ["RAYTPNN_SHARDS_TEST"] = f"{os.getpid()}-{time.time()}"
    memory = {"object_store_memory": 100_000_000}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": FAST_HEALTH_CHECKS, **memory}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    variables = {
        HOOK: f"support.device_hooks:{'one_small_device' if gpus == 1 else 'two_small_devices'}",
        "PYTHONPATH": ":".join(str(part) for part in (path, TESTS, os.environ["PYTHONPATH"])),
    }
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=gpus, num_gpus=gpus, **memory)
        ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": variables})
        yield
    finally:
        ray.shutdown()
        cluster.shutdown()
        os.environ.pop("RAYTPNN_SHARDS_TEST", None)


def on_nodes(gpus, path=TESTS):
    """Run a test on nodes with so many GPUs each, whose workers look for modules in a folder first."""
    return pytest.mark.parametrize("nodes", [(gpus, path)], indirect=True, ids=[f"{gpus} of each node"])


class Told(Reporter):
    """Keeps where the blocks ran."""

    def __init__(self):
        super().__init__()
        self.where = ""

    def update(self, chains, where):
        self.where = where


@on_nodes(1)
def test_gpus_of_two_nodes_draw_what_one_cpu_draws(nodes, whole, tmp_path):
    pytest.importorskip("torch")
    told = Told()
    post = fit(tmp_path / "run", shards=2, progress=told)
    assert "1 chain at a time in 2 GPU shards on 2 nodes, exchange by gloo" in told.where
    assert_same_run(tmp_path / "run", whole)
    assert (post.config["backend"], post.config["shards"]) == ("cuda", 2)


def test_all_rows_do_not_fit_one_of_these_gpus(monkeypatch):
    """Workers of a gang therefore have no others than their own."""
    monkeypatch.setattr(grid_choice, "OVERHEAD_ROWS", 0)
    monkeypatch.setattr(grid_choice, "MARGIN", 1)
    with devices.use(*one_small_device()), pytest.raises(DeviceError, match="too little memory"):
        fit(None, executor="threads")


@on_nodes(1)
@pytest.mark.parametrize("shard", [0, 1])
def test_a_gpu_shard_killed_in_the_middle_changes_nothing(nodes, tmp_path, shard):
    pytest.importorskip("torch")
    # In the middle of the second block.
    longer = {"warmup": 100, "draws": 60}
    fit(tmp_path / "numba", backend="numba", executor="threads", **longer)
    killer = Killer(shard, 110)
    fit(tmp_path / "run", shards=2, progress=killer, **longer)
    assert killer.killed is not None
    assert any("run again" in text for text in killer.said)
    assert_same_run(tmp_path / "run", tmp_path / "numba")
    times = [path.stat().st_mtime for path in sorted((tmp_path / "run" / "checkpoint").rglob("*block=*"))]
    assert len(times) == 2
    assert times[0] < killer.when < times[1], "the first block was not run again"


@on_nodes(1)
def test_more_gpus_than_the_cluster_has_are_refused_at_once(nodes, tmp_path):
    text = r"shards=4 takes 4 workers at a time, and the cluster has room for 2: one asks for .*'GPU': 1.0"
    with pytest.raises(ClusterError, match=text):
        fit(tmp_path / "run", shards=4)
    with pytest.raises(ClusterError, match=r"takes 1 worker .* room for 0: one asks for .*'GPU': 2.0"):
        fit(tmp_path / "run", shards=2, resources=Resources(gpus=2))
    assert not (tmp_path / "run").exists()


@on_nodes(1, "no torch")
def test_gpus_of_two_nodes_without_gloo_are_an_error_that_says_so(nodes, tmp_path):
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'raytpnn\[gloo\]' on every node"):
        fit(tmp_path / "run", shards=2)


@on_nodes(2)
@pytest.mark.parametrize(
    ("shards", "gpus", "transport"),
    [(4, 0, "gloo"), (4, 1, "gloo"), (2, 1, "memory")],
    ids=["two of each node", "one a worker", "two workers of one node"],
)
def test_workers_with_one_or_two_gpus_each(nodes, whole, tmp_path, shards, gpus, transport):
    pytest.importorskip("torch")
    before, told = shared_files(), Told()
    fit(tmp_path / "run", shards=shards, resources=Resources(gpus=gpus), progress=told)
    assert f"exchange by {transport}" in told.where
    assert f"in {shards} GPU shards on {1 if transport == 'memory' else 2} node" in told.where
    assert_same_run(tmp_path / "run", whole)
    assert shared_files() <= before, "shared memory is left behind"


@on_nodes(2)
def test_one_worker_has_all_gpus_where_a_node_has_them(nodes, whole, tmp_path):
    told = Told()
    fit(tmp_path / "run", shards=2, progress=told)
    assert "1 worker on 1 node" in told.where
    assert_same_run(tmp_path / "run", whole)
