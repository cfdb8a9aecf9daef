"""Chains on a real Ray: the draws are those of threads, whatever dies."""

from __future__ import annotations

import os
import threading
import time

import pytest
from support.ray_cases import Disturber, go_on, kill_worker, local_ray
from support.run_cases import SIZE, assert_same_draws, fit, small_data

import raytpnn
from raytpnn import Resources
from raytpnn.chains.executors.ray_session import ClusterError

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster():
    """Ray with four CPUs, whatever the machine has."""
    with local_ray(4):
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same run in threads."""
    run = tmp_path_factory.mktemp("whole") / "run"
    fit(run)
    return run


@pytest.mark.parametrize("workers", [1, 4])
def test_draws_do_not_depend_on_the_number_of_workers(cluster, whole, tmp_path, workers):
    post = fit(tmp_path / "run", executor="ray", resources=Resources(workers=workers))
    assert_same_draws(whole, tmp_path / "run")
    assert post.config["executor"] == "ray"
    assert ray.is_initialized(), "a Ray that was there before is left alone"


def test_auto_takes_the_ray_that_is_connected_and_needs_no_folder(cluster, whole):
    post = fit(None, executor="auto")
    assert post.config["executor"] == "ray"
    assert raytpnn.load(whole).draws.loglik.tobytes() == post.draws.loglik.tobytes()


def test_a_run_until_convergence_is_that_of_threads(cluster, tmp_path):
    asked = {"chains": 2, "warmup": 100, "draws": None, "max_sweeps": 1300}
    for executor in ("threads", "ray"):
        post = fit(tmp_path / executor, executor=executor, **asked)
        assert post.config["counted"]["thin"] == 1
        assert post.config["counted"]["warmup"] == 325
    assert_same_draws(tmp_path / "threads", tmp_path / "ray")
    left, right = (raytpnn.load(tmp_path / executor) for executor in ("threads", "ray"))
    assert left.config["diagnostics"] == right.config["diagnostics"]


def test_a_worker_killed_in_the_middle_of_a_block_changes_nothing(cluster, long_run, begun):
    disturber = Disturber(300, kill_worker)
    reports = go_on(begun, disturber, Resources(workers=2))
    assert_same_draws(long_run, begun)
    pids = {report.where["pid"] for report in reports}
    assert disturber.result is not None
    assert pids - {disturber.result}, "others did what the one that was killed had in hand"


def test_blocks_are_idempotent(cluster, begun):
    from raytpnn.chains.executors.ray_actor import BlockActor

    worker = BlockActor.remote(str(begun), 1)
    (first,), (second,) = ray.get([worker.run_blocks.remote([2], [0]) for _ in range(2)])
    files = {path.name: path.read_bytes() for path in begun.glob("checkpoint/chain=2/*")}
    ray.get(worker.run_blocks.remote([2], [0]))
    assert files == {path.name: path.read_bytes() for path in begun.glob("checkpoint/chain=2/*")}
    assert first.acceptance == second.acceptance
    ray.kill(worker)


def test_workers_hold_their_threads_to_their_share(cluster, begun):
    from raytpnn.chains.executors.ray_actor import BlockWorker

    class Curious(BlockWorker):
        def run_blocks(self, chains, blocks):
            import numba
            import threadpoolctl

            super().run_blocks(chains, blocks)
            return numba.get_num_threads(), [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]

    worker = ray.remote(concurrency_groups={"watch": 1})(Curious).remote(str(begun), 1)
    threads, pools = ray.get(worker.run_blocks.remote([0], [0]))
    ray.kill(worker)
    assert threads == 1
    assert pools
    assert set(pools) == {1}


def test_resume_on_ray(cluster, whole, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(ValueError, match="time limit"):
        fit(run, time_limit=1e-9)
    raytpnn.resume(run, executor="ray")
    assert_same_draws(whole, run)


def test_a_cluster_without_the_gpu_is_an_error_at_once(cluster):
    with pytest.raises(ClusterError, match=r"asks for .*'GPU': 1.*have .*'GPU': 0"):
        fit(None, executor="ray", resources=Resources(gpus=1))


def test_another_address_than_the_connected_one_is_refused(cluster):
    with pytest.raises(ClusterError, match=r"connected to .* already"):
        fit(None, executor="auto", address="10.9.8.7:6379")


def test_a_folder_that_the_workers_cannot_see_is_an_error_that_names_the_node(cluster, begun, monkeypatch):
    from raytpnn.chains.executors.ray_actor import BlockActor

    worker = BlockActor.remote(str(begun / "elsewhere"), 1)
    with pytest.raises(raytpnn.RunError, match=r"node [\d.]+ cannot use the run.*shared storage"):
        ray.get(worker.open_run.remote())
    ray.kill(worker)


def test_a_worker_that_cannot_write_ends_the_run(cluster, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(ValueError, match="time limit"):
        fit(run, time_limit=1e-9)
    for path in run.rglob("block=*"):
        path.unlink()
    for folder in (run / "checkpoint").iterdir():
        folder.rmdir()
    (run / "checkpoint").rmdir()
    (run / "checkpoint").write_text("a file where there should be a folder")
    with pytest.raises((raytpnn.RunError, OSError), match="checkpoint"):
        go_on(run)


def test_more_chains_than_workers_keep_in_step(cluster, begun, monkeypatch):
    """No chain runs far ahead, so that R-hat over complete rounds is known early."""
    monkeypatch.setattr("raytpnn.chains.schedule.scheduler.MOST_BLOCKS", 1)
    furthest = []

    class Watcher(Disturber):
        def update(self, chains, where):
            sweeps = [status.sweeps for status in chains]
            furthest.append(max(sweeps) - min(sweeps))

    go_on(begun, Watcher(0, None), Resources(workers=1))
    assert max(furthest) <= 200


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"workers": 0}, "workers must be 1 or more, got 0"),
        ({"cpus": -1}, "CPU must not be negative, got -1"),
        ({"cpus": 0}, "must ask for something"),
    ],
)
def test_bad_resources_are_named(bad, message):
    with pytest.raises(ValueError, match=message):
        Resources(**bad)


def test_nobody_at_the_address(tmp_path):
    if ray.is_initialized():
        ray.shutdown()
    begin = time.monotonic()
    with pytest.raises(ClusterError, match=r"no Ray cluster at 127.0.0.1:1: .*refused"):
        fit(tmp_path / "run", executor="auto", address="127.0.0.1:1")
    assert time.monotonic() - begin < 60, "it should not wait for Ray's own time-out"
    assert not ray.is_initialized()
    assert not (tmp_path / "run").exists()


def test_a_local_ray_is_started_and_stopped_and_another_one_left_alone(whole, tmp_path):
    """Two drivers on one machine, each with a Ray of its own."""
    if ray.is_initialized():
        ray.shutdown()
    assert "RAY_ADDRESS" not in os.environ
    fit(tmp_path / "run", executor="ray")
    assert not ray.is_initialized()
    assert_same_draws(whole, tmp_path / "run")


def test_sampling_outside_the_main_thread(whole):
    result = []
    thread = threading.Thread(target=lambda: result.append(fit(None)))
    thread.start()
    thread.join()
    assert result[0].draws.n_draws == SIZE["chains"] * SIZE["draws"]
    assert len(small_data()[0]) == result[0].bins.n_rows
