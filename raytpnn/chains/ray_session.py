"""Being connected to Ray: to a cluster that is there, or to one of our own that we stop again."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

from raytpnn.chains.progress import Reporter
from raytpnn.chains.resources import Resources
from raytpnn.chains.sharding import Sharding, Team, team_for
from raytpnn.chains.threads import available_cores

__all__ = ["ClusterError", "RaySession", "ray_is_meant"]

CONNECT_SECONDS = 5.0
# Only small reports go through the object store.
OBJECT_STORE_BYTES = 128 * 1024 * 1024


class ClusterError(RuntimeError):
    """A Ray cluster that cannot be used; the message says why."""


def ray_is_meant(executor: str, address: str | None) -> bool:
    """Whether chains run on Ray: asked for, or ("auto") a cluster is connected or addressed."""
    if executor != "auto":
        return executor == "ray"
    ray = sys.modules.get("ray")
    connected = ray is not None and ray.is_initialized()
    return address is not None or connected or bool(os.environ.get("RAY_ADDRESS"))


class RaySession:
    """A connection, for the time it is entered.

    Parameters
    ----------
    address : str or None
        Of a cluster; None takes the one that is connected or that RAY_ADDRESS names, and starts a local
        one if there is none.
    resources : Resources
    reporter : Reporter
        Told what takes time.
    sharding : Sharding, optional
        If several workers run a chain together.
    """

    def __init__(
        self,
        address: str | None,
        resources: Resources,
        reporter: Reporter,
        sharding: Sharding | None = None,
    ) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or None
        self.resources = resources
        self.reporter = reporter
        self.sharding = sharding
        self.ours = False

    def __enter__(self) -> RaySession:
        import ray

        if ray.is_initialized():
            if self.address is not None and self.address != os.environ.get("RAY_ADDRESS"):
                self.check_address(ray)
        else:
            self.connect(ray)
        try:
            self.check_resources(ray)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.ours:
            import ray

            self.ours = False
            ray.shutdown()

    def connect(self, ray: Any) -> None:
        """Join the cluster, or start one."""
        # Unasked, a program should not report on its user.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            if self.address in (None, "local"):
                self.reporter.say("starting Ray on this machine, which takes some seconds")
                ray.init(
                    address="local",
                    num_cpus=available_cores(),
                    include_dashboard=False,
                    object_store_memory=OBJECT_STORE_BYTES,
                    **quiet,
                )
            else:
                self.reporter.say(f"joining the Ray cluster at {self.address}")
                self.knock()
                ray.init(address=self.address, **quiet)
        except ClusterError:
            raise
        except Exception as problem:
            ray.shutdown()
            raise ClusterError(self.explain(problem)) from None
        self.ours = True

    def knock(self) -> None:
        """Fail at once if nobody listens at the address."""
        host, _, port = str(self.address).removeprefix("ray://").rpartition(":")
        if not port.isdigit():
            return
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except OSError as problem:
            raise ClusterError(
                f"no Ray cluster at {self.address}: {problem}. Is the head node up, and the address that "
                "of `ray status` (host:6379) or of a Ray client server (ray://host:10001)?"
            ) from None

    def explain(self, problem: Exception) -> str:
        """What went wrong, and what to do about it."""
        target = "start Ray" if self.address in (None, "local") else f"join the Ray cluster at {self.address}"
        text = f"cannot {target}: {problem}"
        if "ersion mismatch" in text:
            text += "\ninstall the cluster's versions of Ray and Python here, or ours there"
        elif "oken" in text or "nauthenticated" in text:
            text += (
                "\nset RAY_AUTH_MODE=token and the cluster's token in RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
            )
        return text

    def check_address(self, ray: Any) -> None:
        """Refuse another cluster than the one that is connected."""
        connected = ray.get_runtime_context().gcs_address
        if self.address not in (connected, "auto"):
            raise ClusterError(
                f"Ray is connected to {connected} already; leave out address={self.address!r}, or call "
                "ray.shutdown() first"
            )

    def check_resources(self, ray: Any) -> None:
        """Refuse what the cluster cannot give: a worker, or as many as run a chain together."""
        nodes = [node for node in ray.nodes() if node["Alive"]]
        team, problem = Team(1, self.resources), "no node of the cluster can hold a worker"
        if self.sharding is not None:
            team = team_for(self.sharding, self.resources, nodes)
            count = f"{team.workers} worker{'s' * (team.workers > 1)}"
            problem = (
                f"shards={self.sharding.shards} takes {count} at a time, and the cluster has room for "
                f"{team.room(nodes)}"
            )
        if self.resources.wait or team.room(nodes) >= team.workers:
            return
        wanted = {name: amount for name, amount in team.resources.wanted().items() if amount}
        has = [{name: node["Resources"].get(name, 0.0) for name in wanted} for node in nodes]
        raise ClusterError(
            f"{problem}: one asks for {wanted}, the {len(nodes)} nodes have {has[:5]}. Ask for less, or give "
            "Resources(wait=True) (--wait on the command line) for a cluster that can grow"
        )
