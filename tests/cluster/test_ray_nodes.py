"""Nodes that cannot work on a run are left out and named; those that are taken away are no faulty ones."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from support.cli_cases import PATIENCE_SECONDS
from support.ray_cases import FAST_HEALTH_CHECKS
from support.run_cases import LONG, assert_same_draws, fit

import raytpnn
from raytpnn.chains.executors import ray_nodes, ray_pool
from raytpnn.chains.executors.ray_nodes import Nodes
from raytpnn.chains.observe.progress import Reporter
from raytpnn.storage.errors import NodeTrouble

ray = pytest.importorskip("ray")

WEATHER = str(Path(__file__).parents[1] / "support" / "weather")


class Listener(Reporter):
    """Keeps what is said.

    Parameters
    ----------
    words, act : str and callable, optional
        What to do when some words are said.
    """

    def __init__(self, words=None, act=None):
        super().__init__()
        self.said = []
        self.words, self.act = words, act

    def say(self, text):
        super().say(text)
        self.said.append(text)
        if self.words is not None and self.words in text:
            self.act()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A head without CPUs; every node that is added has weather of its own."""
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", os.pathsep.join([WEATHER, os.environ.get("PYTHONPATH", "")]))
    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "object_store_memory": 100_000_000,
            "_system_config": FAST_HEALTH_CHECKS,
            "include_dashboard": False,
        },
    )
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()
    patch.undo()


