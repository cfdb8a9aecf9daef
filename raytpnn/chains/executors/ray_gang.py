"""A gang: the actors on Ray that run a chain together, all of them or none; mostly it is one actor."""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from typing import Any, NamedTuple

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from raytpnn.chains.executors.ray_actor import BlockActor
from raytpnn.chains.executors.sharding import GangShape
from raytpnn.chains.shards.seat import MAILBOX
from raytpnn.chains.shards.transport import asked_transport, transport_for
from raytpnn.engine.exchange.meeting import MeetingBroken
from raytpnn.engine.gpu.device import DeviceError
from raytpnn.engine.sharded_chain import ShardError
from raytpnn.storage.errors import NodeTrouble, RunUnusable
from raytpnn.storage.lease import Fence

__all__ = ["Gang", "GangLost", "Membership"]

# How long a gang that is dismissed is waited for.
TIDY_SECONDS = 2.0
# Errors of an actor that another one, elsewhere, need not have.
OF_THE_NODE = (NodeTrouble, OSError, MemoryError, DeviceError)
PLACING, STARTING, OPENING, READY = "placing", "starting", "opening", "ready"


class GangLost(Exception):
    """A gang of which an actor is gone or cannot work: another gang is to do its work.

    Attributes
    ----------
    where : dict or None
        Node whose fault it is; None if that is not known.
    final : bool
        Whether that node cannot work on the run at all.
    """

    def __init__(self, problem: str, where: dict[str, Any] | None = None, final: bool = False) -> None:
        super().__init__(problem)
        self.where, self.final = where, final


class Membership(NamedTuple):
    """What all gangs of a run are made of.

    Attributes
    ----------
    uri : str
        Folder of the run.
    shape : GangShape
    on_gpus : bool
        Whether rows lie on GPUs of the actors.
    version : str
        Of raytpnn here, which must be that of the actors.
    fence : Fence or None
        How actors see whether the run is still that of this process.
    """

    uri: str
    shape: GangShape
    on_gpus: bool
    version: str
    fence: Fence | None


