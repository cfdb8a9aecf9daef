"""What running chains on Ray costs: throughput beside bare threads, the scheduler's share, memory.

    python examples/benchmarks/chains.py                    both
    python examples/benchmarks/chains.py throughput memory  some of them

Throughput: four chains on two workers, from the moment the workers are ready, beside the same blocks in two
bare threads that neither write nor watch anything. Both sides run in turns, and the better of each counts:
on a machine that others use too, the worse says more about them.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray

from raytpnn import Moves, Prior, Resources
from raytpnn.chains.executors.ray_pool import RayPool
from raytpnn.chains.monitoring.monitor import Monitor
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.plan import Length, make_plan
from raytpnn.chains.run.ledger import new_ledger
from raytpnn.chains.run.run import Run
from raytpnn.chains.schedule.scheduler import Goal, run_blocks
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.rows.rows_io import TrainingRows
from raytpnn.engine.precompile import compile_all
from raytpnn.families import get_family
from raytpnn.storage.places.place import Place

WORKERS = 2
REPEATS = 3


def make_rows(n, p, seed=0):
    """Encoder and rows of a smooth function of a few features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, p), dtype=np.float32)
    y = np.sin(6.0 * X[:, 0]) + 2.0 * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    encoder, bins = Encoder.fit(X)
    return encoder, TrainingRows(bins, y, np.ones(n), np.zeros(n), np.full(p, 1.0 / p))


def boston_rows():
    """Boston housing if RAYTPNN_DATA has it, else data of its size."""
    file = Path(os.environ.get("RAYTPNN_DATA", ".")) / "boston_housing.csv"
    if not file.exists():
        return "synthetic, n = 404, p = 13", *make_rows(404, 13)
    data = pd.read_csv(file).astype(float).iloc[:404]
    encoder, bins = Encoder.fit(data.iloc[:, :-1])
    n, p = bins.n_rows, bins.n_features
    rows = TrainingRows(bins, data.iloc[:, -1].to_numpy(), np.ones(n), np.zeros(n), np.full(p, 1.0 / p))
    return "Boston, n = 404, p = 13", encoder, rows


def plan_of(rows, length):
    return make_plan(rows, get_family("gaussian"), Prior(), Moves(), 0, length, "numba")


def in_bare_threads(plan):
    """Seconds of all blocks in threads, results thrown away."""

    def run_chain(index):
        chain = plan.new_chain()
        chain.restore(plan.start(index))
        for first, sweeps in plan.length.blocks():
            chain.run(first, sweeps, plan.length.warmup, plan.length.thin)

    begin = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(run_chain, range(plan.length.chains)))
    return time.perf_counter() - begin


def config_of(plan):
    """What a run keeps of its options, as far as workers need it."""
    return {"prior": asdict(plan.prior), "moves": asdict(plan.moves)}


def on_ray(plan, rows, encoder, folder, workers=WORKERS, cpus=1.0, look=None):
    """Seconds of all blocks on Ray, the scheduler's CPU seconds, and what `look` saw of the executor."""
    run = Run.begin(Place(folder), plan, rows, encoder, None, config_of(plan))
    resources = Resources(workers=workers, cpus=cpus)
    version = run.manifest["versions"]["raytpnn"]
    executor = RayPool(str(folder), plan.length.chains, resources, Reporter(), version)
    while len(executor.ready) < workers:
        executor.grow()
        executor.admit(0.1)
    monitor = Monitor(plan.length.chains, rows.bins.names, plan.watched)
    seen = []
    reporter = Reporter()
    if look is not None:
        reporter.update = lambda chains, where: seen.append(look(executor)) if not seen else None
    cpu = time.process_time()
    begin = time.perf_counter()
    run_blocks(executor, plan.length, new_ledger(plan.length), monitor, Goal(), reporter)
    return time.perf_counter() - begin, time.process_time() - cpu, seen


def throughput():
    print("| data | sweeps a chain | bare threads, s | Ray, s | throughput | scheduler's CPU |")
    print("|---|---|---|---|---|---|")
    for (name, encoder, rows), length in (
        (boston_rows(), Length(4, 1000, 4000)),
        (("synthetic, n = 100,000, p = 13", *make_rows(100_000, 13)), Length(4, 50, 150)),
    ):
        plan = plan_of(rows, length)
        in_bare_threads(plan_of(rows, Length(2, 5, 5)))
        bare, ray_seconds, shares = [], [], []
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(REPEATS):
                bare.append(in_bare_threads(plan))
                seconds, cpu, _ = on_ray(plan, rows, encoder, Path(folder) / str(turn))
                ray_seconds.append(seconds)
                shares.append(cpu / (WORKERS * seconds))
        ratio = min(bare) / min(ray_seconds)
        print(
            f"| {name} | {length.sweeps:,} | {min(bare):.1f} | {min(ray_seconds):.1f} | {ratio:.0%} "
            f"| {min(shares):.1%} |",
            flush=True,
        )


def mapped(executor):
    """Resident and proportional kB of codes.npy in every worker, and all that is resident."""
    found = []
    for where in executor.ready.values():
        resident = proportional = 0
        ours = False
        for line in Path(f"/proc/{where['pid']}/smaps").read_text().splitlines():
            if "-" in line.split(" ", 1)[0]:
                ours = line.endswith("codes.npy")
            elif ours and line.startswith("Rss:"):
                resident += int(line.split()[1])
            elif ours and line.startswith("Pss:"):
                proportional += int(line.split()[1])
        status = Path(f"/proc/{where['pid']}/status").read_text().splitlines()
        private = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
        found.append((resident, proportional, private))
    return found


def memory():
    n, p = 1_000, 54_675
    encoder, rows = make_rows(n, p)
    print(f"\n{n:,} x {p:,}, four workers: codes are {rows.bins.codes.nbytes / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_of(rows, Length(4, 100, 100))
        _, _, seen = on_ray(plan, rows, encoder, Path(folder) / "run", workers=4, cpus=0.5, look=mapped)
    for worker, (resident, proportional, private) in enumerate(seen[0]):
        print(
            f"worker {worker}: {resident / 1e3:.1f} MB of codes resident, {proportional / 1e3:.1f} MB its "
            f"share of them, {private / 1e3:.1f} MB private in all"
        )
    print(f"codes in memory, all workers together: {sum(share for _, share, _ in seen[0]) / 1e3:.1f} MB")


def main():
    wanted = sys.argv[1:] or ["throughput", "memory"]
    compile_all()
    ray.init(
        address="local",
        num_cpus=WORKERS,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=128 * 1024 * 1024,
        logging_level="ERROR",
    )
    try:
        for name in wanted:
            {"throughput": throughput, "memory": memory}[name]()
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
