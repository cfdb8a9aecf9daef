"""Workers on Ray: they come, go and come back; whoever gives them work decides what it is."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, NamedTuple

import ray

from raytpnn.chains.executors.ray_actor import BlockActor
from raytpnn.chains.executors.ray_nodes import Nodes, other_version
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.observe.progress import Reporter
from raytpnn.engine.gpu.device import DeviceError
from raytpnn.storage.errors import NodeTrouble, RunUnusable
from raytpnn.storage.lease import Fence

__all__ = ["RayPool", "Task"]

# How often the cluster and the workers are looked at.
GROW_SECONDS = 2.0
WATCH_SECONDS = 1.0
# Work is given to somebody else too when it takes so much longer than the longest so far, or, before anything
# is finished, when a worker has not moved for so long.
OVERDUE_FACTOR = 10.0
OVERDUE_SECONDS = 30.0
FIRST_SECONDS = 300.0
PATIENCE_SECONDS = 15.0
# A worker that has not answered for so long, or not opened the run, hangs; and a cluster gives none any more.
HUNG_SECONDS = 1800.0
# So does one that answers but has not moved for so many times as long: a sweep of many rows takes a while.
HUNG_FACTOR = 4.0
OPEN_SECONDS = 1800.0
CLUSTER_SECONDS = 1800.0
# Workers that die before they can say where they are.
MOST_STILLBORN = 5
# What a worker may raise that another one, elsewhere, need not.
OF_THE_NODE = (NodeTrouble, OSError, MemoryError, DeviceError)


class Task(NamedTuple):
    """What a worker was given: a job that only the giver understands, and when."""

    worker: int
    job: Any
    began: float


class RayPool:
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
    fence : Fence, optional
        How workers see whether the run is still that of this process.
    """

    def __init__(
        self,
        uri: str,
        most: int,
        resources: Resources,
        reporter: Reporter,
        version: str,
        fence: Fence | None = None,
    ) -> None:
        self.uri = uri
        self.fence = fence
        self.most = most
        self.resources = resources
        self.reporter = reporter
        self.version = version
        self.workers: list[Any] = []
        self.gone: set[int] = set()
        self.nodes = Nodes(reporter)
        # Calls of workers that are not ready yet: who they are, then whether they can open the run.
        self.greetings: dict[Any, int] = {}
        self.openings: dict[Any, tuple[int, float]] = {}
        self.where: dict[int, dict[str, Any]] = {}
        self.ready: dict[int, dict[str, Any]] = {}
        self.tasks: dict[Any, Task] = {}
        self.longest = 0.0
        self.known: dict[int, tuple[int, int]] = {}
        # Where a worker's chains were when they last moved, and when that was.
        self.moved: dict[int, tuple[Any, float]] = {}
        self.answered: dict[int, float] = {}
        self.questions: dict[Any, int] = {}
        self.due = dict.fromkeys(("grow", "watch"), float("-inf"))
        self.had_worker = time.monotonic()
        self.stillborn = 0
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
        self.nodes.check(lambda resources: self.resources.fit(resources) > 0)
        wanted = self.resources.workers
        if wanted is None:
            rooms = [self.resources.fit(node["Resources"]) for node in self.nodes.usable()]
            wanted = max(sum(rooms), 1)
        options = {
            "num_cpus": self.resources.cpus,
            "num_gpus": self.resources.gpus,
            "resources": dict(self.resources.custom),
        }
        if self.nodes.selector():
            options["label_selector"] = self.nodes.selector()
        while len(self.workers) - len(self.gone) < min(wanted, self.most):
            actor = BlockActor.options(**options).remote(
                self.uri, max(int(self.resources.cpus), 1), self.resources.gpus, self.fence
            )
            # It takes the place of one that is gone, if there is one.
            worker = min(self.gone, default=len(self.workers))
            self.gone.discard(worker)
            self.workers[worker : worker + 1] = [actor]
            self.greetings[actor.where.remote()] = worker

    def free(self) -> list[int]:
        """Workers that have said hello and have nothing to do."""
        self.grow()
        self.welcome(0.0)
        busy = {task.worker for task in self.tasks.values()}
        idle = [worker for worker in self.ready if worker not in busy]
        for worker in idle:
            if not self.nodes.may_work(self.ready[worker]["node"]):
                self.dismiss(worker)
        return [worker for worker in idle if worker in self.ready]

    def welcome(self, seconds: float) -> None:
        """Take note of workers that are ready."""
        waiting = [*self.greetings, *self.openings]
        if waiting:
            done, _ = ray.wait(waiting, num_returns=len(waiting), timeout=seconds)
            for reference in done:
                if reference in self.greetings:
                    self.meet(self.greetings.pop(reference), reference)
                else:
                    worker, _ = self.openings.pop(reference)
                    self.take_in(worker, reference)
        now = time.monotonic()
        for reference, (worker, since) in list(self.openings.items()):
            if now - since > OPEN_SECONDS:
                del self.openings[reference]
                self.fail(worker, f"a worker has not opened the run within {OPEN_SECONDS:.0f} s")
        if self.ready:
            self.had_worker = now
            return
        if not self.warned and now - self.had_worker > PATIENCE_SECONDS:
            self.warned = True
            self.reporter.say("waiting for the cluster to give a worker: `ray status` tells what it is doing")
        if not self.openings and not self.resources.wait and now - self.had_worker > CLUSTER_SECONDS:
            raise NodeTrouble(
                f"the cluster has given no worker for {CLUSTER_SECONDS:.0f} s: see `ray status`. Ask for "
                "less, or give Resources(wait=True) (--wait on the command line) to wait longer"
            )

    def meet(self, worker: int, reference: Any) -> None:
        """Take note of where a worker is; have it open the run."""
        try:
            where = self.where[worker] = ray.get(reference)
        except ray.exceptions.RayError as problem:
            self.gone.add(worker)
            self.stillborn += 1
            if self.stillborn > MOST_STILLBORN:
                raise NodeTrouble(f"workers die before they begin: {in_short(problem)}") from None
            return
        self.stillborn = 0
        if where["raytpnn"] != self.version:
            self.fail(worker, other_version(where, self.version), final=True)
            return
        self.openings[self.workers[worker].hello.remote()] = worker, time.monotonic()

    def take_in(self, worker: int, reference: Any) -> None:
        """Take note of a worker that has opened the run, or could not."""
        try:
            self.ready[worker] = self.result(reference)
        except RunUnusable as problem:
            self.fail(worker, str(problem), final=True)
        except OF_THE_NODE as problem:
            self.fail(worker, self.told(worker, problem))
        except ray.exceptions.RayError as problem:
            self.fail(worker, f"a worker on node {self.where[worker]['ip']} died: {in_short(problem)}")

    def told(self, worker: int, problem: BaseException) -> str:
        """What went wrong, with the node."""
        words = str(problem) or type(problem).__name__
        ip = self.where[worker]["ip"]
        return words if ip in words else f"node {ip}: {words}"

    def fail(self, worker: int, problem: str, final: bool = False) -> None:
        """Do without a worker from now on; its node has a fault."""
        where = self.where[worker]
        self.dismiss(worker)
        self.nodes.fault(where, problem, final)
        self.due["grow"] = float("-inf")
        self.grow()

    def dismiss(self, worker: int) -> None:
        """End a worker."""
        self.gone.add(worker)
        self.ready.pop(worker, None)
        self.questions = {asked: one for asked, one in self.questions.items() if one != worker}
        with suppress(ray.exceptions.RayError, ValueError):
            ray.kill(self.workers[worker], no_restart=True)

    def send(self, worker: int, job: Any, method: str, *arguments: Any) -> None:
        """Have a worker do something; `finished` gives the job back with what came of it."""
        reference = getattr(self.workers[worker], method).remote(*arguments)
        self.tasks[reference] = Task(worker, job, time.monotonic())
        self.moved[worker] = None, time.monotonic()
        self.answered[worker] = time.monotonic()

    def finished(self, seconds: float) -> list[tuple[Task, Any]]:
        """Work that ended within some seconds, None if it came to nothing; returns at the first."""
        waiting = [*self.tasks, *self.greetings, *self.openings]
        if not waiting:
            time.sleep(seconds)
            return []
        ray.wait(waiting, num_returns=1, timeout=seconds)
        results: list[tuple[Task, Any]] = [(task, None) for task in self.give_up_hung()]
        if not self.tasks:
            return results
        done, _ = ray.wait(list(self.tasks), num_returns=len(self.tasks), timeout=0.0)
        for reference in done:
            task = self.tasks.pop(reference)
            results.append((task, self.outcome(task, reference)))
        return results

    def outcome(self, task: Task, reference: Any) -> Any:
        """What came of a task; None if the worker is gone, or its node cannot do it."""
        try:
            result = self.result(reference)
        except OF_THE_NODE as problem:
            if task.worker in self.ready:
                self.fail(task.worker, self.told(task.worker, problem))
            return None
        except ray.exceptions.RayTaskError:
            raise
        except ray.exceptions.RayError as problem:
            if task.worker in self.ready:
                ip = self.where[task.worker]["ip"]
                self.fail(task.worker, f"a worker on node {ip} is gone: {in_short(problem)}")
            return None
        self.nodes.good(self.where[task.worker]["node"])
        self.longest = max(self.longest, time.monotonic() - task.began)
        return result

    def give_up_hung(self) -> list[Task]:
        """End workers that have not moved for far too long, and those whose node is gone."""
        now = time.monotonic()
        given_up = []
        for reference, task in list(self.tasks.items()):
            where = self.where[task.worker]
            if not self.nodes.alive(where["node"]):
                problem = f"node {where['ip']} is gone"
            elif now - self.answered[task.worker] > HUNG_SECONDS:
                problem = f"a worker on node {where['ip']} has not answered for {HUNG_SECONDS:.0f} s"
            elif (silent := now - self.moved[task.worker][1]) > max(
                HUNG_FACTOR * HUNG_SECONDS, HUNG_FACTOR * OVERDUE_FACTOR * self.longest
            ):
                problem = f"a worker on node {where['ip']} has not moved for {silent:.0f} s"
            else:
                continue
            del self.tasks[reference]
            given_up.append(task)
            if task.worker in self.ready:
                self.fail(task.worker, problem)
        return given_up

    def missing(self) -> set[int]:
        """Workers that take far longer than they should."""
        now = time.monotonic()
        patience = max(OVERDUE_FACTOR * self.longest, OVERDUE_SECONDS) if self.longest else FIRST_SECONDS
        return {
            task.worker
            for task in self.tasks.values()
            if now - (task.began if self.longest else self.moved[task.worker][1]) > patience
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
            worker = self.questions.pop(reference)
            try:
                found = self.result(reference)
            except ray.exceptions.RayError:
                # What has become of it is seen from its task.
                continue
            self.answered[worker] = time.monotonic()
            if self.moved.get(worker, (None,))[0] != found:
                self.moved[worker] = found, time.monotonic()
            for chain, *done_so_far in found:
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
        for worker in range(len(self.workers)):
            if worker not in self.gone:
                self.dismiss(worker)
        self.workers, self.ready, self.tasks, self.questions = [], {}, {}, {}
        self.greetings, self.openings, self.gone = {}, {}, set()


def in_short(problem: BaseException) -> str:
    """First line of what Ray says, which says a lot."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0] if lines else type(problem).__name__
