"""Blocks on Ray: workers come, go and come back, the work stays.

A worker is a gang of one or more actors, see `ray_gang`.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import ray

from raytpnn.chains.executors.base import Completed
from raytpnn.chains.executors.ray_gang import OPENING, READY, STARTING, Gang, GangLost, Membership
from raytpnn.chains.executors.ray_nodes import Nodes
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.executors.sharding import GangShape, Sharding, gang_for
from raytpnn.chains.observe.progress import Reporter
from raytpnn.storage.errors import NodeTrouble
from raytpnn.storage.lease import Fence

__all__ = ["RayPool", "Task"]

# How often the cluster and the workers are looked at.
GROW_SECONDS = 2.0
WATCH_SECONDS = 1.0
# Work is given to another worker too when it takes so much longer than the longest so far, or, before
# anything is finished, when a worker has not moved for so long.
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
# Workers lost one after the other, nothing done in between, without a node whose fault it could be.
MOST_LOSSES = 5


class Task(NamedTuple):
    """What a worker was given: a job that only the giver understands, and when."""

    worker: int
    job: Any
    began: float


class RayPool:
    """Workers on the Ray that is connected; an `Executor`.

    A worker runs blocks of one chain at a time, or of as many as its GPU has room for.

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
    sharding : Sharding, optional
        If rows of a chain are in shards: a worker is then a gang of as many actors as that takes.
    """

    def __init__(
        self,
        uri: str,
        most: int,
        resources: Resources,
        reporter: Reporter,
        version: str,
        fence: Fence | None = None,
        sharding: Sharding | None = None,
    ) -> None:
        self.sharding = sharding
        shape = GangShape(1, resources)
        if sharding is not None:
            shape = gang_for(sharding, resources, [node for node in ray.nodes() if node["Alive"]])
        self.asked = Membership(uri, shape, sharding is not None and sharding.on_gpus, version, fence)
        self.size, self.resources = shape
        self.most = most
        self.reporter = reporter
        self.nodes = Nodes(reporter)
        self.gangs: dict[int, Gang] = {}
        self.tasks: dict[int, Task] = {}
        self.questions: dict[Any, int] = {}
        self.known: dict[int, tuple[int, int]] = {}
        self.longest = 0.0
        self.due = dict.fromkeys(("grow", "watch"), float("-inf"))
        self.had_worker = time.monotonic()
        self.losses = 0
        self.warned = False

    @property
    def ready(self) -> dict[int, dict[str, Any]]:
        """Workers that have opened the run, and where the first actor of each is."""
        return {worker: gang.where[0] for worker, gang in self.gangs.items() if gang.stage == READY}

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
            wanted = sum(self.resources.fit(node["Resources"]) for node in self.nodes.usable())
        count = min(max(wanted // self.size, 1), self.most)
        free = (number for number in range(self.most) if number not in self.gangs)
        while len(self.gangs) < count:
            self.gangs[next(free)] = Gang(self.asked, self.nodes.selector())

    def idle(self) -> list[int]:
        """Workers that have opened the run and have nothing to do."""
        self.grow()
        self.admit(0.0)
        idle = [worker for worker in self.ready if worker not in self.tasks]
        for worker in idle:
            if not all(self.nodes.may_work(node) for node in self.gangs[worker].nodes()):
                self.dismiss(worker)
        return [worker for worker in idle if worker in self.gangs]

    def admit(self, seconds: float) -> None:
        """Take workers further that are not ready yet."""
        coming = [worker for worker, gang in self.gangs.items() if gang.stage != READY]
        waiting = [reference for worker in coming for reference in self.gangs[worker].pending]
        if waiting:
            ray.wait(waiting, num_returns=1, timeout=seconds)
            self.advance(coming)
        now = time.monotonic()
        opening = [worker for worker, gang in self.gangs.items() if gang.stage == OPENING]
        for worker in opening:
            if now - self.gangs[worker].since > OPEN_SECONDS:
                self.fail(worker, f"a worker has not opened the run within {OPEN_SECONDS:.0f} s")
        if any(gang.stage == READY for gang in self.gangs.values()):
            self.had_worker = now
            return
        if not self.warned and now - self.had_worker > PATIENCE_SECONDS:
            self.warned = True
            self.reporter.say("waiting for the cluster to give a worker: `ray status` tells what it is doing")
        if not opening and not self.resources.wait and now - self.had_worker > CLUSTER_SECONDS:
            what = "worker" if self.size == 1 else f"room for {self.size} workers together"
            raise NodeTrouble(
                f"the cluster has given no {what} for {CLUSTER_SECONDS:.0f} s: see `ray status`. Ask for "
                "less, or give Resources(wait=True) (--wait on the command line) to wait longer"
            )

    def advance(self, workers: list[int]) -> list[tuple[Task, Any]]:
        """Take workers further; gives tasks that ended, with their result, None if it came to nothing."""
        owners = {call: worker for worker in workers for call in self.gangs[worker].pending}
        if not owners:
            return []
        done, _ = ray.wait(list(owners), num_returns=len(owners), timeout=0.0)
        ended: list[tuple[Task, Any]] = []
        for worker in dict.fromkeys(owners[call] for call in done):
            gang = self.gangs[worker]
            starting = gang.stage == STARTING
            try:
                results = gang.advance()
            except GangLost as loss:
                if worker in self.tasks:
                    ended.append((self.tasks.pop(worker), None))
                self.lose(worker, loss)
                continue
            if starting and gang.size == 1:
                # From now on a node is known whose fault a loss is.
                self.losses = 0
            if results is not None:
                task = self.tasks.pop(worker)
                self.losses = 0
                for node in gang.nodes():
                    self.nodes.good(node)
                self.longest = max(self.longest, time.monotonic() - task.began)
                ended.append((task, results[0]))
        return ended

    def lose(self, worker: int, loss: GangLost) -> None:
        """Do without a worker that is lost."""
        if loss.where is not None:
            self.fail(worker, str(loss), loss.where, loss.final)
            return
        self.dismiss(worker)
        self.losses += 1
        if self.losses > MOST_LOSSES:
            raise NodeTrouble(f"{self.losses} workers were lost one after the other: {loss}")
        if self.size > 1:
            self.reporter.say(f"{loss}; its blocks are run again")
        self.due["grow"] = float("-inf")

    def fail(
        self, worker: int, problem: str, where: dict[str, Any] | None = None, final: bool = False
    ) -> None:
        """Do without a worker from now on; its node has a fault."""
        where = where or self.gangs[worker].where[0]
        self.dismiss(worker)
        self.nodes.fault(where, problem, final)
        self.due["grow"] = float("-inf")
        self.grow()

    def dismiss(self, worker: int) -> None:
        """End a worker."""
        self.questions = {asked: one for asked, one in self.questions.items() if one != worker}
        self.gangs.pop(worker).dismiss()

    def width(self, worker: int) -> int:
        """Chains that a worker runs together."""
        return self.gangs[worker].where[0]["width"]

    def submit(self, worker: int, chains: list[int], blocks: list[int]) -> None:
        """Have a worker run blocks, the same of every chain."""
        self.send(worker, chains, "run_blocks", chains, blocks)

    def wait(self, seconds: float) -> list[Completed]:
        """Work that ended within some seconds."""
        completed = []
        for task, reports in self.finished(seconds):
            for chain in task.job:
                self.known.pop(chain, None)
            completed.append(Completed(task.worker, reports or []))
        return completed

    def send(self, worker: int, job: Any, method: str, *arguments: Any) -> None:
        """Have a worker do something; `finished` gives the job back with what came of it."""
        gang, now = self.gangs[worker], time.monotonic()
        gang.waiting = [getattr(actor, method).remote(*arguments) for actor in gang.actors]
        gang.since, gang.answered, gang.moved = now, now, (None, now)
        self.tasks[worker] = Task(worker, job, now)

    def finished(self, seconds: float) -> list[tuple[Task, Any]]:
        """Tasks that ended within some seconds, None if one came to nothing; returns at the first."""
        waiting = [reference for gang in self.gangs.values() for reference in gang.pending]
        if not waiting:
            time.sleep(seconds)
            return []
        ray.wait(waiting, num_returns=1, timeout=seconds)
        return [*((task, None) for task in self.give_up_hung()), *self.advance(list(self.tasks))]

    def give_up_hung(self) -> list[Task]:
        """End workers that have not moved for far too long, and those whose node is gone."""
        now = time.monotonic()
        given_up = []
        for worker in list(self.tasks):
            gang = self.gangs[worker]
            where = next((one for one in gang.where if not self.nodes.alive(one["node"])), None)
            if where is not None:
                problem = f"node {where['ip']} is gone"
            elif now - gang.answered > HUNG_SECONDS:
                problem = f"a worker on node {gang.where[0]['ip']} has not answered for {HUNG_SECONDS:.0f} s"
            elif (silent := now - gang.moved[1]) > max(
                HUNG_FACTOR * HUNG_SECONDS, HUNG_FACTOR * OVERDUE_FACTOR * self.longest
            ):
                problem = f"a worker on node {gang.where[0]['ip']} has not moved for {silent:.0f} s"
            else:
                continue
            given_up.append(self.tasks.pop(worker))
            self.fail(worker, problem, where)
        return given_up

    def lost(self) -> set[int]:
        """Workers that take far longer than they should: their work may never come back."""
        now = time.monotonic()
        patience = max(OVERDUE_FACTOR * self.longest, OVERDUE_SECONDS) if self.longest else FIRST_SECONDS
        return {
            worker
            for worker, task in self.tasks.items()
            if now - (task.began if self.longest else self.gangs[worker].moved[1]) > patience
        }

    def progress(self) -> dict[int, tuple[int, int]]:
        """Sweeps and terms of the chains at work, as of the last second or so."""
        asked = list(self.questions)
        done = ray.wait(asked, num_returns=len(asked), timeout=0.0)[0] if asked else []
        for reference in done:
            gang = self.gangs[self.questions.pop(reference)]
            try:
                found = ray.get(reference)
            except ray.exceptions.RayError:
                # What has become of it is seen from its task.
                continue
            gang.answered = time.monotonic()
            if gang.moved[0] != found:
                gang.moved = found, gang.answered
            for chain, *done_so_far in found:
                self.known[chain] = tuple(done_so_far)
        if self.is_due("watch", max(WATCH_SECONDS, 0.02 * len(self.gangs))):
            for worker in set(self.tasks) - set(self.questions.values()):
                self.questions[self.gangs[worker].actors[0].progress.remote()] = worker
        return self.known

    def describe(self) -> str:
        """Where the blocks run."""
        ready = [gang for gang in self.gangs.values() if gang.stage == READY]
        nodes, count = len(set().union(*(gang.nodes() for gang in ready))), len(ready)
        on_nodes = f"on {nodes} node{'s' * (nodes > 1)}"
        if not count:
            return "Ray: waiting for workers"
        if self.sharding is None or self.size == 1:
            return f"Ray: {count} worker{'s' * (count > 1)} {on_nodes}"
        kind = "GPU shards" if self.sharding.on_gpus else "shards"
        chains = f"{count} chain{'s' * (count > 1)} at a time"
        # Gangs may be placed differently.
        transports = " and ".join(sorted({gang.transport for gang in ready}))
        return f"Ray: {chains} in {self.sharding.shards} {kind} {on_nodes}, exchange by {transports}"

    def stop(self) -> None:
        """End blocks at hand."""
        self.close()

    def close(self) -> None:
        """Give the workers back."""
        for worker in list(self.gangs):
            self.dismiss(worker)
        self.tasks = {}