class Gang:
    """A gang from the moment its places are asked for. `advance` takes it further; it never waits.

    Parameters
    ----------
    asked : Membership
    selector : dict of str to str
        Labels that nodes must have; empty for any node.

    Attributes
    ----------
    stage : {"placing", "starting", "opening", "ready"}
    waiting : list
        Calls that are under way, one of each actor.
    where : list of dict
        Node and process of every actor, from the opening on.
    """

    def __init__(self, asked: Membership, selector: dict[str, str]) -> None:
        self.asked = asked
        self.size, self.resources = asked.shape
        self.meeting = f"{MAILBOX}{uuid.uuid4().hex}"
        self.transport = ""
        self.actors: list[Any] = []
        self.where: list[dict[str, Any]] = []
        self.places: Any = None
        self.answered_calls: list[Any] = []
        self.since = self.answered = time.monotonic()
        # Where its chains were when they last moved, and when that was.
        self.moved: tuple[Any, float] = (None, self.since)
        if self.size == 1:
            self._create_actors({"label_selector": selector} if selector else {})
            return
        self.asked_transport = asked_transport()
        wanted = {name: amount for name, amount in self.resources.wanted().items() if amount}
        # On as many nodes as there are: rows that do not fit one are what shards are for. GPUs have memory of
        # their own, and on one node they are nearer to each other.
        strategy = "PACK" if asked.on_gpus else "SPREAD"
        labels = {"bundle_label_selector": [selector] * self.size} if selector else {}
        self.places = placement_group([wanted] * self.size, strategy=strategy, **labels)
        self.stage, self.waiting = PLACING, [self.places.ready()]

    def _create_actors(self, *options: dict[str, Any]) -> None:
        """Create an actor for each set of options, and ask where they are."""
        threads = max(int(self.resources.cpus), 1)
        asked = self.asked
        self.actors = [
            BlockActor.options(**self.resources.options(), **own).remote(
                asked.uri, threads, self.resources.gpus, asked.fence, self.size, shard
            )
            for shard, own in enumerate(options)
        ]
        self.stage, self.waiting = STARTING, [actor.where.remote() for actor in self.actors]

    def advance(self) -> list[Any] | None:
        """Take what has come. Gives the results of a call when all actors have answered; raises GangLost."""
        done, rest = ray.wait(self.waiting, num_returns=len(self.waiting), timeout=0.0)
        # An actor that failed is not waited for until the others, who wait for it, have come.
        results = self._results(self.waiting if not rest else done)
        self.answered_calls = done if rest else []
        if rest:
            return None
        self.waiting, self.since = [], time.monotonic()
        if self.stage == PLACING:
            self._create_actors(
                *(
                    {"scheduling_strategy": PlacementGroupSchedulingStrategy(self.places, shard)}
                    for shard in range(self.size)
                )
            )
        elif self.stage == STARTING:
            self._open(results)
        elif self.stage == OPENING:
            self.where, self.stage = results, READY
            if self.transport == "memory":
                self.actors[0].tidy.remote(self.meeting)
        else:
            return results
        return None

    def _open(self, where: list[dict[str, Any]]) -> None:
        """Have actors of this version open the run."""
        self.where = where
        version = self.asked.version
        for one in where:
            if one["raytpnn"] != version:
                raise GangLost(
                    f"node {one['ip']} has raytpnn {one['raytpnn']}, here it is {version}; install one "
                    "version everywhere",
                    one,
                    final=True,
                )
        if self.size > 1:
            together = len({one["node"] for one in where}) == 1
            self.transport = transport_for(self.asked_transport, together)
        self.waiting = [actor.open_run.remote(self.meeting, self.transport) for actor in self.actors]
        self.stage = OPENING

    def _results(self, references: list[Any]) -> list[Any]:
        """Results of calls; raises GangLost if an actor is gone or its node cannot do it."""
        results, losses = [], []
        for reference in references:
            try:
                results.append(ray.get(reference))
            except ray.exceptions.RayError as problem:
                where = self.where[self.waiting.index(reference)] if self.where else None
                losses.append(loss_of(problem, where))
        if losses:
            # Of those who lost each other one may be the cause.
            raise next((loss for loss in losses if loss.where is not None), losses[0])
        return results

    @property
    def pending(self) -> list[Any]:
        """Calls that are under way and were not answered at the last look."""
        return [call for call in self.waiting if call not in self.answered_calls]

    def nodes(self) -> set[str]:
        """Nodes that its actors are on."""
        return {one["node"] for one in self.where}

    def dismiss(self) -> None:
        """End all actors, and give their places back."""
        if self.transport == "memory" and self.stage != READY:
            # A gang that lost an actor before all had met has not removed the name of the shared memory.
            calls = [actor.tidy.remote(self.meeting) for actor in self.actors]
            with suppress(ray.exceptions.RayError):
                ray.wait(calls, num_returns=len(calls), timeout=TIDY_SECONDS)
        for actor in self.actors:
            with suppress(ray.exceptions.RayError, ValueError):
                ray.kill(actor, no_restart=True)
        if self.places is not None:
            with suppress(ray.exceptions.RayError, ValueError):
                remove_placement_group(self.places)


def loss_of(problem: ray.exceptions.RayError, where: dict[str, Any] | None) -> GangLost:
    """What an error of an actor means for its gang; raises one that every other actor would have too.

    `where` is the node of the actor, None if it has not said so yet.
    """
    if isinstance(problem, ray.exceptions.RayTaskError):
        cause = problem.cause
        if isinstance(cause, (MeetingBroken, ShardError)):
            return GangLost(str(cause))
        if isinstance(cause, OF_THE_NODE) and where is not None:
            words = str(cause) or type(cause).__name__
            words = words if where["ip"] in words else f"node {where['ip']}: {words}"
            return GangLost(words, where, isinstance(cause, RunUnusable))
        raise (cause if isinstance(cause, Exception) else problem) from None
    if where is None:
        return GangLost(f"workers die before they begin: {first_line(problem)}")
    return GangLost(f"a worker on node {where['ip']} is gone: {first_line(problem)}", where)


def first_line(problem: BaseException) -> str:
    """First line of what Ray says, which says a lot."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0] if lines else type(problem).__name__
