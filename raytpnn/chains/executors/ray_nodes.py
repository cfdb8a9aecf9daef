"""Nodes of a Ray cluster: which can be used, which are being taken away, and which fail and are left out."""

from __future__ import annotations

import time
from typing import Any

import ray

from raytpnn.chains.observe.progress import Reporter
from raytpnn.storage.errors import NodeTrouble

__all__ = ["Nodes"]

LOOK_SECONDS = 1.0
# Faults of a node one after the other, nothing done in between, after which it is left out.
MOST_FAULTS = 3
# Label that every node has.
NODE_LABEL = "ray.io/node-id"


class Nodes:
    """What is known of the nodes.

    A node that is drained (a spot machine that is taken back, a cluster that shrinks) is no faulty one: what
    runs there is finished, nothing new is given to it, and nobody complains when it is gone.

    Parameters
    ----------
    reporter : Reporter
        Told which nodes are left out, and why.
    """

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self.known: dict[str, dict[str, Any]] = {}
        self.draining: set[str] = set()
        self.faults: dict[str, int] = {}
        self.left_out: dict[str, str] = {}
        self.looked = float("-inf")

    def look(self) -> None:
        """Ask the cluster, now and then."""
        now = time.monotonic()
        if now - self.looked < LOOK_SECONDS:
            return
        self.looked = now
        self.known = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
        draining = draining_nodes() & set(self.known)
        for node in draining - self.draining:
            self.reporter.say(
                f"node {self.known[node]['NodeManagerAddress']} is being taken away: its workers finish "
                "their blocks, others go on"
            )
        # A node that is gone was drained, if it was when it was last seen.
        self.draining = draining | (self.draining - set(self.known))

    def alive(self, node: str) -> bool:
        """Whether a node is there."""
        self.look()
        return node in self.known

    def usable(self) -> list[dict[str, Any]]:
        """Nodes on which workers can be."""
        self.look()
        return [
            node
            for name, node in self.known.items()
            if name not in self.left_out and name not in self.draining
        ]

    def may_work(self, node: str) -> bool:
        """Whether workers of a node are to be given work."""
        return node not in self.left_out and node not in self.draining

    def good(self, node: str) -> None:
        """Take note that something was done there."""
        self.faults.pop(node, None)

    def fault(self, where: dict[str, Any], problem: str, final: bool = False) -> None:
        """Take note of a fault; `final`: the node cannot work on the run at all."""
        node = where["node"]
        self.looked = float("-inf")
        self.look()
        if node in self.draining or node in self.left_out:
            return
        if node not in self.known:
            self.reporter.say(f"{problem}; others run its blocks")
            return
        self.faults[node] = self.faults.get(node, 0) + 1
        if not final and self.faults[node] < MOST_FAULTS:
            self.reporter.say(f"{problem}; its blocks are run again")
            return
        self.left_out[node] = problem
        if any(name not in self.left_out for name in self.known):
            self.reporter.say(f"node {where['ip']} is left out, the others go on: {problem}")

    def check(self, fits: Any) -> None:
        """Raise NodeTrouble if every node that could hold a worker is left out.

        Parameters
        ----------
        fits : callable
            Takes a node's resources; whether a worker fits.
        """
        if not self.left_out:
            return
        self.look()
        able = [name for name, node in self.known.items() if fits(node["Resources"])]
        if able and all(name in self.left_out for name in able):
            reasons = list(dict.fromkeys(self.left_out[name] for name in able))
            raise NodeTrouble("; ".join(reasons[:3]))

    def selector(self) -> dict[str, str]:
        """Labels that keep workers off the nodes that are left out."""
        there = [name for name in self.left_out if name in self.known]
        return {NODE_LABEL: f"!in({','.join(there)})"} if there else {}


def draining_nodes() -> set[str]:
    """Nodes that Ray was told to drain; none where it cannot tell, such as through a Ray client."""
    try:
        from ray._private.state import state

        return set(state.get_draining_nodes())
    except Exception:
        # What Ray keeps private may be elsewhere in its next version, and is no reason to fail.
        return set()
