"""Workers on Ray: they come, go and come back; whoever gives them work decides what it is."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import ray

from raytpnn.chains.actor import BlockActor
from raytpnn.chains.progress import Reporter
from raytpnn.chains.resources import Resources
from raytpnn.storage.errors import RunError

__all__ = ["RayCrew", "Task"]

# How often the cluster and the workers are looked at.
GROW_SECONDS = 2.0
NODES_SECONDS = 1.0
WATCH_SECONDS = 1.0
# Work is given to somebody else too when it takes so much longer than the longest so far.
OVERDUE_FACTOR = 10.0
OVERDUE_SECONDS = 30.0
PATIENCE_SECONDS = 15.0


class Task(NamedTuple):
    """What a worker was given: an errand that only the giver understands, and when."""

    worker: int
    errand: Any
    began: float


class RayCrew:
    """Workers on the Ray that is connected.

    Parameters
    ----------
    uri : str
        Folder of the run.
    most : int
        Workers for which there can be work at a time.
    resources : Resources
    reporter : Reporter
    version : str
        Of raytpnn here, which must be that of the workers.
    """

    def __init__(self, uri: str, most: int, resources: Resources, reporter: Reporter, version: str) -> None:
        self.uri = uri
        self.most = most
        self.resources = resources
        self.reporter = reporter
        self.version = version
        self.workers: list[Any] = []
        self.greetings: dict[Any, int] = {}
        self.ready: dict[int, dict[str, Any]] = {}
        self.tasks: dict[Any, Task] = {}
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
        while len(self.workers) < min(wanted, self.most):
            worker = BlockActor.options(**options).remote(
                self.uri, max(int(self.resources.cpus), 1), self.resources.gpus
            )
            self.greetings[worker.hello.remote()] = len(self.workers)
            self.workers.append(worker)

    def free(self) -> list[int]:
        """Workers that have said hello and have nothing to do."""
        self.grow()
        self.welcome(0.0)
        busy = {task.worker for task in self.tasks.values()}
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

    def send(self, worker: int, errand: Any, method: str, *arguments: Any) -> None:
        """Have a worker do something; `finished` gives the errand back with what came of it."""
        reference = getattr(self.workers[worker], method).remote(*arguments)
        self.tasks[reference] = Task(worker, errand, time.monotonic())

    def finished(self, seconds: float) -> list[tuple[Task, Any]]:
        """Work that ended within some seconds; returns at the first."""
        waiting = [*self.tasks, *self.greetings]
        if not waiting:
            time.sleep(seconds)
            return []
        ray.wait(waiting, num_returns=1, timeout=seconds)
        if not self.tasks:
            return []
        done, _ = ray.wait(list(self.tasks), num_returns=len(self.tasks), timeout=0.0)
        results = []
        for reference in done:
            task = self.tasks.pop(reference)
            results.append((task, self.result(reference)))
            self.longest = max(self.longest, time.monotonic() - task.began)
        return results

    def missing(self) -> set[int]:
        """Workers on nodes that are gone, or that take far longer than they should."""
        if self.is_due("nodes", NODES_SECONDS):
            self.alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        limit = time.monotonic() - max(OVERDUE_FACTOR * self.longest, OVERDUE_SECONDS)
        return {
            task.worker
            for task in self.tasks.values()
            if self.ready[task.worker]["node"] not in self.alive or (self.longest and task.began < limit)
        }

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
            for chain, *done_so_far in self.result(reference):
                self.known[chain] = tuple(done_so_far)
        if self.is_due("watch", max(WATCH_SECONDS, 0.02 * len(self.workers))):
            asked = set(self.questions.values())
            for task in self.tasks.values():
                if task.worker not in asked:
                    self.questions[self.workers[task.worker].progress.remote()] = task.worker
        return self.known

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
