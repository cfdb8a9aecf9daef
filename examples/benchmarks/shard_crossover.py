"""From how many rows on two shards in Ray actors beat one: measured, for shared memory and for Gloo.

Two actors on two local Ray nodes take turns in one run: one alone with all rows, both with half of the rows
each. Nodes of one machine talk over its loopback: a network between them is slower. A shard has whole blocks
of 4,096 rows: of up to so many rows one shard of two has all, of 10,000 one has six tenths.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Before any numerical library is loaded: it limits their threads.
from shard_cases import plan_of, simulate, timed

# isort: split
import numpy as np

from raytpnn.chains.shards.carrier import Carrier
from raytpnn.chains.shards.transport import GlooGroup
from raytpnn.engine.chain import Chain, ShardPlace, take_place
from raytpnn.engine.exchange.mailbox import new_mailbox
from raytpnn.engine.exchange.meeting import Meeting, map_mailbox
from raytpnn.engine.sharded_chain import room_width, shard_of
from raytpnn.engine.sweeps.sweep import run_block

WAYS = ("memory", "gloo")
# Rows of all sweeps of a measurement; an exchange by Gloo takes longer than thousands of rows.
ROWS = {"memory": 20_000_000, "gloo": 4_000_000}
MOST_SWEEPS = {"memory": 2_000, "gloo": 60}
WARMED = 12


def sweeps_of(way: str, n: int, most: int) -> int:
    """Sweeps of one measurement."""
    return max(min(ROWS[way] // n, MOST_SWEEPS[way], most), 2)


class Member:
    """One of two actors."""

    def __init__(self, shard: int, path: str, name: str) -> None:
        self.shard = shard
        width = room_width(plan_of(simulate(500)).settings, None)
        self.mailboxes = {"memory": map_mailbox(path, width), "gloo": new_mailbox(width)}
        meeting = Meeting(self.mailboxes["gloo"], width, 2, shard)
        self.carrier = Carrier(meeting, GlooGroup(2, shard, name))

    def load(self, n: int) -> bytes:
        """Have rows; the state of a chain that has found its terms."""
        self.half: Chain | None = None
        self.alone: Chain | None = None
        plan = plan_of(simulate(n))
        made_of = plan.settings, plan.first_state(0), run_block, plan.watched
        place = ShardPlace(2, self.shard, self.mailboxes["memory"])
        self.half = Chain(shard_of(plan.problem, 2, self.shard), *made_of, place)
        if self.shard:
            return b""
        self.alone = Chain(plan.problem, plan.settings, plan.first_state(0), run_block, plan.watched)
        self.alone.run(0, WARMED, 10**9, 1)
        return self.alone.checkpoint()

    def run(self, way: str, state: bytes, sweeps: int) -> tuple[float, int, str]:
        """Seconds a sweep, terms at the end, and a digest of the state that it came to."""
        chain = self.alone if way == "alone" else self.half
        assert chain is not None
        if way != "alone":
            take_place(chain.work, ShardPlace(2, self.shard, self.mailboxes[way]))
        cost = timed(chain, state, WARMED, sweeps)
        return cost.wall, int(chain.state.K), hashlib.sha256(chain.checkpoint()).hexdigest()


def crossing(sizes: Sequence[int], ratios: Sequence[float]) -> float | None:
    """Rows at which the ratio passes 1 for good, on logarithmic scales; None if it does not between these."""
    below = [i for i, ratio in enumerate(ratios) if ratio < 1.0]
    if not below or below[-1] == len(sizes) - 1:
        return None
    i = below[-1]
    (x0, x1), (y0, y1) = np.log(sizes[i : i + 2]), np.log(ratios[i : i + 2])
    return float(np.exp(x0 - y0 * (x1 - x0) / (y1 - y0)))


def told_crossing(sizes: Sequence[int], ratios: Sequence[float]) -> str:
    """What `crossing` found, in words."""
    found = crossing(sizes, ratios)
    if found is not None:
        return f"two shards pay from n = {found:,.0f}"
    return f"two shards pay {'at none' if ratios[-1] < 1.0 else 'at all'} of these n"


def measure(ray: Any, members: list[Any], n: int, pairs: int, most: int) -> dict[str, float]:
    """Measure one number of rows and print it; ratios by way."""
    state = ray.get([member.load.remote(n) for member in members])[0]
    text, ratios = f"{n:>10,}", {}
    for way in WAYS:
        sweeps = sweeps_of(way, n, most)
        ones, twos = [], []
        for _ in range(pairs):
            one, terms, expected = ray.get(members[0].run.remote("alone", state, sweeps))
            both = ray.get([member.run.remote(way, state, sweeps) for member in members])
            assert all(digest == expected for *_, digest in both), "shards took another way"
            ones.append(one)
            twos.append(max(two for two, *_ in both))
        ratios[way] = min(ones) / min(twos)
        each = [one / two for one, two in zip(ones, twos, strict=True)]
        text += (
            f" {sweeps:>7} {terms:>6} {1e3 * min(ones):>10.3f} {1e3 * min(twos):>10.3f} {ratios[way]:>6.3f}"
        )
        text += f" {min(each):>5.3f}-{max(each):<5.3f}"
    print(text, flush=True)
    return ratios


def crossover(sizes: Sequence[int], pairs: int, most: int) -> None:
    """Time one shard and two for every number of rows, in turn."""
    import ray
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 100_000_000}
    head = {"num_cpus": 0, "include_dashboard": False, **memory}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    print(f"ms a sweep of 1 shard and of 2 in Ray actors, each the best of {pairs} in turn; their ratio, and")
    print(
        "the least and largest ratio of two measurements in turn; by shared memory, then by Gloo (loopback)"
    )
    names = ("sweeps", "terms", "1 shard", "2 shards", "ratio", "of pairs   ")
    widths = (7, 6, 10, 10, 6, 11)
    line = " ".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1, **memory)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
            kind: Any = ray.remote(num_cpus=1)(Member)
            members = [kind.remote(shard, f"{folder}/mailbox", "crossover") for shard in range(2)]
            print(f"{'n':>10} {line} {line}")
            found = [measure(ray, members, n, pairs, most) for n in sorted(sizes)]
    finally:
        ray.shutdown()
        cluster.shutdown()
    for way, name in zip(WAYS, ("shared memory", "Gloo"), strict=True):
        print(f"by {name}: {told_crossing(sorted(sizes), [ratios[way] for ratios in found])}")
