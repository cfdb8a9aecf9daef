"""Many rows: this package, stochtree and bartz on Friedman's function, one chain each on one core.

    python examples/benchmarks/friedman.py                          # n = 50,000, p = 50, 1,000 + 200 sweeps
    python examples/benchmarks/friedman.py ours --rows 5000

Features are uniform, five of them matter, the noise has a standard deviation of 1. All three get 1,000
sweeps of warm-up and 200 draws; the BARTs have 200 trees and otherwise their defaults, this package its own.
RMSE is that of the posterior mean against the truth at 1,000 new points. Effective draws are bulk ESS
(arviz-stats) of f at 100 of them, of one chain by itself: it says how a chain moves, not whether chains
agree. Seconds are processor time, encoding and prediction included. Compilation is left out: a run with few
sweeps comes first (bartz compiles again for the long one, which is counted: some seconds).
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYTPNN_THREADS"):
    os.environ[variable] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from arviz_stats.base import array_stats

import raytpnn

TREES = 200
NEW_ROWS, WATCHED = 1000, 100


def friedman(X: np.ndarray) -> np.ndarray:
    """The truth."""
    return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def ours(X, y, X_new, warmup: int, draws: int) -> np.ndarray:
    """Draws of f at new rows, (draws, rows)."""
    post = raytpnn.sample(X, y, family="gaussian", chains=1, warmup=warmup, draws=draws)
    return post.predict_draws(X_new)


def stochtree(X, y, X_new, warmup: int, draws: int) -> np.ndarray:
    """The same of stochtree's BART, without starts by the grow-from-root algorithm."""
    from stochtree import BARTModel

    model = BARTModel()
    model.sample(
        X_train=X.astype(np.float64),
        y_train=y,
        num_gfr=0,
        num_burnin=warmup,
        num_mcmc=draws,
        general_params={"random_seed": 1, "num_threads": 1},
        mean_forest_params={"num_trees": TREES},
    )
    return np.asarray(model.predict(X_new.astype(np.float64), terms="y_hat"), np.float64).T


def bartz(X, y, X_new, warmup: int, draws: int) -> np.ndarray:
    """The same of bartz."""
    from bartz.BART import gbart

    fitted = gbart(
        X,
        y.astype(np.float32),
        x_test=X_new,
        ntree=TREES,
        ndpost=draws,
        nskip=warmup,
        keepevery=1,
        printevery=None,
        seed=1,
    )
    return np.asarray(fitted.yhat_test, np.float64)


MODELS: dict[str, Callable[..., np.ndarray]] = {"ours": ours, "stochtree": stochtree, "bartz": bartz}


def measure(label: str, data: tuple, truth: np.ndarray, warmup: int, draws: int) -> str:
    """One row of the table."""
    fit = MODELS[label]
    fit(*data, 2, 2)
    begin = time.process_time()
    f = fit(*data, warmup, draws)
    spent = time.process_time() - begin
    rmse = np.sqrt(np.mean((f.mean(axis=0) - truth) ** 2))
    ess = np.median([array_stats.ess(f[None, :, i], method="bulk") for i in range(WATCHED)])
    return f"| {label} | {spent:.1f} | {rmse:.3f} | {ess:.0f} | {ess / spent:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help=f"some of {', '.join(MODELS)}; all if none is named")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    unknown = set(options.models) - set(MODELS)
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rng = np.random.default_rng(0)
    X = rng.random((options.rows, 50), np.float32)
    y = friedman(X.astype(np.float64)) + rng.normal(size=options.rows)
    X_new = rng.random((NEW_ROWS, 50), np.float32)
    print(f"n = {options.rows:,}, p = 50, {options.warmup:,} + {options.draws:,} sweeps, one chain, one core")
    print("| model | processor s | RMSE against the truth | ESS of f | ESS a second |")
    print("|" + " --- |" * 5)
    truth = friedman(X_new.astype(np.float64))
    for label in options.models or MODELS:
        print(measure(label, (X, y, X_new), truth, options.warmup, options.draws), flush=True)


if __name__ == "__main__":
    main()
