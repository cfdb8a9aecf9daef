"""Several nodes, drivers that die, jobs: on real Ray clusters of this machine. Slow."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from support.cli_cases import PATIENCE_SECONDS
from support.ports import free_port
from support.ray_cases import FAST_HEALTH_CHECKS, Disturber, go_on
from support.run_cases import assert_same_draws, fit

import raytpnn
from raytpnn.chains.executors.ray_session import ClusterError
from raytpnn.chains.observe.progress import Reporter

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow

TESTS = str(Path(__file__).parents[1])


@pytest.fixture
def cluster():
    """A head without CPUs; the test adds nodes."""
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "object_store_memory": 100_000_000,
            "_system_config": FAST_HEALTH_CHECKS,
        },
    )
    # Before there are other nodes: a driver must not be attached to one that is going to be removed.
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def add_node(cluster, cpus):
    return cluster.add_node(num_cpus=cpus, object_store_memory=100_000_000)


def remove(cluster, node):
    """Take a node away, and wait until Ray says that it is dead."""
    name = node.node_id
    cluster.remove_node(node, allow_graceful=False)
    limit = time.monotonic() + PATIENCE_SECONDS
    while any(known["NodeID"] == name and known["Alive"] for known in ray.nodes()):
        assert time.monotonic() < limit, "Ray has not noticed that the node is gone"
        time.sleep(0.1)
    return name


def test_a_node_removed_and_another_added_change_nothing(cluster, long_run, begun):
    first = add_node(cluster, 2)

    def replace_node(executor):
        gone = remove(cluster, first)
        add_node(cluster, 2)
        return gone

    disturber = Disturber(500, replace_node)
    reports = go_on(begun, disturber)
    assert_same_draws(long_run, begun)
    nodes = {report.where["node"] for report in reports}
    assert disturber.result in nodes, "the node that was removed had done some of the work"
    assert len(nodes) == 2
    pids = {(report.where["node"], report.where["pid"]) for report in reports}
    assert len({pid for _, pid in pids}) == len(pids) >= 3


def test_what_a_lost_node_had_in_hand_is_done_by_those_that_are_left(cluster, long_run, begun):
    nodes = [add_node(cluster, 1), add_node(cluster, 1)]
    disturber = Disturber(1000, lambda executor: remove(cluster, nodes[1]))
    reports = go_on(begun, disturber, workers=2)
    assert_same_draws(long_run, begun)
    assert {report.where["node"] for report in reports} == {node.node_id for node in nodes}


def test_workers_that_join_later_take_part(cluster, long_run, begun):
    add_node(cluster, 1)

    def add_and_wait(executor):
        name = add_node(cluster, 2).node_id
        while len(executor.ready) < 2:
            executor.grow()
            executor.admit(0.1)
        return name

    disturber = Disturber(200, add_and_wait)
    reports = go_on(begun, disturber)
    assert_same_draws(long_run, begun)
    assert disturber.result in {report.where["node"] for report in reports}


def test_a_cluster_without_room_is_an_error_unless_one_waits_for_it_to_grow(cluster, long_run, begun):
    class Grower(Reporter):
        """Adds a node when it is told that there are no workers."""

        told: tuple[str, ...] = ()

        def update(self, chains, where):
            if where not in self.told:
                self.told = (*self.told, where)
                if "waiting for workers" in where:
                    add_node(cluster, 2)

    grower = Grower()
    with pytest.raises(ClusterError, match="no node of the cluster can hold a worker"):
        raytpnn.resume(begun, executor="ray")
    raytpnn.resume(begun, executor="ray", resources=raytpnn.Resources(workers=2, wait=True), progress=grower)
    assert_same_draws(long_run, begun)
    assert "waiting for workers" in grower.told[0]
    assert len(grower.told) > 1


def test_a_run_goes_on_on_a_cluster_of_another_size(cluster, long_run, begun):
    """One node of one CPU; then, after an interrupt, two others of two."""
    import json

    class Interrupter(Reporter):
        def update(self, chains, where):
            if sum(status.sweeps for status in chains) >= 600 and not self.done:
                self.done = True
                os.kill(os.getpid(), signal.SIGINT)

        done = False

    first = add_node(cluster, 1)
    with pytest.warns(UserWarning, match="stopped by interrupt"):
        raytpnn.resume(begun, executor="ray", progress=Interrupter())
    remove(cluster, first)
    others = {add_node(cluster, 2).node_id for _ in range(2)}
    raytpnn.resume(begun, executor="ray")
    assert_same_draws(long_run, begun)
    sessions = [
        [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(begun.glob("log/*.jsonl"))
    ]
    before, after = (
        {line["node"] for line in session if line["event"] == "block"} for session in sessions[-2:]
    )
    assert before == {first.node_id}
    assert after <= others
    assert after


def test_another_version_of_ray_is_an_error_that_says_so(cluster, tmp_path):
    """The cluster is told that it runs another Ray, and the real check of Ray must fail."""
    import json

    from ray._private import ray_constants
    from ray.experimental.internal_kv import _internal_kv_get, _internal_kv_put

    namespace = ray_constants.KV_NAMESPACE_CLUSTER
    told = json.loads(_internal_kv_get(b"CLUSTER_METADATA", namespace=namespace))
    told["ray_version"] = "1.2.3"
    _internal_kv_put(b"CLUSTER_METADATA", json.dumps(told).encode(), overwrite=True, namespace=namespace)
    ray.shutdown()
    with pytest.raises(ClusterError, match=r"(?s)ersion mismatch.*1\.2\.3.*install"):
        fit(tmp_path / "run", executor="auto", address=cluster.address)
    assert not (tmp_path / "run").exists()


DRIVER = """
import sys
from support.run_cases import fit
fit(sys.argv[1], executor="ray", n=2000, chains=4, warmup=100, draws=400)
"""


def test_driver_on_ray_killed_at_ten_moments(long_run, tmp_path):
    rng = np.random.default_rng(5)
    path = os.pathsep.join([TESTS, os.environ.get("PYTHONPATH", "")])
    half_way = 0
    for moment, blocks in enumerate(sorted(rng.integers(0, 20, 10))):
        run = tmp_path / f"run{moment}"
        process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(run)],
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,
        )
        while process.poll() is None and len(list(run.glob("checkpoint/*/block=*"))) < blocks:
            time.sleep(0.005)
        time.sleep(float(rng.random()) * 0.3)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not (run / "manifest.json").exists():
            continue
        half_way += process.returncode == -signal.SIGKILL
        raytpnn.resume(run, executor="threads")
        assert_same_draws(long_run, run)
    assert half_way >= 5


@pytest.fixture
def head(tmp_path):
    """A head with a dashboard and token authentication, started by Ray's own command."""
    pytest.importorskip("aiohttp", reason="jobs need Ray's dashboard: pip install 'ray[default]'")
    token = secrets.token_hex(32)
    env = os.environ | {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
        "RAY_USAGE_STATS_ENABLED": "0",
        # Paths of sockets must be short, which those of pytest are not.
        "RAY_TMPDIR": tempfile.mkdtemp(prefix="r"),
    }
    env.pop("RAY_ADDRESS", None)
    port, dashboard = free_port(), free_port()
    command = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=2"),
        *(f"--port={port}", "--dashboard-host=127.0.0.1", f"--dashboard-port={dashboard}"),
        *("--object-store-memory=100000000", "--include-dashboard=true"),
    ]
    with (tmp_path / "head.log").open("w") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    yield env, f"http://127.0.0.1:{dashboard}", process
    process.terminate()
    process.wait(PATIENCE_SECONDS)
    shutil.rmtree(env["RAY_TMPDIR"], ignore_errors=True)


