"""How many workers run one chain together, and what each of them asks of Ray."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from raytpnn.chains.executors.resources import Resources
from raytpnn.engine.sharded_chain import SHARD_COUNTS

__all__ = ["GangShape", "Sharding", "check_gpus_of_worker", "gang_for"]


@dataclass(frozen=True)
class Sharding:
    """Rows of a chain in parts.

    Attributes
    ----------
    shards : int
    on_gpus : bool
        Each is on a GPU, else on a worker.
    """

    shards: int
    on_gpus: bool = False


class GangShape(NamedTuple):
    """Workers that have all rows of a chain, in equal parts."""

    workers: int
    resources: Resources  # of each

    def room(self, nodes: Sequence[dict[str, Any]]) -> int:
        """Workers of such a gang that nodes, as `ray.nodes` tells them, have room for."""
        return sum(self.resources.fit(node["Resources"]) for node in nodes)


def check_gpus_of_worker(shards: int, gpus: float) -> None:
    """Raise ValueError if workers cannot have so many GPUs of one chain each; 0 leaves it open."""
    if gpus and (gpus != int(gpus) or shards % int(gpus)):
        raise ValueError(
            f"with shards={shards} a GPU each, resources.gpus is how many of them a worker has: a whole "
            f"number that divides {shards}, got {gpus}"
        )


def gang_for(sharding: Sharding, resources: Resources, nodes: Sequence[dict[str, Any]]) -> GangShape:
    """Gang of a chain: on GPUs, the fewest workers for which there is room now, each with several GPUs.

    If there is room for none, the one with the smallest workers, or the only one that is asked for.
    """
    shards = sharding.shards
    if not sharding.on_gpus:
        return GangShape(shards, resources)
    counts = [count for count in reversed(SHARD_COUNTS) if shards % count == 0]
    if resources.gpus:
        counts = [int(resources.gpus)]
    shapes = [GangShape(shards // count, replace(resources, gpus=float(count))) for count in counts]
    return next((shape for shape in shapes if shape.room(nodes) >= shape.workers), shapes[-1])