@pytest.fixture
def add_node(cluster, tmp_path):
    added = []

    def add(**weather):
        file = tmp_path / f"weather{len(added)}.json"
        file.write_text(json.dumps(weather))
        env = {"RAYTPNN_WEATHER": str(file), "RAYTPNN_STORAGE_PATIENCE": "0.2"}
        node = cluster.add_node(num_cpus=1, object_store_memory=100_000_000, env_vars=env)
        added.append(node)
        return node, file

    yield add
    for node in added:
        cluster.remove_node(node, allow_graceful=False)
    end = time.monotonic() + PATIENCE_SECONDS
    while sum(node["Alive"] for node in ray.nodes()) > 1:
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("weather", "words"),
    [
        ({"blind": True}, "is left out, the others go on: node .* cannot use the run"),
        pytest.param(
            {"version": "0.0.9"},
            "is left out, the others go on: node .* has raytpnn 0.0.9",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"errno": "ENOSPC"},
            "is left out, the others go on: block .* could not be written.*No space left",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_node_that_cannot_work_is_left_out_and_named(
    add_node, begun, long_run, weather, words, monkeypatch
):
    monkeypatch.setattr(ray_nodes, "MOST_FAULTS", 1)
    bad, _ = add_node(**weather)
    # Else it might be done with the run before the other one has failed.
    good, file = add_node(hold=True)
    listener = Listener("is left out", lambda: file.write_text("{}"))
    raytpnn.resume(begun, executor="ray", progress=listener)
    assert_same_draws(long_run, begun)
    assert any(re.search(words, text) for text in listener.said), listener.said
    lines = [json.loads(line) for path in begun.glob("log/*.jsonl") for line in path.read_text().splitlines()]
    nodes = {line["node"] for line in lines if line["event"] == "block" and "node" in line}
    assert nodes == {good.node_id}
    assert bad.node_id not in nodes


@pytest.mark.slow
def test_when_no_node_is_left_the_run_stops_and_can_be_resumed(add_node, begun, long_run):
    _, file = add_node(errno="EROFS")
    with pytest.raises(raytpnn.RunError, match=r"could not be written.*Read-only.*raytpnn resume"):
        raytpnn.resume(begun, executor="ray")
    file.write_text("{}")
    raytpnn.resume(begun, executor="ray")
    assert_same_draws(long_run, begun)


def drain(node):
    """Tell Ray that a node is going to be taken away, as a cloud does with spot machines."""
    from ray._raylet import GcsClient
    from ray.core.generated import autoscaler_pb2

    client = GcsClient(address=ray.get_runtime_context().gcs_address)
    reason = autoscaler_pb2.DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
    accepted, _ = client.drain_node(node.node_id, reason, "spot", int(time.time() * 1000) + 600_000)
    assert accepted


def test_a_node_that_is_drained_finishes_its_block_and_others_go_on(add_node, long_run, tmp_path):
    first, _ = add_node()
    # Else the run might be over before the notice is seen.
    second, file = add_node(hold=True)

    class Drainer(Listener):
        def update(self, chains, where):
            if sum(status.sweeps for status in chains) >= 500 and not self.done:
                self.done = True
                drain(first)

        done = False

    listener = Drainer("is being taken away", lambda: file.write_text("{}"))
    run = tmp_path / "run"
    fit(run, executor="ray", progress=listener, **LONG)
    assert_same_draws(long_run, run)
    assert any("is being taken away: its workers finish their blocks" in text for text in listener.said)
    assert not any("left out" in text or "run again" in text for text in listener.said), listener.said
    blocks = [
        json.loads(line)
        for path in run.glob("log/*.jsonl")
        for line in path.read_text().splitlines()
        if '"block"' in line
    ]
    assert blocks[-1]["node"] == second.node_id


def known(nodes, *names):
    nodes.looked = time.monotonic() + 1000
    nodes.known = {name: {"NodeManagerAddress": name, "Resources": {"CPU": 1}} for name in names}


def test_faults_are_counted_by_node_and_forgiven(monkeypatch):
    monkeypatch.setattr(Nodes, "look", lambda self: None)
    listener = Listener()
    nodes = Nodes(listener)
    known(nodes, "a", "b")
    where = {"node": "a", "ip": "10.0.0.1"}
    for _ in range(ray_nodes.MOST_FAULTS - 1):
        nodes.fault(where, "it failed")
    nodes.good("a")
    for _ in range(ray_nodes.MOST_FAULTS - 1):
        nodes.fault(where, "it failed")
    assert nodes.may_work("a")
    nodes.fault(where, "it failed again")
    assert not nodes.may_work("a")
    assert nodes.selector() == {"ray.io/node-id": "!in(a)"}
    assert listener.said[-1] == "node 10.0.0.1 is left out, the others go on: it failed again"
    nodes.check(lambda resources: True)
    nodes.fault({"node": "b", "ip": "10.0.0.2"}, "it is blind", final=True)
    with pytest.raises(NodeTrouble, match="it failed again; it is blind"):
        nodes.check(lambda resources: True)
    nodes.draining = {"c"}
    nodes.fault({"node": "c", "ip": "10.0.0.3"}, "it went")
    assert "c" not in nodes.left_out, "who was told to go is not at fault"


def test_a_cluster_that_gives_no_worker_is_an_error_in_the_end(cluster, begun, monkeypatch):
    monkeypatch.setattr(ray_pool, "CLUSTER_SECONDS", 1.0)
    monkeypatch.setattr(
        "raytpnn.chains.executors.ray_session.RaySession.check_resources", lambda self, ray: None
    )
    with pytest.raises(raytpnn.RunError, match=r"given no worker for 1 s.*ray status.*--wait"):
        raytpnn.resume(begun, executor="ray")


@pytest.mark.slow
def test_a_worker_that_hangs_in_the_first_block_is_replaced(add_node, begun, long_run, monkeypatch):
    add_node()
    monkeypatch.setattr(ray_pool, "HUNG_SECONDS", 3.0)
    monkeypatch.setattr(ray_pool, "WATCH_SECONDS", 0.2)

    listener, frozen = Listener(), []
    original = ray_pool.RayPool.send

    def send(pool, worker, *rest):
        """Stop the process of the first worker before its first block is done."""
        original(pool, worker, *rest)
        if not frozen:
            frozen.append(pool.ready[worker]["pid"])
            os.kill(frozen[0], signal.SIGSTOP)

    monkeypatch.setattr(ray_pool.RayPool, "send", send)
    raytpnn.resume(begun, executor="ray", progress=listener)
    assert_same_draws(long_run, begun)
    assert any("has not answered for 3 s; its blocks are run again" in text for text in listener.said)
    stat = Path(f"/proc/{frozen[0]}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
