"""The actors that have the shards of one chain: all of them, or none."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.executors.ray_nodes import other_version
from raytpnn.chains.executors.sharding import Team
from raytpnn.chains.shards.shard_actor import MAILBOX, ShardActor
from raytpnn.chains.shards.transport import asked_transport, transport_by_offers, transport_by_place
from raytpnn.engine.exchange.meeting import MeetingBroken
from raytpnn.engine.gpu.device import DeviceError
from raytpnn.engine.sharded_chain import ShardError
from raytpnn.storage.errors import NodeTrouble, RunUnusable
from raytpnn.storage.lease import Fence

__all__ = ["ShardTeam", "TeamLost"]

# How long one that is dismissed is waited for.
TIDY_SECONDS = 2.0
# A team that has not moved for so long hangs; and a cluster gives no room any more.
HUNG_SECONDS = 1800.0
CLUSTER_SECONDS = 1800.0


class TeamLost(Exception):
    """A team of which somebody is gone: what it was doing is to be done by a new one.

    Attributes
    ----------
    where : dict or None
        Node whose fault it is; None if nobody's.
    final : bool
        Whether that node cannot work on the run at all.
    """

    def __init__(self, problem: str, where: dict[str, Any] | None = None, final: bool = False) -> None:
        super().__init__(problem)
        self.where, self.final = where, final


class ShardTeam:
    """A team from the moment its places are asked for. `advance` takes it further; it never waits.

    Parameters
    ----------
    uri : str
        Folder of the run.
    team : Team
    on_gpus : bool
        Rows lie on the GPUs that each of the team asks for.
    version : str
        Of raytpnn here, which must be theirs.
    fence : Fence, optional
        How they see whether the run is still that of this process.
    selector : dict, optional
        Labels that nodes must have.
    """

    def __init__(
        self,
        uri: str,
        team: Team,
        on_gpus: bool,
        version: str,
        fence: Fence | None = None,
        selector: dict[str, str] | None = None,
    ) -> None:
        self.uri, self.version, self.fence = uri, version, fence
        self.workers, self.resources = team
        self.gpus = int(self.resources.gpus) if on_gpus else 0
        self.asked = asked_transport()
        self.name = f"{MAILBOX}{uuid.uuid4().hex}"
        wanted = {name: amount for name, amount in self.resources.wanted().items() if amount}
        # On as many nodes as there are: rows that do not fit one are what shards are for. GPUs have memory of
        # their own, and on one node they are nearer to each other.
        strategy = "PACK" if on_gpus else "SPREAD"
        labels = {"bundle_label_selector": [selector] * self.workers} if selector else {}
        self.places: PlacementGroup = placement_group([wanted] * self.workers, strategy=strategy, **labels)
        self.actors: list[Any] = []
        self.where: list[dict[str, Any]] = []
        self.transport = ""
        self.ready = False
        self.waiting: list[Any] = [self.places.ready()]
        self.step: Callable[[list[Any]], list[BlockReport] | None] = self._hire
        self.work: tuple[list[int], list[int]] | None = None
        self.question: Any = None
        self.known: list[tuple[int, int, int]] = []
        # When it last did something that can be seen.
        self.moved = time.monotonic()

    def advance(self) -> list[BlockReport] | None:
        """Take what has come; gives the reports of blocks that are through, and raises TeamLost."""
        if not self.waiting:
            return None
        done, rest = ray.wait(self.waiting, num_returns=len(self.waiting), timeout=0.0)
        if not rest:
            self.moved = time.monotonic()
            return self.step([self._result(reference) for reference in self.waiting])
        for reference in done:
            # One who failed is not waited for until the others, who wait for it, have come.
            self._result(reference)
        silent = time.monotonic() - self.moved
        if silent > (HUNG_SECONDS if self.actors else CLUSTER_SECONDS):
            if not self.actors:
                raise NodeTrouble(
                    f"the cluster has given no room for {self.workers} workers for {silent:.0f} s: see "
                    "`ray status`, or ask for fewer shards"
                )
            raise TeamLost(f"a team of shards has not moved for {silent:.0f} s")
        return None

    def begin(self, chains: list[int], blocks: list[int]) -> None:
        """Have all run the same blocks."""
        self.work = chains, blocks
        self.moved = time.monotonic()
        self.waiting = [actor.run_blocks.remote(chains, blocks) for actor in self.actors]
        self.step = self._through

    def _hire(self, _: list[Any]) -> None:
        strategy = [
            PlacementGroupSchedulingStrategy(self.places, placement_group_bundle_index=shard)
            for shard in range(self.workers)
        ]
        resources = self.resources
        options = {
            "num_cpus": resources.cpus,
            "num_gpus": resources.gpus,
            "resources": dict(resources.custom),
        }
        threads = max(int(resources.cpus), 1)
        self.actors = [
            ShardActor.options(scheduling_strategy=strategy[shard], **options).remote(
                self.uri, threads, self.workers, shard, self.gpus, self.fence
            )
            for shard in range(self.workers)
        ]
        self.waiting = [actor.hello.remote() for actor in self.actors]
        self.step = self._seat

    def _seat(self, where: list[dict[str, Any]]) -> None:
        for one in where:
            if one["raytpnn"] != self.version:
                raise TeamLost(other_version(one, self.version), one, final=True)
        self.where = where
        together = len({one["node"] for one in where}) == 1
        transport = transport_by_place(self.asked, together, self.gpus > 0)
        if transport is not None:
            self._join(transport)
            return
        self.waiting = [actor.has_nccl.remote() for actor in self.actors]
        self.step = self._choose

    def _choose(self, nccl: list[bool]) -> None:
        self._join(transport_by_offers(self.asked, [one["ip"] for one in self.where], nccl))

    def _join(self, transport: str) -> None:
        self.transport = transport
        self.waiting = [actor.join.remote(self.name, transport) for actor in self.actors]
        self.step = self._greet

    def _greet(self, _: list[Any]) -> None:
        self.waiting = []
        if self.transport == "memory":
            self.actors[0].tidy.remote(self.name)
        self.ready = True

    def _through(self, results: list[list[BlockReport]]) -> list[BlockReport]:
        self.waiting, self.work, self.known = [], None, []
        return results[0]

    def _result(self, reference: Any) -> Any:
        """Result of a call; TeamLost if one is gone, other errors as they were raised there."""
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as problem:
            cause = problem.cause
            if isinstance(cause, (MeetingBroken, ShardError)):
                raise TeamLost(str(cause)) from None
            if isinstance(cause, (NodeTrouble, DeviceError)) and self.where:
                where = self.where[self.waiting.index(reference)]
                raise TeamLost(str(cause), where, isinstance(cause, RunUnusable)) from None
            if isinstance(cause, Exception):
                raise cause from None
            raise
        except (ray.exceptions.RayActorError, ray.exceptions.RaySystemError) as problem:
            raise TeamLost(f"a shard's process is gone: {problem}") from None

    def progress(self) -> list[tuple[int, int, int]]:
        """Chain at work, its sweeps and terms, as of the last look."""
        if self.question is None:
            if self.work is not None and self.ready:
                self.question = self.actors[0].progress.remote()
            return self.known
        done, _ = ray.wait([self.question], timeout=0.0)
        if done:
            with suppress(ray.exceptions.RayError):
                found = ray.get(done[0])
                if found != self.known:
                    self.known, self.moved = found, time.monotonic()
            self.question = None
        return self.known

    def dismiss(self) -> None:
        """End all of the team, and give its places back."""
        if self.transport == "memory" and not self.ready:
            # Who has lost somebody before all had met has not removed the name of the shared memory.
            calls = [actor.tidy.remote(self.name) for actor in self.actors]
            with suppress(ray.exceptions.RayError):
                ray.wait(calls, num_returns=len(calls), timeout=TIDY_SECONDS)
        for actor in self.actors:
            with suppress(ray.exceptions.RayError, ValueError):
                ray.kill(actor, no_restart=True)
        with suppress(ray.exceptions.RayError, ValueError):
            remove_placement_group(self.places)
        self.actors, self.waiting, self.ready = [], [], False
