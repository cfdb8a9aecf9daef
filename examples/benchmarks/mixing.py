"""How well the chains mix: R-hat and effective draws a second, by data set and kind of moves.

    python examples/benchmarks/mixing.py                           # all sets, 1,000 + 1,000 sweeps
    python examples/benchmarks/mixing.py boston f1 --seconds 60    # as many sweeps as fit in 60 s a chain
    python examples/benchmarks/mixing.py boston --moves default --power 0.25    # likelihood to that power

Chains run one after the other on one thread, and seconds are processor time, so that a busy machine does
little harm; a short run comes first, so that none of it is compilation. R-hat (rank-normalised,
split, the larger of bulk and folded) and bulk ESS by arviz-stats, of f at 64 probe rows. ESS a second is the
median, the 5% quantile and the least of the probe rows, of all chains, for a second of all of them, warm-up
counted; where R-hat is far from 1 it means little. Real data is taken from the folder that RAYTPNN_DATA
names; sets that are not there are left out, and said so. "tempered" is the default with --replicas replicas
a chain. --power shows how warm a replica must be to move freely.
"""

from __future__ import annotations

import os

os.environ.setdefault("RAYTPNN_THREADS", "1")

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from arviz_stats.base import array_stats

import raytpnn
from raytpnn import Moves, Tempering
from raytpnn.data import synthetic

PROBES = 64


@dataclass(frozen=True)
class Task:
    """Training rows, response, family and rows at which f is watched."""

    X: pd.DataFrame
    y: np.ndarray
    family: str
    probes: pd.DataFrame


def f1(folder: Path) -> Task:
    train = synthetic.make("f1", 1600, seed=0)
    return Task(train.X, train.y, "gaussian", synthetic.make("f1", PROBES, seed=1).X)


def boston(folder: Path) -> Task:
    data = pd.read_csv(folder / "boston_housing.csv").astype(float)
    order = np.random.default_rng(0).permutation(len(data))
    train, probe = data.iloc[order[:404]], data.iloc[order[404 : 404 + PROBES]]
    return Task(train.iloc[:, :-1], train.iloc[:, -1].to_numpy(), "gaussian", probe.iloc[:, :-1])


def madelon(folder: Path) -> Task:
    data = pd.read_parquet(folder / "madelon.parquet")
    train, probe = data[data["split"] == "train"], data[data["split"] == "valid"].head(PROBES)
    columns = ["split", "target"]
    y = (train["target"] > 0).to_numpy(float)
    return Task(train.drop(columns=columns), y, "bernoulli", probe.drop(columns=columns))


def golub_leukemia(folder: Path) -> Task:
    X = pd.read_parquet(folder / "golub_leukemia_expr.parquet").set_index("feature_id").T
    y = (pd.read_csv(folder / "golub_leukemia_samples.csv")["target"] == "AML").to_numpy(float)
    return Task(X, y, "bernoulli", X.head(PROBES))


TASKS: dict[str, Callable[[Path], Task]] = {
    "f1": f1,
    "boston": boston,
    "madelon": madelon,
    "golub_leukemia": golub_leukemia,
}
KINDS = ("paper", "default", "tempered")


def settings_of(label: str, task: Task, options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `raytpnn.sample` for one kind of moves."""
    kind: dict[str, Any] = {}
    if label == "paper":
        kind["moves"] = Moves.paper()
    if label == "tempered":
        kind["tempering"] = Tempering(replicas=options.replicas)
    if options.power != 1.0:
        kind["sample_weight"] = np.full(len(task.y), options.power)
    return kind


def sweeps_that_fit(task: Task, kind: dict[str, Any], seconds: float, warmup: int) -> int:
    """Sweeps a chain can do in that time, from a short run past the start, where states are small."""
    begin = time.process_time()
    raytpnn.sample(task.X, task.y, family=task.family, chains=1, warmup=warmup, draws=200, **kind)
    return int(seconds / (time.process_time() - begin) * (warmup + 200))


def assess(values: np.ndarray) -> tuple[float, float]:
    """R-hat and bulk ESS of values (chains, draws)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(array_stats.rhat(values, method="rank")), float(array_stats.ess(values, method="bulk"))


def measure(name: str, task: Task, label: str, options: argparse.Namespace) -> str:
    """One row of the table."""
    kind = settings_of(label, task, options)
    raytpnn.sample(task.X, task.y, family=task.family, chains=1, warmup=1, draws=1, **kind)
    warmup, sweeps = options.warmup, options.sweeps
    if options.seconds is not None:
        total = sweeps_that_fit(task, kind, options.seconds, min(warmup, 1000))
        warmup = total // 5
        sweeps = total - warmup
    thin = max(1, sweeps // options.draws)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*constant.*")
        post = raytpnn.sample(
            task.X,
            task.y,
            family=task.family,
            chains=options.chains,
            warmup=warmup,
            draws=sweeps // thin,
            thin=thin,
            seed=options.seed,
            **kind,
        )
    seconds = time.process_time() - begin
    f = post.predict_draws(task.probes).reshape(options.chains, -1, PROBES)
    found = np.array([assess(f[:, :, i]) for i in range(PROBES)])
    K = post.draws.K.reshape(options.chains, -1).astype(float)
    rhat_K, ess_K = assess(K)
    median, high, worst = np.quantile(found[:, 0], [0.5, 0.95, 1.0])
    typical, low, least = np.quantile(found[:, 1], [0.5, 0.05, 0.0]) / seconds
    return (
        f"| {name} | {label} | {warmup} + {sweeps} | {seconds / options.chains:.1f} | {median:.3f} "
        f"| {high:.3f} | {worst:.3f} | {rhat_K:.3f} | {typical:.2f} | {low:.2f} | {least:.2f} "
        f"| {ess_K / seconds:.2f} | {K.mean():.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", help=f"some of {', '.join(TASKS)}; all if none is named")
    parser.add_argument("--moves", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=1000, help="sweeps of warm-up")
    parser.add_argument("--sweeps", type=int, default=1000, help="sweeps after warm-up")
    parser.add_argument("--seconds", type=float, help="instead: time a chain, a fifth of it warm-up")
    parser.add_argument("--draws", type=int, default=2000, help="most draws kept of a chain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replicas", type=int, default=4, help="replicas of a tempered chain")
    parser.add_argument("--power", type=float, default=1.0, help="of the likelihood, for all chains")
    options = parser.parse_args()
    unknown = set(options.tasks) - set(TASKS)
    if unknown:
        parser.error(f"no data set {', '.join(sorted(unknown))}; there are {', '.join(TASKS)}")
    folder = Path(os.environ.get("RAYTPNN_DATA", "."))
    print("| data | moves | sweeps | s a chain | R-hat of f: median | 95 % | max | R-hat of K ", end="")
    print("| ESS of f a second: median | 5 % | min | ESS of K a second | mean K |")
    print("|" + " --- |" * 13)
    for name in options.tasks or TASKS:
        try:
            task = TASKS[name](folder)
        except FileNotFoundError as missing:
            print(f"| {name} | left out: {missing.filename} not found, set RAYTPNN_DATA |")
            continue
        for label in options.moves:
            print(measure(name, task, label, options), flush=True)


if __name__ == "__main__":
    main()
