"""Chains on Ray whose rows are in shards: a team of actors a chain, made anew when one of it dies."""

from __future__ import annotations

import time
from typing import Any

import ray

from raytpnn.chains.executors.base import Outcome
from raytpnn.chains.executors.ray_nodes import Nodes
from raytpnn.chains.executors.sharding import Sharding, Team
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.shards.shard_team import ShardTeam, TeamLost
from raytpnn.storage.errors import NodeTrouble
from raytpnn.storage.lease import Fence

__all__ = ["ShardExecutor"]

PATIENCE_SECONDS = 15.0
# Teams lost one after the other, no block finished in between, before it is taken for a fault of ours.
MOST_LOSSES = 5


class ShardExecutor:
    """Teams on the Ray that is connected; a worker is a team.

    Parameters
    ----------
    uri : str
        Folder of the run.
    chains : int
    sharding : Sharding
    team : Team
        Of every chain that is run at a time; its `resources.workers` counts those of all teams.
    reporter : Reporter
    version : str
        Of raytpnn here.
    fence : Fence, optional
        How workers see whether the run is still that of this process.
    """

    def __init__(
        self,
        uri: str,
        chains: int,
        sharding: Sharding,
        team: Team,
        reporter: Reporter,
        version: str,
        fence: Fence | None = None,
    ) -> None:
        self.asked = uri, team, sharding.on_gpus, version, fence
        self.sharding, self.reporter = sharding, reporter
        wanted = team.resources.workers or team.room([node for node in ray.nodes() if node["Alive"]])
        count = max(min(wanted // team.workers, chains), 1)
        self.teams = [ShardTeam(*self.asked) for _ in range(count)]
        self.nodes = Nodes(reporter)
        self.losses = 0
        self.lost_count = 0
        self.begin = time.monotonic()
        self.warned = False

    def idle(self) -> list[int]:
        """Teams that are complete and have nothing to do."""
        for worker in range(len(self.teams)):
            if self.teams[worker].work is None:
                self.advance(worker)
        if not self.warned and time.monotonic() - self.begin > PATIENCE_SECONDS:
            self.warned = True
            if not any(team.ready for team in self.teams):
                self.reporter.say(
                    "waiting for the cluster to give workers: `ray status` tells what it is doing"
                )
        return [worker for worker, team in enumerate(self.teams) if team.ready and team.work is None]

    def width(self, worker: int) -> int:
        """A team runs one chain."""
        return 1

    def submit(self, worker: int, chains: list[int], blocks: list[int]) -> None:
        """Have a team run blocks."""
        self.teams[worker].begin(chains, blocks)

    def wait(self, seconds: float) -> list[Outcome]:
        """Work that ended within some seconds."""
        waiting = [reference for team in self.teams for reference in team.waiting]
        if not waiting:
            time.sleep(seconds)
            return []
        ray.wait(waiting, num_returns=1, timeout=seconds)
        outcomes = []
        for worker in range(len(self.teams)):
            reports = self.advance(worker)
            if reports is not None:
                self.losses = 0
                outcomes.append(Outcome(worker, reports))
        return outcomes

    def advance(self, worker: int) -> Any:
        """Take a team further; one that has lost somebody is replaced, and the new one does its work."""
        team = self.teams[worker]
        try:
            reports = team.advance()
        except TeamLost as loss:
            self.losses += 1
            self.lost_count += 1
            team.dismiss()
            if loss.where is not None:
                self.nodes.fault(loss.where, str(loss), loss.final)
                self.nodes.check(lambda resources: True)
            if self.losses > MOST_LOSSES:
                raise NodeTrouble(
                    f"{self.losses} teams of shards were lost one after the other: {loss}"
                ) from None
            if loss.where is None:
                self.reporter.say(f"{loss}; its blocks are run again from their checkpoint")
            self.teams[worker] = ShardTeam(*self.asked, self.nodes.selector())
            self.teams[worker].work = team.work
            return None
        if team.ready and team.work is not None and not team.waiting:
            # A new team that takes over what the old one was at.
            team.begin(*team.work)
        return reports

    def progress(self) -> dict[int, tuple[int, int]]:
        """Sweeps and terms of the chains at work."""
        return {chain: (sweeps, terms) for team in self.teams for chain, sweeps, terms in team.progress()}

    def lost(self) -> set[int]:
        """None: the work of a team that is lost is done by the next."""
        return set()

    def describe(self) -> str:
        """Where the blocks run."""
        where = [one["node"] for team in self.teams for one in team.where]
        if not where:
            return "Ray: waiting for workers"
        nodes, teams = len(set(where)), len(self.teams)
        chains = f"{teams} chain{'s' * (teams > 1)} at a time"
        kind = "GPU shards" if self.sharding.on_gpus else "shards"
        told = f"Ray: {chains} in {self.sharding.shards} {kind} on {nodes} node{'s' * (nodes > 1)}"
        # Teams may be placed differently.
        ways = sorted({team.transport for team in self.teams if team.transport})
        return f"{told}, exchange by {' and '.join(ways)}" if ways else told

    def stop(self) -> None:
        """End blocks at hand."""
        self.close()

    def close(self) -> None:
        """Give the workers back."""
        for team in self.teams:
            team.dismiss()
        self.teams = []
