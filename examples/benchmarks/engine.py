"""Speed and memory of one chain, as ratios measured in one run on one thread.

    python examples/benchmarks/engine.py                 # everything
    python examples/benchmarks/engine.py boston width    # some parts

Parts: boston (against stochtree and bartz, extra `benchmark`), width (p = 54,675 against 500), rows (n from
1,000 to 1,000,000), refit (factors refitted from sums over bins against Langevin steps, n from 100 on),
memory, start (first call in a new process). Real data is taken from the folder that
RAYTPNN_DATA names; without it a synthetic table of the same size is used, and said so.
"""

from __future__ import annotations

import os

# One thread for everybody: before any numerical library is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYTPNN_THREADS"):
    os.environ[variable] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import raytpnn
from raytpnn import Moves, Prior
from raytpnn.data.encoding.encoder import Encoder


def boston_table() -> tuple[pd.DataFrame, np.ndarray, str]:
    folder = os.environ.get("RAYTPNN_DATA")
    if folder and (Path(folder) / "boston_housing.csv").exists():
        data = pd.read_csv(Path(folder) / "boston_housing.csv")
        train = np.random.default_rng(0).permutation(len(data))[:404]
        return data.iloc[train, :-1].astype(float), data.iloc[train, -1].to_numpy(float), "Boston, split 0"
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(404, 13)), columns=[f"x{j}" for j in range(13)])
    y = np.sin(X["x0"]) + X["x1"] * X["x2"] + rng.normal(size=404)
    return X, y.to_numpy(), "synthetic table of Boston's size"


def seconds(function, repetitions: int = 3) -> float:
    """Best wall time of a few calls."""
    best = np.inf
    for _ in range(repetitions):
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return best


def compare_on_boston() -> None:
    X, y, name = boston_table()
    print(f"\n{name}: n = {len(y)}, p = {X.shape[1]}, 1,000 + 1,000 sweeps, one chain, one thread")

    def ours():
        return raytpnn.sample(X, y, chains=1, draws=1000)

    post = ours()
    own = seconds(ours)
    terms = post.draws.K.mean()
    each = own / 2000 / len(y) / terms * 1e9
    print(f"raytpnn    {own:7.2f} s   {each:.1f} ns a row and term, mean K {terms:.0f}")
    for label, other in (("stochtree", stochtree_fit), ("bartz", bartz_fit)):
        try:
            fit = other(X.to_numpy(), y)
        except ImportError as missing:
            print(f"{label:10s} not installed ({missing}): pip install 'raytpnn[benchmark]'")
            continue
        fit()
        theirs = seconds(fit, 2)
        print(f"{label:10s} {theirs:7.2f} s   {theirs / own:.1f} times raytpnn's time (warm, 200 trees)")


def stochtree_fit(X, y):
    from stochtree import BARTModel

    def fit():
        BARTModel().sample(
            X_train=X,
            y_train=y,
            num_gfr=0,
            num_burnin=1000,
            num_mcmc=1000,
            general_params={"num_threads": 1},
            mean_forest_params={"num_trees": 200},
        )

    return fit


def bartz_fit(X, y):
    from bartz.BART import gbart

    def fit():
        model = gbart(X, y, ntree=200, nskip=1000, ndpost=1000, printevery=None)
        np.asarray(model.yhat_train_mean)

    return fit


def time_a_sweep(X, y, K_max: int, sweeps: int) -> tuple[float, float]:
    """Processor seconds a sweep and mean number of terms of a chain; encoding and screens are left out."""
    options = {"chains": 1, "prior": Prior(K_max=K_max, C0=1e-9), "feature_weights": "uniform"}
    raytpnn.sample(X, y, warmup=1, draws=1, **options)
    spent = []
    for length in (1, sweeps):
        begin = time.process_time()
        post = raytpnn.sample(X, y, warmup=length, draws=length, **options)
        spent.append(time.process_time() - begin)
    # What the encoding costs is in both.
    return (spent[1] - spent[0]) / (2 * sweeps - 2), float(post.draws.K.mean())


def compare_widths() -> None:
    rng = np.random.default_rng(0)
    print("\nwidth: n = 200, one chain; time a sweep and term")
    cost = {}
    for p in (500, 54_675):
        X = rng.normal(size=(200, p)).astype(np.float32)
        y = 2 * X[:, 0] + X[:, 1] + rng.normal(size=200)
        runs = [time_a_sweep(X, y, 30, 1000) for _ in range(2)]
        sweep, terms = min(runs)
        cost[p] = sweep / terms
        print(
            f"p = {p:6d}   {sweep * 1e6:7.0f} us a sweep, mean K {terms:.1f}, {cost[p] * 1e6:.2f} us a term"
        )
    print(f"ratio for the same number of terms: {cost[54_675] / cost[500]:.2f} (wanted: at most 1.3)")