def submit(env, address, *command):
    """Submit a job, and wait for it to end."""
    ray_command = [sys.executable, "-m", "ray.scripts.scripts", "job", "submit", "--address", address]
    return subprocess.run(
        [*ray_command, "--", *command],
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def submit_when_ready(head, *command):
    """Submit a job as soon as the head takes jobs: its agent comes up last, on a busy machine minutes later.

    Only a head that is not ready yet is asked again. What a job itself says counts the first time.
    """
    env, address, process = head
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        done = submit(env, address, *command)
        said = done.stdout + done.stderr
        accepted = "submitted successfully" in said
        if done.returncode == 0 or accepted or process.poll() is not None or time.monotonic() > end:
            return done, said
        time.sleep(2)


def test_as_a_ray_job_with_token_authentication(head, long_run, tmp_path):
    env, address, _ = head
    done, said = submit_when_ready(head, sys.executable, "-c", "print('alive')")
    assert done.returncode == 0, said
    refused = submit(env | {"RAY_AUTH_TOKEN": secrets.token_hex(32)}, address, "true")
    assert refused.returncode != 0
    from support.run_cases import small_data

    X, y = small_data(2000)
    X.assign(y=y).to_parquet(tmp_path / "data.parquet")
    run = tmp_path / "run"
    size = ["--chains=4", "--warmup=100", "--draws=400", "--seed=5"]
    done, said = submit_when_ready(
        head,
        *(sys.executable, "-m", "raytpnn.cli", "fit", str(tmp_path / "data.parquet"), "--target=y"),
        *(f"--out={run}", *size),
    )
    assert done.returncode == 0, said
    assert_same_draws(long_run, run)
    assert raytpnn.load(run).config["executor"] == "ray"
