"""Figures for Prometheus, read from the endpoint that Prometheus would read, while a fit runs."""

from __future__ import annotations

import re
import time
from urllib.request import urlopen

import pytest
from support.run_cases import LONG, fit

from raytpnn import Resources
from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.monitoring.monitor import Convergence
from raytpnn.chains.observe import metrics
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.plan import Length

ray = pytest.importorskip("ray")
pytest.importorskip("prometheus_client", reason="metrics need Ray's agent: pip install 'ray[default]'")

LINE = re.compile(r"^ray_(raytpnn_\w+)\{(.*)\} (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def endpoint():
    """Address of the metrics of a Ray that hands them on several times a second, not every ten seconds."""
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100_000_000,
        _system_config={"metrics_report_interval_ms": 300},
    )
    (node,) = ray.nodes()
    yield f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
    ray.shutdown()


def scraped(endpoint, run):
    """Figures of a run as Prometheus sees them: by name, and chain or move if there is one."""
    with urlopen(endpoint, timeout=30) as answer:
        text = answer.read().decode()
    found = {}
    for name, labels, value in LINE.findall(text):
        tags = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        if tags.get("run") == str(run):
            found[name, tags.get("chain") or tags.get("move")] = float(value)
    return found


class Prometheus(Reporter):
    """Reads the endpoint in the middle of a fit, when R-hat is known, until everything wanted is there."""

    def __init__(self, endpoint, run, wanted):
        super().__init__()
        self.endpoint, self.run, self.wanted = endpoint, run, wanted
        self.updates = 0
        self.found = {}

    def update(self, chains, where):
        self.updates += self.convergence is not None
        # Figures are set after every update, so that R-hat was told before the second.
        if self.updates != 2:
            return
        limit = time.monotonic() + 60
        while missing := [name for name in self.wanted if name not in {found for found, _ in self.found}]:
            assert time.monotonic() < limit, missing
            time.sleep(0.2)
            self.found = scraped(self.endpoint, self.run)


def test_a_running_fit_can_be_scraped(endpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(metrics, "SET_SECONDS", 0.0)
    wanted = [
        *("raytpnn_sweeps_per_second", "raytpnn_blocks_done", "raytpnn_blocks_planned", "raytpnn_workers"),
        *("raytpnn_rhat_worst", "raytpnn_ess_least", "raytpnn_terms", "raytpnn_acceptance"),
        "raytpnn_sweeps_total",
    ]
    run = tmp_path / "run"
    prometheus = Prometheus(endpoint, run, wanted)
    # A target that is never met, so that R-hat is looked at.
    size = LONG | {"draws": 2000}
    fit(run, executor="ray", resources=Resources(workers=2), progress=prometheus, target_ess=1e9, **size)
    seen = prometheus.found
    assert seen["raytpnn_blocks_planned", None] == 4 * 21
    assert 8 <= seen["raytpnn_blocks_done", None] < 4 * 21, "the fit was under way"
    assert seen["raytpnn_sweeps_per_second", None] > 0
    assert 1 <= seen["raytpnn_workers", None] <= 2
    assert seen["raytpnn_rhat_worst", None] > 1
    assert {chain for name, chain in seen if name == "raytpnn_terms"} == {"0", "1", "2", "3"}
    shares = {move: share for (name, move), share in seen.items() if name == "raytpnn_acceptance"}
    assert {"birth", "death", "factor"} <= set(shares)
    assert all(0 <= share <= 1 for share in shares.values())


def report(chain, block, pid, seconds=2.0):
    moves = {"langevin": (10 * (block + 1), 4 * (block + 1)), "never": (0, 0)}
    return BlockReport(
        chain, block, 100 * (block + 1), 7, -1.0, moves, None, seconds=seconds, where={"pid": pid}
    )


def test_restarts_and_the_end_are_told(endpoint):
    run = "restarts"
    with metrics.RunMetrics(run, Length(2, 0, 500), done=3) as told:
        for worker, pid in ((0, 11), (1, 12), (0, 11), (0, 13), (1, 14)):
            told.block(worker, report(worker, 0, pid))
        told.assessed(Convergence(100, {"loglik": 1.25}, {"loglik": 40.0}, {"loglik": 30.0}))
        assert told.speeds() == [50.0, 50.0]
        assert told.acceptance() == {"langevin": 0.4}
    limit = time.monotonic() + 60
    while (found := scraped(endpoint, run)).get(("raytpnn_worker_restarts_total", None)) != 2.0:
        assert time.monotonic() < limit, found
        time.sleep(0.2)
    assert found["raytpnn_blocks_done", None] == 8
    assert found["raytpnn_sweeps_total", None] == 500
    assert found["raytpnn_rhat_worst", None] == 1.25
    assert found["raytpnn_ess_least", None] == 30.0
    assert found["raytpnn_sweeps_per_second", None] == 0, "nothing runs any more"


def test_a_worker_that_was_lost_adds_nothing_to_the_speed(endpoint):
    told = metrics.RunMetrics("lost", Length(2, 0, 500), done=0)
    told.block(0, report(0, 0, 1))
    told.block(1, report(1, 0, 2))
    at, last = told.by_worker[1]
    told.by_worker[1] = at - 1000.0, last
    assert told.speeds() == [50.0]