def compare_row_counts() -> None:
    rng = np.random.default_rng(0)
    print("\nrows: p = 5, K_max = 10; linear if the last column stays level")
    for n in (1_000, 10_000, 100_000, 1_000_000):
        X = rng.random((n, 5)).astype(np.float32)
        y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=n)
        sweeps = max(12, 300_000 // n)
        sweep, terms = time_a_sweep(X, y, 10, sweeps)
        print(
            f"n = {n:9,d}   {sweep * 1e3:9.3f} ms a sweep, mean K {terms:.1f}, "
            f"{sweep / n / terms * 1e9:.1f} ns a row and term"
        )


def compare_refits() -> None:
    """Refitted factors, the default, against the Langevin steps that came before them."""
    print("\nrefit: p = 5, one chain; ns a row and term, effective draws of f a second (median of 40 rows)")
    ways = {"Langevin": Moves(factor_steps=0, joint_beta_every=3), "refitted": Moves()}
    for n in (100, 404, 4_000, 100_000):
        for family in ("gaussian", "bernoulli"):
            X, y = smooth_table(n, family)
            sweeps = int(np.clip(2_000_000 // n, 40, 1500))
            found = {name: cost_and_yield(X, y, family, moves, sweeps) for name, moves in ways.items()}
            (old, old_rate), (new, new_rate) = found.values()
            print(
                f"n = {n:7,d} {family:9s}  Langevin {old:6.1f} ns {old_rate:8.2f} /s  refitted {new:6.1f} ns "
                f"{new_rate:8.2f} /s   ratios {old / new:.2f} and {new_rate / old_rate:.2f}"
            )


def smooth_table(n: int, family: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 5)).astype(np.float32)
    f = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]
    if family == "gaussian":
        return X, f + rng.normal(size=n)
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * f))).astype(float)


def cost_and_yield(X, y, family: str, moves: Moves, sweeps: int) -> tuple[float, float]:
    """Processor time in ns a row and term, and effective draws of f for each second of it."""
    from arviz_stats.base import array_stats

    options = {"family": family, "chains": 1, "moves": moves, "feature_weights": None}
    raytpnn.sample(X, y, warmup=1, draws=1, **options)
    begin = time.process_time()
    post = raytpnn.sample(X, y, warmup=sweeps, draws=sweeps, **options)
    spent = time.process_time() - begin
    terms = float(post.draws.K.mean())
    f = post.predict_draws(X[:40]).reshape(1, sweeps, -1)
    rates = [array_stats.ess(f[:, :, i], chain_axis=0, draw_axis=1, method="bulk") / spent for i in range(40)]
    return spent / (2 * sweeps) / len(y) / terms * 1e9, float(np.median(rates))


def measure_memory() -> None:
    rng = np.random.default_rng(0)
    print("\nmemory")
    for n, p in ((100_000, 100), (2_000, 5_000)):
        X = rng.normal(size=(n, p)).astype(np.float32)
        tracemalloc.start()
        _, bins = Encoder.fit(X)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        extra = (peak - bins.codes.nbytes) / X.size
        print(f"encoding {n} x {p}: {extra:.2f} bytes a cell over input and codes (wanted: at most 1)")
    n, K_max = 200_000, 20
    X = rng.random((n, 3)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=n)
    peaks = []
    for chains in (1, 3):
        os.environ["RAYTPNN_THREADS"] = str(chains)
        tracemalloc.start()
        raytpnn.sample(X, y, chains=chains, warmup=2, draws=1, prior=Prior(K_max=K_max))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    os.environ["RAYTPNN_THREADS"] = "1"
    per_row = (peaks[1] - peaks[0]) / 2 / n - 4 * K_max
    print(f"a further chain of {n} rows: K_max floats and {per_row:.1f} bytes a row (wanted: at most 64)")


def measure_start() -> None:
    print("\nstart: first call of sample in a new process, imports included")
    code = (
        "import time; t = time.perf_counter(); import numpy as np, raytpnn; r = np.random.default_rng(0);"
        "raytpnn.sample(r.normal(size=(100, 4)), r.normal(size=100), chains=1, warmup=1, draws=1);"
        "print(time.perf_counter() - t)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for label in ("cold cache", "warm cache", "warm cache"):
            done = subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
            )
            print(f"{label}: {float(done.stdout):.1f} s")


# Chains of a benchmark are as long as it takes to time them.
warnings.simplefilter("ignore", raytpnn.ConvergenceWarning)

PARTS = {
    "boston": compare_on_boston,
    "width": compare_widths,
    "rows": compare_row_counts,
    "refit": compare_refits,
    "memory": measure_memory,
    "start": measure_start,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help="parts to run; all if none is named")
    wanted = parser.parse_args().parts
    unknown = set(wanted) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for part in wanted or PARTS:
        PARTS[part]()
