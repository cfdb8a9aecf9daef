"""What a sweep costs when there are many rows: all rows, delayed acceptance, minibatches.

    python examples/benchmarks/rows.py sweep 100000 1000000          # seconds a sweep by number of rows
    python examples/benchmarks/rows.py ess 100000                    # effective draws of f a second

Simulated data: 50 uniform features, seven of which matter, additive and in pairs, noise of sd 1 (signal sd
about 5). Chains run on one thread and seconds are its processor time, so that a busy machine does little
harm. `sweep`: a minibatch chain and then some screened sweeps lead to a state; from it every method warms
up (delayed acceptance tuning itself as in a run of its own) and runs the same number of sweeps. `ess`: the
same for some chains; effective draws (bulk, arviz-stats) of f at 64 rows, of each chain by itself, added up.
"""

from __future__ import annotations

import os

os.environ.setdefault("RAYTPNN_THREADS", "1")

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from arviz_stats.base import array_stats

from raytpnn.chains.plan import Length, Plan, make_plan
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.rows.rows_io import TrainingRows
from raytpnn.engine.backends import block_runner
from raytpnn.engine.chain import Chain
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.problem import new_record_of
from raytpnn.engine.records import DELAYED, SETTINGS
from raytpnn.engine.rows.subset_options import SubsetUse, resolve_subsets
from raytpnn.families import get_family
from raytpnn.model.prior import Prior

FEATURES = 50
BATCH = 8_000


@dataclass(frozen=True)
class Method:
    """A way to go through the rows."""

    name: str
    subsets: SubsetUse


def methods_for(n: int) -> list[Method]:
    """All ways, the exact ones first."""
    return [
        Method("all rows", SubsetUse()),
        Method("delayed acceptance", resolve_subsets(n, delayed_acceptance=True)),
        Method(f"minibatch {BATCH:,}", SubsetUse(BATCH)),
    ]


def simulate(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, 50) in float32 and the response."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, FEATURES), np.float32)
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    f += X[:, 5] * X[:, 6]
    return X, f + rng.normal(size=n)


def plan_for(n: int, seed: int) -> Plan:
    """Encode the data, and resolve prior and moves."""
    X, y = simulate(n)
    _, bins = Encoder.fit(X)
    del X
    rows = TrainingRows(bins, y, np.ones(n), np.zeros(n), np.full(FEATURES, 1 / FEATURES))
    return make_plan(rows, get_family("gaussian"), Prior(), Moves(), seed, Length(1, 0, 1), "numba")


def chain_of(plan: Plan, subsets: SubsetUse, index: int = 0) -> Chain:
    """Make a chain that uses subsets in some way."""
    settings = new_record_of(SETTINGS)
    for name in SETTINGS.names or ():
        settings[name] = plan.settings[name]
    settings.batch, settings.delayed = subsets.rows, subsets.delayed
    settings.screened_attempts = subsets.attempts
    return Chain(plan.problem, settings, plan.first_state(index), block_runner("numba"), plan.watched)


def settled(plan: Plan, minibatch_sweeps: int, sweeps: int, index: int = 0) -> bytes:
    """State near the posterior: cheap sweeps first, then some exact ones, which remove terms too many."""
    first = chain_of(plan, SubsetUse(BATCH), index)
    first.run(0, minibatch_sweeps, minibatch_sweeps, 1)
    rows = resolve_subsets(len(plan.problem.y), delayed_acceptance=True).rows
    second = chain_of(plan, SubsetUse(rows, DELAYED), index)
    second.restore(first.checkpoint())
    second.run(minibatch_sweeps, sweeps, minibatch_sweeps + sweeps, 1)
    return second.checkpoint()


def tuned(plan: Plan, method: Method, state: bytes, warmup: int) -> Chain:
    """A chain at the end of its warm-up from a state."""
    chain = chain_of(plan, method.subsets)
    chain.restore(state)
    chain.run(0, warmup, warmup, 1)
    return chain


def timed(chain: Chain, first: int, sweeps: int) -> tuple[float, Any]:
    """Processor seconds a sweep, and the draws."""
    begin = time.thread_time()
    block = chain.run(first, sweeps, first, 1)
    return (time.thread_time() - begin) / sweeps, block


def sweep_table(options: argparse.Namespace) -> None:
    """Print seconds a sweep."""
    print(
        "| rows | method | rows of a subset | ms a sweep | times faster | terms | accepted structure moves |"
    )
    print("|---|---|---|---|---|---|---|")
    for n in options.rows:
        plan = plan_for(n, 0)
        state = settled(plan, options.settle, options.settle_all)
        plain = None
        for method in methods_for(n):
            chain = tuned(plan, method, state, options.warmup)
            chain.state.tally[:] = 0
            seconds, _ = timed(chain, options.warmup, options.sweeps)
            plain = plain or seconds
            taken = sum(chain.acceptance()[name][1] for name in ("birth", "death", "adding", "deleting"))
            taken += chain.acceptance()["changing"][1]
            print(
                f"| {n:,} | {method.name} | {method.subsets.rows or n:,} | {1000 * seconds:.1f} "
                f"| {plain / seconds:.1f} | {int(chain.state.K)} | {taken / options.sweeps:.2f} a sweep |",
                flush=True,
            )


def ess_table(options: argparse.Namespace) -> None:
    """Print effective draws of f a second, of some chains together."""
    print("| rows | method | ms a sweep | ESS of f, median | ESS a second | times | least ESS a second |")
    print("|---|---|---|---|---|---|---|")
    for n in options.rows:
        plan = plan_for(n, 0)
        states = [settled(plan, options.settle, options.settle_all, index) for index in range(options.chains)]
        plain = None
        for method in methods_for(n)[:2]:
            seconds, fits = 0.0, []
            for state in states:
                spent, block = timed(
                    tuned(plan, method, state, options.warmup), options.warmup, options.sweeps
                )
                seconds += spent * options.sweeps
                fits.append(block.record.fit[: block.draws])
            # By chain: at that many rows chains this short have not met.
            ess = sum(
                np.array([float(array_stats.ess(f[None, :, i], method="bulk")) for i in range(f.shape[1])])
                for f in fits
            )
            rate = np.median(ess) / seconds
            plain = plain or rate
            spent = 1000 * seconds / options.sweeps / len(states)
            print(
                f"| {n:,} | {method.name} | {spent:.1f} | {np.median(ess):.0f} | {rate:.2f} "
                f"| {rate / plain:.1f} | {ess.min() / seconds:.2f} |",
                flush=True,
            )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=["sweep", "ess"])
    parser.add_argument("rows", type=int, nargs="*", default=[100_000])
    parser.add_argument("--chains", type=int, default=2, help="of `ess`")
    parser.add_argument("--sweeps", type=int, default=20, help="that are timed")
    parser.add_argument("--warmup", type=int, default=60)
    parser.add_argument("--settle", type=int, default=300, help="minibatch sweeps before anything else")
    parser.add_argument("--settle-all", type=int, default=100, help="exact sweeps after them")
    options = parser.parse_args()
    (sweep_table if options.table == "sweep" else ess_table)(options)


if __name__ == "__main__":
    main()
