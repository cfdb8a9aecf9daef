"""Figures of a run for Prometheus, through Ray: what a dashboard shows while the chains run.

All are set by the scheduler, which hears of every block, every few seconds at most. Ray shows them at the
metrics port of the node that the scheduler runs on, their names with `ray_` in front.
"""

from __future__ import annotations

import math
import time
from typing import Any

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.monitoring.monitor import Convergence
from raytpnn.chains.observe.observer import Observer
from raytpnn.chains.plan import Length

__all__ = ["RunMetrics"]

SET_SECONDS = 5.0
# A worker whose last block ended so long ago, in terms of the block's own time, adds nothing to the speed.
QUIET_FACTOR, QUIET_SECONDS = 3.0, 30.0

GAUGES = {
    "raytpnn_sweeps_per_second": (
        "Sweeps of all chains in a second, by the latest block of each worker.",
        (),
    ),
    "raytpnn_blocks_done": ("Blocks of sweeps that are finished, those of earlier sessions included.", ()),
    "raytpnn_blocks_planned": ("Blocks of sweeps in all.", ()),
    "raytpnn_workers": ("Workers that have finished a block lately.", ()),
    "raytpnn_rhat_worst": ("Largest R-hat of anything watched, when last looked at.", ()),
    "raytpnn_ess_least": ("Smallest effective number of draws of anything watched.", ()),
    "raytpnn_terms": ("Terms (K) of a chain after its latest block.", ("chain",)),
    "raytpnn_acceptance": ("Share of proposals accepted since the chains began, by move.", ("move",)),
}
COUNTERS = {
    "raytpnn_sweeps": "Sweeps finished in this session.",
    "raytpnn_worker_restarts": "Workers that died and came back as another process.",
}


class RunMetrics(Observer):
    """Figures of a run.

    Parameters
    ----------
    run : str
        How to speak of the run: the tag of all figures.
    length : Length
    done : int
        Blocks that were finished before.
    """

    def __init__(self, run: str, length: Length, done: int) -> None:
        from ray.util.metrics import Counter, Gauge

        self.blocks = length.blocks()
        self.planned = len(self.blocks) * length.chains
        self.done = done
        # The furthest block of every chain, the latest of every worker with the time when it was heard of.
        self.latest: dict[int, BlockReport] = {}
        self.by_worker: dict[int, tuple[float, BlockReport]] = {}
        self.sweeps = 0
        self.restarts = 0
        self.convergence: Convergence | None = None
        self.changed: set[int] = set()
        self.sent = -math.inf
        self.gauges: dict[str, Any] = {}
        for name, (text, tags) in GAUGES.items():
            self.gauges[name] = Gauge(name, text, ("run", *tags)).set_default_tags({"run": run})
        self.counters = {
            name: Counter(name, text, ("run",)).set_default_tags({"run": run})
            for name, text in COUNTERS.items()
        }

    def __exit__(self, *exception: object) -> None:
        # Ray goes on showing what it was sent last.
        self.by_worker = {}
        self.send()

    def block(self, worker: int, report: BlockReport) -> None:
        """Take note of a finished block."""
        before = self.by_worker.get(worker)
        if before is not None and process_of(before[1]) != process_of(report):
            self.restarts += 1
        self.by_worker[worker] = time.monotonic(), report
        self.done += 1
        self.sweeps += self.blocks[report.block][1]
        self.latest[report.chain] = report
        self.changed.add(report.chain)

    def assessed(self, convergence: Convergence) -> None:
        """Take note of R-hat."""
        self.convergence = convergence

    def tick(self) -> None:
        """Send the figures to Ray if it is time."""
        if time.monotonic() - self.sent > SET_SECONDS:
            self.send()

    def send(self) -> None:
        """Send the figures to Ray."""
        self.sent = time.monotonic()
        speeds = self.speeds()
        gauges = self.gauges
        gauges["raytpnn_sweeps_per_second"].set(sum(speeds))
        gauges["raytpnn_workers"].set(len(speeds))
        gauges["raytpnn_blocks_done"].set(self.done)
        gauges["raytpnn_blocks_planned"].set(self.planned)
        if self.convergence is not None and not math.isnan(self.convergence.worst()[1]):
            gauges["raytpnn_rhat_worst"].set(self.convergence.worst()[1])
            gauges["raytpnn_ess_least"].set(self.convergence.least_ess())
        for chain in self.changed:
            gauges["raytpnn_terms"].set(self.latest[chain].terms, {"chain": str(chain)})
        for move, share in self.acceptance().items():
            gauges["raytpnn_acceptance"].set(share, {"move": move})
        self.changed = set()
        for name, amount in (("raytpnn_sweeps", self.sweeps), ("raytpnn_worker_restarts", self.restarts)):
            # A counter that was never raised is not shown, and nothing cannot be added to one.
            if amount:
                self.counters[name].inc(amount)
        self.sweeps = self.restarts = 0

    def speeds(self) -> list[float]:
        """Sweeps a second of every worker that still works."""
        now = time.monotonic()
        return [
            self.blocks[report.block][1] / max(report.seconds, 1e-6)
            for heard, report in self.by_worker.values()
            if not math.isnan(report.seconds)
            and now - heard < max(QUIET_FACTOR * report.seconds, QUIET_SECONDS)
        ]

    def acceptance(self) -> dict[str, float]:
        """Share of accepted proposals of all chains, by move."""
        tried: dict[str, int] = {}
        taken: dict[str, int] = {}
        for report in self.latest.values():
            for move, (proposals, accepted) in report.acceptance.items():
                tried[move] = tried.get(move, 0) + proposals
                taken[move] = taken.get(move, 0) + accepted
        return {move: taken[move] / count for move, count in tried.items() if count}


def process_of(report: BlockReport) -> tuple[Any, Any]:
    """Node and process that ran a block."""
    return report.where.get("node"), report.where.get("pid")
