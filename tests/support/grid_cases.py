"""A chain whose rows lie on devices of the CPU host, beside the compiled one."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np
from support.chain_cases import Case, make_case
from support.cuda_cases import HostDevice
from support.cuda_host.build import HostError
from support.kernel_cases import differing, differing_draws

from raytpnn.engine.chain import Block, Chain
from raytpnn.engine.gpu.grid.chain import GridChain
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import DELAYED, EXACT_ONLY, STATE
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

# High orders are likely: all from 1 to 4 are met.
PRIOR = Prior(K_max=10, max_order=4, gamma_adding=0.3, sharing=0.3)
ORDERS = ("ascending", "descending", "random")


class CountingDevice(HostDevice):
    """A device that counts what is asked of it."""

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        self.forget()
        self.most_bytes = 0

    def forget(self):
        """Count anew."""
        self.uploads, self.downloads, self.waits = [], [], 0
        self.launches = []

    def allocate(self, n_bytes):
        address = super().allocate(n_bytes)
        self.most_bytes = max(self.most_bytes, sum(self.pieces.values()))
        return address

    def upload(self, address, source, stream):
        self.uploads.append(source.nbytes)
        super().upload(address, source, stream)

    def download(self, target, address, stream):
        self.downloads.append(target.nbytes)
        super().download(target, address, stream)

    def finish(self, stream):
        self.waits += 1
        super().finish(stream)


class Meeting:
    """What joins the stripes of threads that stand for processes."""

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count, timeout=30)
        self.given: dict[int, np.ndarray] = {}
        self.calls = 0

    def exchange_of(self, number: int):
        def exchange(stripes: np.ndarray) -> np.ndarray:
            self.given[number] = stripes
            self.barrier.wait()
            total = sum(self.given[i] for i in sorted(self.given))
            self.barrier.wait()
            self.calls += number == 0
            return total

        return exchange


def weighed(case: Case, stripe=None) -> Case:
    """Give a case weights that differ, some of them 0, and stripes of any length if given."""
    rng = np.random.default_rng(8)
    n = len(case.problem.y)
    case.problem.w[:] = rng.gamma(2.0, 0.5, n) * (rng.random(n) > 0.1)
    case.settings.weight_sum = case.problem.w.sum()
    if stripe is not None:
        case.problem.record.stripe[:] = stripe
    return case


def grid_chain(case: Case, devices, **options) -> GridChain:
    """The same chain on devices, from the state at which the case's own chain is."""
    state = np.frombuffer(case.chain.checkpoint(), STATE).copy().view(np.recarray)[0]
    return GridChain(case.problem, case.settings, state, devices, case.chain.watched, **options)


def differences(case: Case, chain: GridChain, blocks, thin=2) -> list[str]:
    """Run both; fields of states and draws that differ, by their bytes."""
    warmup, first, found = sum(blocks) // 3, 0, []
    for sweeps in blocks:
        expected = case.chain.run(first, sweeps, warmup, thin)
        got: Block = chain.run(first, sweeps, warmup, thin)
        assert (got.sweeps, got.draws) == (expected.sweeps, expected.draws)
        found += ["progress"] * (chain.progress != case.chain.progress)
        found += differing_draws(got.record, expected.record)
        found += differing(np.asarray(chain.state), np.asarray(case.chain.state))
        first += sweeps
    return found


def run_on(case: Case, count: int, blocks, policy="lazy", **options) -> list[str]:
    """Fields that differ on so many devices; all memory is given back."""
    devices = [HostDevice(policy, order="random") for _ in range(count)]
    chain = grid_chain(case, devices, **options)
    found = differences(case, chain, blocks)
    chain.close()
    assert not any(device.pieces for device in devices)
    return found


def assert_run_alike(case: Case, chains: list[GridChain]) -> None:
    """Chains that stand for processes end, each in a thread, where the compiled one does, with its record."""
    records = [None] * len(chains)

    def run(i):
        records[i] = chains[i].run(0, 4, 1, 1).record

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(chains))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    expected = case.chain.run(0, 4, 1, 1).record
    for chain, record in zip(chains, records, strict=True):
        assert chain.checkpoint() == case.chain.checkpoint()
        assert record.fit.tobytes() == expected.fit.tobytes()
        assert record.size.tobytes() == expected.size.tobytes()


def short_case(factor_steps: int = 8) -> Case:
    """Four row blocks, three of them of one stripe; missing values, more than 10 terms of orders 1 to 3."""
    n = 9000
    stripe = np.repeat([0, 8700, n], [4, 9, 4])
    prior = Prior(K_max=14, max_order=4, gamma_adding=0.1, C0=0.0001)
    moves = Moves(joint_beta_every=1, factor_steps=factor_steps)
    y = np.arange(n) % 2.0
    case = make_case("bernoulli", n=n, p=5, prior=prior, moves=moves, missing=0.1, y=y)
    draws = (case.prior_draw() for _ in range(1000))
    many = (d for d in draws if len(d.terms) > 10)
    case.load(next(d for d in many if {len(t.features) for t in d.terms} >= {1, 2, 3}), 0)
    case.chain.watched = case.chain.watched[::50].copy()
    return weighed(case, stripe)


def subset_case(way: str, n: int = 9000, m: int = 1100) -> Case:
    """A chain on subsets, "minibatch" or "delayed": missing values, some terms; by default of two strata."""
    subsets = SubsetUse(m, {"minibatch": EXACT_ONLY, "delayed": DELAYED}[way])
    y = np.arange(n) % 2.0
    prior = Prior(K_max=8, max_order=3, gamma_adding=0.1, C0=0.0001)
    case = make_case("bernoulli", n=n, p=5, prior=prior, missing=0.1, y=y, subsets=subsets)
    draws = (case.prior_draw() for _ in range(1000))
    case.load(next(d for d in draws if len(d.terms) > 3), 0)
    case.chain.watched = case.chain.watched[::50].copy()
    return weighed(case)


def outcome(chain: Chain) -> bytes:
    """State and watched rows after some sweeps."""
    record = chain.run(0, 4, 2, 1).record
    return chain.checkpoint() + record.fit.tobytes() + record.size.tobytes()


# Chains that the kernels of a folder are judged by.
CASES = {
    "all rows": short_case,
    "langevin": lambda: short_case(0),
    # Four strata, two on each of two devices; the last one's part of the subset is two row blocks.
    "minibatch": lambda: subset_case("minibatch", 17_001, 16_800),
    "delayed": lambda: subset_case("delayed"),
}


def expected_outcome(which: str = "all rows") -> bytes:
    """Those of the compiled chain."""
    return outcome(CASES[which]().chain)


def grid_verdict(
    expected: bytes, folder: Path | None = None, variant: str = "plain", which: str = "all rows"
) -> str:
    """What the kernels of a folder do: "same", "different", or the fault that the host reports."""
    for order in ORDERS:
        try:
            devices = [HostDevice("lazy", order, folder=folder, variant=variant) for _ in range(2)]
            chain = grid_chain(CASES[which](), devices)
            found = outcome(chain)
            chain.close()
        except HostError as problem:
            return f"fault: {problem}"
        if found != expected:
            return "different"
    return "same"


if __name__ == "__main__":
    # A process of its own, for builds that need a runtime preloaded.
    file, variant = Path(sys.argv[1]), sys.argv[2]
    print(grid_verdict(file.read_bytes(), variant=variant, which=file.name))
