"""Manners on Ray: which cluster it is, what is left as it was, and words instead of twenty lines."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from support.cli_cases import PATIENCE_SECONDS, frame, surroundings, wait_for
from support.cli_cases import write as write_table

import raytpnn
from raytpnn.chains.executors import ray_cluster
from raytpnn.chains.executors.ray_session import ClusterError, RaySession
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.observe.progress import Reporter
from raytpnn.cli.machine import facts as machine

SMALL = {"chains": 2, "warmup": 20, "draws": 20}


def small():
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=40)


def session(address=None, **resources):
    return RaySession(address, Resources(**resources), Reporter())


@pytest.fixture
def head(monkeypatch):
    """A cluster whose head has no CPUs."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    started = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 100_000_000},
    )
    yield started
    started.shutdown()


def test_nested_sessions_compare_clusters_and_not_the_text_of_addresses(head):
    import ray

    port = head.address.rpartition(":")[2]
    logger = logging.getLogger("ray")
    before = dict(os.environ), logger.level, list(logger.handlers), logger.propagate
    with session(head.address, wait=True) as outer:
        assert outer.ours
        for same in (head.address, f"localhost:{port}", f"127.0.0.1:{port}", "auto", "local", None):
            with session(same, wait=True) as inner:
                assert not inner.ours
        for other in ("localhost:1", "no.such.host.invalid:6379", "ray://localhost:10001"):
            with pytest.raises(ClusterError, match=r"is connected to .* already; leave out address="):
                session(other, wait=True).__enter__()
        assert ray.is_initialized()
    assert not ray.is_initialized()
    assert (dict(os.environ), logger.level, list(logger.handlers), logger.propagate) == before


def test_a_session_that_fails_leaves_all_as_it_was(monkeypatch):
    import ray

    logger = logging.getLogger("ray")
    monkeypatch.setattr(ray, "init", lambda **options: os.environ.update(RAY_AUTH_MODE="x") or 1 / 0)
    before = dict(os.environ), logger.level, list(logger.handlers)
    with pytest.raises(ClusterError, match="cannot start Ray: division by zero"):
        session("local").__enter__()
    assert (dict(os.environ), logger.level, list(logger.handlers)) == before


def test_sample_on_many_machines_without_a_folder_says_what_to_give(monkeypatch, tmp_path):
    import ray

    class WentOn(Exception):
        pass

    def go_on(*arguments, **options):
        raise WentOn

    nodes = [
        {"Alive": True, "NodeManagerAddress": f"192.0.2.{i}", "Resources": {"CPU": 2.0}} for i in (1, 7, 8)
    ]
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    monkeypatch.setattr(ray.util, "get_node_ip_address", lambda: "192.0.2.1")
    monkeypatch.setattr("raytpnn.sampling.connected", lambda ways: nullcontext(session()))
    monkeypatch.setattr("raytpnn.sampling.fit_training", go_on)
    X, y = small()
    with pytest.raises(
        ClusterError, match=r"other machines \(192\.0\.2\.7, 192\.0\.2\.8\): give out=.*s3://"
    ):
        raytpnn.sample(X, y, executor="ray", **SMALL)
    with pytest.raises(WentOn):
        raytpnn.sample(X, y, executor="ray", out=tmp_path / "run", **SMALL)
    # Those that are gone, or have no room for a worker, do not count.
    nodes[1]["Alive"], nodes[2]["Resources"] = False, {"memory": 1.0}
    with pytest.raises(WentOn):
        raytpnn.sample(X, y, executor="ray", **SMALL)


def test_tune_waits_for_nodes_and_needs_no_cpu_of_the_head(head):
    X, y = small()
    search = {"space": {"K_max": [20]}, "folds": 2, "chains": 1, "warmup": 20, "draws": 20}
    with pytest.raises(ClusterError, match=r"no node of the cluster can hold a worker.*--wait"):
        raytpnn.tune(X, y, **search, address=head.address)

    # In a process of its own: nodes are added by the main thread of this one.
    # Whether the cluster wants a token depends on whether this one has ever been connected to a Ray.
    token = {name: value for name, value in os.environ.items() if name.startswith("RAY_AUTH_")}
    waiting = subprocess.Popen(
        [sys.executable, "-c", SEARCH, head.address],
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(**token),
    )
    try:
        wait_for(waiting, "connected")
        head.add_node(num_cpus=2, object_store_memory=100_000_000)
        told = waiting.communicate(timeout=PATIENCE_SECONDS)[1]
    finally:
        waiting.kill()
        waiting.communicate()
    assert waiting.returncode == 0, told
    assert "ended: complete" in told


SEARCH = """
import sys
import numpy as np
import raytpnn
from raytpnn.chains.executors.ray_session import RaySession
enter = RaySession.__enter__
def connect(self):
    entered = enter(self)
    print("connected", file=sys.stderr, flush=True)
    return entered
RaySession.__enter__ = connect
X = np.random.default_rng(0).random((40, 2))
size = {"folds": 2, "chains": 1, "warmup": 20, "draws": 20}
found = raytpnn.tune(X, X[:, 0], space={"K_max": [20]}, **size, address=sys.argv[1], wait=True)
print("ended:", found.stopped, file=sys.stderr)
"""
HEAD = """
import sys
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.executors.ray_session import RaySession
from raytpnn.chains.executors.resources import Resources
import ray
with RaySession("local", Resources(), Reporter()):
    print(ray.get_runtime_context().gcs_address, flush=True)
    sys.stdin.read()
"""


def test_a_second_user_without_the_token_gets_one_line(tmp_path):
    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
    data = write_table(frame(40), tmp_path / "homes.csv")
    first = subprocess.Popen(
        [sys.executable, "-c", HEAD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=surroundings(HOME=str(homes[0])),
    )
    try:
        address = first.stdout.readline().strip()
        assert ":" in address
        token = homes[0] / ".ray" / "auth_token"
        assert token.stat().st_mode & 0o777 == 0o600
        command = [sys.executable, "-m", "raytpnn.cli", "fit", data, "--target", "price"]
        command += ["--address", address, "--out", tmp_path / "run"]
        wrong = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "ab" * 32}
        for more in ({}, {"RAY_AUTH_MODE": "token"}, wrong):
            environment = surroundings(HOME=str(homes[1]), **more)
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            assert done.returncode == 1
            *before, last = done.stderr.splitlines()
            assert last.startswith("error: ")
            assert "RAY_AUTH_TOKEN" in last
            assert "RAY_AUTH_MODE=token" in last
            assert "gcs_client" not in done.stderr
            assert not [line for line in before if "oken" in line]
        assert not (tmp_path / "run").exists()
    finally:
        first.communicate("", timeout=PATIENCE_SECONDS)


def test_doctor_reports_a_token_that_others_can_read(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    assert machine.token() == "none"
    ray_cluster.private_token()
    path = tmp_path / ".ray" / "auth_token"
    assert len(path.read_text()) == 64
    assert path.stat().st_mode & 0o777 == 0o600
    assert machine.token().endswith(", private")
    path.chmod(0o644)
    assert "other users of this machine can read (mode 644): chmod 600" in machine.token()
    assert "chmod 600" in machine.ray_state(False)["token"]
    kept = path.read_text()
    ray_cluster.private_token()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == kept
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    Path(path).chmod(0o644)
    ray_cluster.private_token()
    assert path.stat().st_mode & 0o777 == 0o644
