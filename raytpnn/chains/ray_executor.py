"""Blocks on Ray: workers come and go, the work stays."""

from __future__ import annotations

import math
import time
from typing import Any

import ray

from raytpnn.chains.actor import BlockActor
from raytpnn.chains.executor import Outcome
from raytpnn.chains.progress import Reporter
from raytpnn.chains.resources import Resources
from raytpnn.storage.errors import RunError

__all__ = ["RayExecutor"]

# How often the cluster and the workers are looked at.
GROW_SECONDS = 2.0
NODES_SECONDS = 1.0
WATCH_SECONDS = 1.0
# A block is given to somebody else too when it takes so much longer than the longest so far.
OVERDUE_FACTOR = 10.0
OVERDUE_SECONDS = 30.0
PATIENCE_SECONDS = 15.0


class RayExecutor:
    """Workers on the Ray that is connected.

    Parameters
    ----------
    uri : str
        Folder of the run.
    chains : int
    resources : Resources
    reporter : Reporter
    version : str
        Of raytpnn here, which must be that of the workers.
    """

    def __init__(self, uri: str, chains: int, resources: Resources, reporter: Reporter, version: str) -> None:
        self.uri = uri
        self.chains = chains
        self.resources = resources
        self.reporter = reporter
        self.version = version
        self.workers: list[Any] = []
        self.greetings: dict[Any, int] = {}
        self.ready: dict[int, dict[str, Any]] = {}
        self.tasks: dict[Any, tuple[int, int, float]] = {}
        self.longest = 0.0
        self.known: dict[int, tuple[int, int]] = {}
        self.questions: dict[Any, int] = {}
        self.alive: set[str] = set()
        self.due = dict.fromkeys(("grow", "nodes", "watch"), float("-inf"))
        self.begin = time.monotonic()
        self.warned = False

    def is_due(self, what: str, seconds: float) -> bool:
        """Whether something was last done some seconds ago; it is then taken as done now."""
        now = time.monotonic()
        if now < self.due[what]:
            return False
        self.due[what] = now + seconds
        return True

    def grow(self) -> None:
        """Ask for workers up to what the cluster has room for."""
        if not self.is_due("grow", GROW_SECONDS):
            return
        wanted = self.resources.workers
        if wanted is None:
            nodes = [node for node in ray.nodes() if node["Alive"]]
            wanted = max(sum(self.resources.fit(node["Resources"]) for node in nodes), 1)
        options = {
            "num_cpus": self.resources.cpus,
            "num_gpus": self.resources.gpus,
            "resources": dict(self.resources.custom),
        }
        while len(self.workers) < min(wanted, self.chains):
            worker = BlockActor.options(**options).remote(self.uri, max(int(self.resources.cpus), 1))
            self.greetings[worker.hello.remote()] = len(self.workers)
            self.workers.append(worker)

    def idle(self) -> list[int]:
        """Workers that have said hello and have nothing to do."""
        self.grow()
        self.welcome(0.0)
        busy = {worker for worker, *_ in self.tasks.values()}
        return [worker for worker in self.ready if worker not in busy]

    def welcome(self, seconds: float) -> None:
        """Take note of workers that are ready."""
        if not self.greetings:
            return
        done, _ = ray.wait(list(self.greetings), num_returns=len(self.greetings), timeout=seconds)
        for reference in done:
            worker = self.greetings.pop(reference)
            where = self.result(reference)
            if where["raytpnn"] != self.version:
                raise RunError(
                    f"node {where['ip']} has raytpnn {where['raytpnn']}, here it is {self.version}; install "
                    "one version everywhere"
                )
            self.ready[worker] = where
        if not self.ready and not self.warned and time.monotonic() - self.begin > PATIENCE_SECONDS:
            self.warned = True
            self.reporter.say("waiting for the cluster to give a worker: `ray status` tells what it is doing")

    def submit(self, worker: int, chain: int, blocks: list[int]) -> None:
        """Have a worker run blocks of a chain."""
        reference = self.workers[worker].run_blocks.remote(chain, blocks)
        self.tasks[reference] = worker, chain, time.monotonic()

    def wait(self, seconds: float) -> list[Outcome]:
        """Work that ended within some seconds."""
        waiting = [*self.tasks, *self.greetings]
        if not waiting:
            time.sleep(seconds)
            return []
        ray.wait(waiting, num_returns=1, timeout=seconds)
        if not self.tasks:
            return []
        done, _ = ray.wait(list(self.tasks), num_returns=len(self.tasks), timeout=0.0)
        outcomes = []
        for reference in done:
            worker, chain, _ = self.tasks.pop(reference)
            reports = self.result(reference)
            # A worker that died came back with another process, perhaps on another node.
            self.ready[worker] = reports[-1].where
            took = sum(report.seconds for report in reports if not math.isnan(report.seconds))
            self.longest = max(self.longest, took)
            self.known.pop(chain, None)
            outcomes.append(Outcome(worker, reports))
        return outcomes

    @staticmethod
    def result(reference: Any) -> Any:
        """Result of a call, or the error that the worker raised, without Ray's wrapping."""
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as problem:
            cause = problem.cause
            if isinstance(cause, Exception):
                raise cause from None
            raise

    def progress(self) -> dict[int, tuple[int, int]]:
        """Sweeps and terms of the chains at work, as of the last second or so."""
        done, _ = (
            ray.wait(list(self.questions), num_returns=len(self.questions), timeout=0.0)
            if (self.questions)
            else ([], [])
        )
        for reference in done:
            del self.questions[reference]
            answer = self.result(reference)
            if answer is not None:
                self.known[answer[0]] = answer[1:]
        if self.is_due("watch", max(WATCH_SECONDS, 0.02 * len(self.workers))):
            asked = set(self.questions.values())
            for worker, *_ in self.tasks.values():
                if worker not in asked:
                    self.questions[self.workers[worker].progress.remote()] = worker
        return self.known

    def lost(self) -> set[int]:
        """Workers on nodes that are gone, or that take far longer than they should."""
        if self.is_due("nodes", NODES_SECONDS):
            self.alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        limit = time.monotonic() - max(OVERDUE_FACTOR * self.longest, OVERDUE_SECONDS)
        return {
            worker
            for worker, _, began in self.tasks.values()
            if self.ready[worker]["node"] not in self.alive or (self.longest and began < limit)
        }

    def describe(self) -> str:
        """Where the blocks run."""
        nodes = len({where["node"] for where in self.ready.values()})
        count = len(self.ready)
        if not count:
            return "Ray: waiting for workers"
        return f"Ray: {count} worker{'s' * (count > 1)} on {nodes} node{'s' * (nodes > 1)}"

    def stop(self) -> None:
        """End blocks at hand."""
        self.close()

    def close(self) -> None:
        """Give the workers back."""
        for worker in self.workers:
            ray.kill(worker, no_restart=True)
        self.workers, self.ready, self.tasks, self.greetings, self.questions = [], {}, {}, {}, {}
