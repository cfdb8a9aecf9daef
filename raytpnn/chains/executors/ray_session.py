"""Being connected to Ray: to a cluster that is there, or to one of our own that we stop again."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

from raytpnn.chains.executors.ray_cluster import (
    SavedEnvironment,
    cluster_at,
    connected_cluster,
    private_token,
    same_host,
)
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.executors.sharding import GangShape, Sharding, gang_for
from raytpnn.chains.executors.threads import available_cores
from raytpnn.chains.observe.progress import Reporter

__all__ = ["ClusterError", "RaySession", "ray_is_meant"]

CONNECT_SECONDS = 5.0
# Only small reports go through the object store.
OBJECT_STORE_BYTES = 128 * 1024 * 1024
REMEDY = (
    "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH to what `ray get-auth-token` "
    "says on its head node"
)
# Names by which we joined the cluster that is connected.
joined_as: set[str] = set()


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
        self.asked = address
        self.address = address or os.environ.get("RAY_ADDRESS") or None
        self.resources = resources
        self.reporter = reporter
        self.sharding = sharding
        self.ours = False
        self.saved: SavedEnvironment | None = None

    def __enter__(self) -> RaySession:
        import ray

        if ray.is_initialized():
            if self.asked is not None:
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
            joined_as.clear()
            ray.shutdown()
        if self.saved is not None:
            self.saved.restore()
            self.saved = None

    def connect(self, ray: Any) -> None:
        """Join the cluster, or start one."""
        self.saved = SavedEnvironment()
        # Unasked, a program should not report on its user.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            if self.address in (None, "local"):
                self.reporter.say("starting Ray on this machine, which takes some seconds")
                private_token()
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
        except BaseException as problem:
            if ray.is_initialized() or not isinstance(problem, ClusterError):
                ray.shutdown()
            self.saved.take_note()
            self.saved.restore()
            self.saved = None
            if isinstance(problem, ClusterError) or not isinstance(problem, Exception):
                raise
            raise ClusterError(self.explain(problem)) from None
        self.ours = True
        self.saved.take_note()
        joined_as.add(self.address or "local")

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
        if not str(self.address).startswith("ray://"):
            self.show_token()

    def show_token(self) -> None:
        """Fail at once, in one line, if the cluster wants another token: Ray would try twenty times."""
        from ray.exceptions import AuthenticationError

        try:
            cluster_at(str(self.address))
        except AuthenticationError:
            raise ClusterError(f"the Ray cluster at {self.address} wants its token: {REMEDY}") from None

    def explain(self, problem: Exception) -> str:
        """What went wrong, and what to do about it."""
        target = "start Ray" if self.address in (None, "local") else f"join the Ray cluster at {self.address}"
        text = f"cannot {target}: {problem}"
        if "ersion mismatch" in text:
            text += "\ninstall the cluster's versions of Ray and Python here, or ours there"
        elif "oken" in text or "nauthenticated" in text:
            text = f"cannot {target}: it wants its token. {REMEDY[0].upper()}{REMEDY[1:]}"
        return text

    def check_address(self, ray: Any) -> None:
        """Refuse another cluster than the one that is connected, by whatever name it is given."""
        asked = str(self.asked)
        connected = ray.get_runtime_context().gcs_address
        if asked in ("auto", connected) or asked in joined_as or self.is_connected(ray, asked, connected):
            return
        raise ClusterError(
            f"Ray is connected to {connected} already; leave out address={asked!r}, or call "
            "ray.shutdown() first"
        )

    @staticmethod
    def is_connected(ray: Any, asked: str, connected: str) -> bool:
        """Whether the cluster that was asked for, by another name, is the one that is connected."""
        from ray.exceptions import AuthenticationError

        if asked == "local":
            # One that runs on this machine, whoever started it.
            return same_host(connected, f"localhost:{connected.rpartition(':')[2]}")
        if asked.startswith("ray://"):
            return any(same_host(asked, one) for one in joined_as if one.startswith("ray://"))
        mine = connected_cluster(ray)
        if mine is None:
            return same_host(asked, connected)
        try:
            return cluster_at(asked) == mine
        except AuthenticationError:
            return False

    def refuse_other_machines(self) -> None:
        """Refuse a run without a folder of its own if workers may run on machines that do not see ours."""
        import ray

        here = str(ray.util.get_node_ip_address())
        there = sorted(
            str(node["NodeManagerAddress"])
            for node in ray.nodes()
            if node["Alive"] and self.resources.fit(node["Resources"]) and node["NodeManagerAddress"] != here
        )
        if there:
            more = f" and {len(there) - 3} more" if len(there) > 3 else ""
            raise ClusterError(
                f"the Ray cluster has room for workers on other machines ({', '.join(there[:3])}{more}): "
                "give out=, a folder that all of them see, such as s3://bucket/run or one on a network disk"
            )

    def check_resources(self, ray: Any) -> None:
        """Refuse what the cluster cannot give: a worker, or as many as run a chain together."""
        nodes = [node for node in ray.nodes() if node["Alive"]]
        gang, problem = GangShape(1, self.resources), "no node of the cluster can hold a worker"
        if self.sharding is not None:
            gang = gang_for(self.sharding, self.resources, nodes)
            count = f"{gang.workers} worker{'s' * (gang.workers > 1)}"
            problem = (
                f"shards={self.sharding.shards} takes {count} at a time, and the cluster has room for "
                f"{gang.room(nodes)}"
            )
        if self.resources.wait or gang.room(nodes) >= gang.workers:
            return
        wanted = {name: amount for name, amount in gang.resources.wanted().items() if amount}
        has = [{name: node["Resources"].get(name, 0.0) for name in wanted} for node in nodes]
        raise ClusterError(
            f"{problem}: one asks for {wanted}, the {len(nodes)} nodes have {has[:5]}. Ask for less, or give "
            "Resources(wait=True) (--wait on the command line) for a cluster that can grow"
        )
