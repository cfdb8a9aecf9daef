"""What one chain in a grid asks of its devices in a sweep, and what that costs this side of the bus.

`PYTHONPATH=tests python tests/support/grid_counts.py` prints the figures of kernels/README.md.
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
from support.chain_cases import Case, make_case
from support.grid_cases import CountingDevice, grid_chain

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import DELAYED, EXACT_ONLY
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

TERMS, SWEEPS = 20, 10


def case_of(family: str, n: int = 600, terms: int = TERMS, way: int | None = None) -> Case:
    """A chain that begins with so many terms of two variables each, on subsets in one of their ways."""
    prior = Prior(K_max=40, max_order=8, C0=0.001)
    subsets = None if way is None else SubsetUse(n // 3, way)
    moves = Moves(birth_death_attempts=10)
    case = make_case(family, n=n, p=10, prior=prior, moves=moves, subsets=subsets)
    case.chain.watched = case.chain.watched[:64]
    state, rng = case.chain.state, np.random.default_rng(2)
    state.K = terms
    for k in range(terms):
        state.order[k] = 2
        state.features[k, :2] = rng.choice(10, 2, replace=False)
        state.b[k, :2], state.gamma[k, :2] = rng.random(2), 0.1 + 0.2 * rng.random(2)
        state.beta[k] = 0.05 * rng.normal()
    return case


def counts_of(
    family: str, devices: int = 1, sweeps: int = SWEEPS, way: int | None = None
) -> dict[str, float]:
    """Counts a sweep on the first device that has rows: terms, waits, launches by kernel, bytes each way."""
    made = [CountingDevice() for _ in range(devices)]
    chain = grid_chain(case_of(family, way=way), made)
    chain.run(0, 1, 100, 1)
    for device in made:
        device.forget()
    chain.run(1, sweeps, 100, 1)
    busy = next(device for device in made if device.launches)
    launches = Counter(kernel for kernel, *_ in busy.launches)
    told = {
        "terms": float(chain.state.K),
        "waits": busy.waits / sweeps,
        "launches": len(busy.launches) / sweeps,
        "uploads": len(busy.uploads) / sweeps,
        "bytes up": sum(busy.uploads) / sweeps,
        "bytes down": sum(busy.downloads) / sweeps,
    }
    chain.close()
    return told | {kernel: count / sweeps for kernel, count in sorted(launches.items())}


class IdleModule:
    """Kernels that do nothing."""

    def launch(self, kernel, grid, block, arguments, shared_bytes, stream):
        pass


class IdleDevice(CountingDevice):
    """A device whose launches and copies take no time."""

    def upload(self, address, source, stream):
        pass

    def download(self, target, address, stream):
        pass

    def enqueue(self, stream, step):
        pass

    def compile(self, name, macros):
        return IdleModule()


def cost_of_asking(family: str, devices: int = 1, sweeps: int = 40) -> float:
    """CPU time in microseconds of a pass on this side: moves, callback, commands, sums; devices are idle."""
    made = [IdleDevice() for _ in range(devices)]
    # Three row blocks: each of two devices has some.
    chain = grid_chain(case_of(family, 9001), made)
    for shard in chain.shards:
        shard._back[:] = -1.0
    chain.run(0, 2, 100, 1)
    made[-1].forget()
    begin = time.thread_time()
    chain.run(2, sweeps, 100, 1)
    return 1e6 * (time.thread_time() - begin) / made[-1].waits


if __name__ == "__main__":
    for name in ("gaussian", "bernoulli"):
        print(name, {what: round(value, 1) for what, value in counts_of(name).items()})
        for told, way in (("minibatch", EXACT_ONLY), ("delayed", DELAYED)):
            counts = counts_of(name, way=way)
            print(name, told, {what: round(value, 1) for what, value in counts.items()})
        for devices in (1, 2):
            print(name, f"{cost_of_asking(name, devices):.0f} us of CPU a wait with {devices}")
