"""Shards in Ray actors: the draws of one process, also when a shard is killed."""

from __future__ import annotations

import os
import time

import numpy as np
import pandas as pd
import pytest
from support.cli_cases import PATIENCE_SECONDS
from support.ray_cases import FAST_HEALTH_CHECKS, local_ray
from support.run_cases import assert_same_draws
from support.shard_ray_cases import Killer, shared_files

import raytpnn
from raytpnn.chains.executors.ray_gang import OPENING, READY, Gang, Membership
from raytpnn.chains.executors.ray_session import ClusterError
from raytpnn.chains.executors.sharding import GangShape
from raytpnn.data.rows.rows_io import read_rows
from raytpnn.data.rows.shard_io import read_shard, stripe_checksums
from raytpnn.numerics.lanes import stripe_starts
from raytpnn.storage.errors import RunError

ray = pytest.importorskip("ray")
SIZE = {"chains": 2, "warmup": 100, "draws": 200, "seed": 4}


def data(n=9_000):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    X.loc[::7, "b"] = np.nan
    return X, np.sin(X["a"]) + np.nan_to_num(X["b"]) * X["c"] + rng.normal(size=n)


def fit(out, n=9_000, **options):
    X, y = data(n)
    offset = 0.1 * np.arange(n) / n
    return raytpnn.sample(X, y, out=out, offset=offset, **{**SIZE, **options})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run in one process, unsharded."""
    run = tmp_path_factory.mktemp("whole") / "run"
    fit(run, executor="threads")
    return run


@pytest.fixture(scope="module")
def cluster():
    # Marks the processes of this test: others may run on this machine.
    os.environ["RAYTPNN_SHARDS_TEST"] = f"{os.getpid()}-{time.time()}"
    with local_ray(4):
        yield
    os.environ.pop("RAYTPNN_SHARDS_TEST", None)


def test_actors_of_one_node_share_memory_and_draw_the_same(cluster, whole, tmp_path):
    before = shared_files()
    post = fit(tmp_path / "run", executor="ray", shards=2)
    assert_same_draws(whole, tmp_path / "run")
    assert post.config["shards"] == 2
    assert shared_files() <= before, "shared memory is left behind"
    watched = [raytpnn.load(run).diagnostics()["rhat"].to_numpy() for run in (whole, tmp_path / "run")]
    assert np.array_equal(*watched, equal_nan=True)


@pytest.mark.parametrize("shard", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_shard_killed_in_the_middle_changes_nothing(cluster, whole, tmp_path, shard):
    killer = Killer(shard, 30)
    fit(tmp_path / "run", executor="ray", shards=2, progress=killer)
    assert killer.killed is not None
    assert any("run again" in text for text in killer.said)
    assert_same_draws(whole, tmp_path / "run")


@pytest.mark.slow
def test_a_run_is_gone_on_with_in_shards(cluster, whole, tmp_path):
    with pytest.raises(ValueError, match="time limit"):
        fit(tmp_path / "run", executor="threads", time_limit=1e-9)
    raytpnn.resume(tmp_path / "run", executor="ray", shards=4)
    assert_same_draws(whole, tmp_path / "run")


def test_a_gang_that_never_met_leaves_no_shared_memory_behind(cluster, whole):
    from importlib.metadata import version

    before = shared_files()
    shape = GangShape(2, raytpnn.Resources())
    gang = Gang(Membership(str(whole), shape, False, version("raytpnn"), None), {})
    while gang.stage != OPENING:
        ray.wait(gang.waiting, num_returns=len(gang.waiting), timeout=PATIENCE_SECONDS)
        gang.advance()
    # Both have taken their seats; the gang does not know it yet.
    ray.wait(gang.waiting, num_returns=2, timeout=PATIENCE_SECONDS)
    assert shared_files() > before
    gang.dismiss()
    assert shared_files() <= before


def test_who_has_answered_is_not_waited_for_again(cluster):
    """Else the scheduler would turn in circles until the last of a gang has answered."""

    @ray.remote(num_cpus=0)
    def later(seconds):
        time.sleep(seconds)
        return seconds

    quick, slow = later.remote(0), later.remote(5)
    ray.wait([quick], timeout=PATIENCE_SECONDS)
    gang = Gang.__new__(Gang)
    gang.stage, gang.where, gang.waiting, gang.answered_calls = READY, [], [quick, slow], []
    assert gang.pending == [quick, slow]
    assert gang.advance() is None
    assert gang.pending == [slow]
    ray.wait([slow], timeout=PATIENCE_SECONDS)
    assert gang.advance() == [0, 5]
    assert gang.pending == []


def test_too_few_workers_for_the_shards_are_an_error_at_once(cluster, tmp_path):
    text = "shards=8 takes 8 workers at a time, and the cluster has room for 4: one asks for {'CPU': 1.0}"
    with pytest.raises(ClusterError, match=text):
        fit(tmp_path / "run", executor="ray", shards=8)


@pytest.mark.slow
@pytest.mark.parametrize("kill", [False, True])
def test_actors_of_two_nodes_send_messages_and_draw_the_same(whole, tmp_path, kill):
    pytest.importorskip("torch")
    from ray.cluster_utils import Cluster

    if ray.is_initialized():
        ray.shutdown()
    os.environ["RAYTPNN_SHARDS_TEST"] = f"{os.getpid()}-{time.time()}"
    memory = {"object_store_memory": 100_000_000}
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": FAST_HEALTH_CHECKS, **memory}
    )
    try:
        for _ in range(2):
            made.add_node(num_cpus=1, **memory)
        ray.init(address=made.address, log_to_driver=False)
        killer = Killer(1, 30)
        fit(tmp_path / "run", executor="ray", shards=2, progress=killer if kill else False)
        assert_same_draws(whole, tmp_path / "run")
        assert (killer.killed is not None) == kill
    finally:
        ray.shutdown()
        made.shutdown()
        os.environ.pop("RAYTPNN_SHARDS_TEST", None)


@pytest.mark.parametrize("remote", [False, True])
def test_a_shard_reads_its_rows_alone(whole, remote):
    rows = read_rows(lambda name: whole / name)
    starts = stripe_starts(9_000)
    sums = stripe_checksums(rows.bins.codes, starts)

    def open_file(name):
        import pyarrow as pa

        return pa.OSFile(str(whole / name)) if remote else whole / name

    for own in (slice(0, 9), slice(8, 17)):
        bounds = starts[own]
        part = read_shard(lambda name: whole / name, open_file, bounds, sums[own.start : own.stop - 1])
        start, stop = bounds[0], bounds[-1]
        assert np.array_equal(part.bins.codes, rows.bins.codes[:, start:stop])
        for name in ("y", "weight", "offset"):
            assert np.array_equal(getattr(part, name), getattr(rows, name)[start:stop])
        if not remote:
            assert isinstance(part.bins.codes.base, np.memmap), "rows are mapped, not copied"
    with pytest.raises(RunError, match="damaged"):
        read_shard(lambda name: whole / name, open_file, starts[8:], sums[:8])
