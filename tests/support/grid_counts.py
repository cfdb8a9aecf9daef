"""What a chain asks of devices in a sweep, what that costs on this side, and what a core takes instead.

`PYTHONPATH=tests python tests/support/grid_counts.py` prints the figures of kernels/README.md.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import numpy as np
from support.chain_cases import Case, make_case, random_bins
from support.grid_cases import CountingDevice, grid_chain
from support.kernel_cases import KernelChains, Launch

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import DELAYED, EXACT_ONLY
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

TERMS, SWEEPS = 20, 10
PRIOR = Prior(K_max=40, max_order=8, C0=0.001)
FEW_BIRTHS = Moves(birth_death_attempts=10)


def case_of(family: str, n: int = 600, terms: int = TERMS, way: int | None = None) -> Case:
    """A chain that begins with so many terms of two variables each, on subsets in one of their ways."""
    subsets = None if way is None else SubsetUse(n // 3, way)
    case = make_case(family, n=n, p=10, prior=PRIOR, moves=FEW_BIRTHS, subsets=subsets)
    case.chain.watched = case.chain.watched[:64]
    return with_terms(case, terms)


def with_terms(case: Case, terms: int) -> Case:
    """Have a case begin with so many terms of two variables."""
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


def busy_case(n: int, moves: Moves) -> Case:
    """Twenty terms of two variables, and a response with something to find for each."""
    codes = random_bins(n, 10).codes
    x = codes / codes.max(axis=1, keepdims=True)
    noise = 0.1 * np.random.default_rng(1).normal(size=n)
    y = sum(np.sin((3 + j) * x[j]) * np.cos((2 + j) * x[(j + 1) % 10]) for j in range(10)) + noise
    return with_terms(make_case("gaussian", n=n, p=10, prior=PRIOR, moves=moves, y=y), TERMS)


def time_of_core(n: int, moves: Moves, sweeps: int) -> tuple[float, float]:
    """CPU time in nanoseconds of a row and term on one core, and the terms that there were."""
    chain = busy_case(n, moves).chain
    chain.watched = chain.watched[:64]
    chain.run(0, 2, 1000, 1)
    taken, terms = 0.0, 0
    for i in range(2, 2 + sweeps):
        begin = time.thread_time()
        chain.run(i, 1, 1000, 1)
        taken += time.thread_time() - begin
        terms += int(chain.state.K)
    return 1e9 * taken / (n * terms), terms / sweeps


def barriers_of_chain(moves: Moves, sweeps: int = 20) -> int:
    """Barriers of one block of threads that runs a chain."""
    kernels = KernelChains(busy_case(600, moves).chain, Launch(64))
    before = kernels.kernels.library.barriers
    kernels.run(0, sweeps, 100, 1)
    return kernels.kernels.library.barriers - before


if __name__ == "__main__":
    for told, chosen in (("refits", FEW_BIRTHS), ("Langevin", replace(FEW_BIRTHS, factor_steps=0))):
        print(told, barriers_of_chain(chosen), "barriers in 20 sweeps")
        for rows, many in ((1_000, 200), (10_000, 60)):
            taken, terms = time_of_core(rows, chosen, many)
            print(told, f"{taken:.1f} ns a row and term, {rows} rows, {terms:.0f} terms, one core")
    for name in ("gaussian", "bernoulli"):
        print(name, {what: round(value, 1) for what, value in counts_of(name).items()})
        for told, way in (("minibatch", EXACT_ONLY), ("delayed", DELAYED)):
            counts = counts_of(name, way=way)
            print(name, told, {what: round(value, 1) for what, value in counts.items()})
        for devices in (1, 2):
            print(name, f"{cost_of_asking(name, devices):.0f} us of CPU a wait with {devices}")
