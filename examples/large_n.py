"""All rows, minibatches and delayed acceptance side by side, on real data, as Markdown tables.

    python examples/large_n.py --data-dir DATA            default: the folder named by RAYTPNN_DATA
    python examples/large_n.py abalone --splits 1 --warmup 200 --draws 200      a quick look

Abalone (rings, gaussian) with batches of 1,000 rows and heloc (bernoulli) with batches of 2,000, five splits
80/20, means over the splits and their standard deviation. "sd of f" is the posterior standard deviation of f
at the test rows, as a ratio to that of all rows: the median over rows and splits. "seconds" is processor time
of sampling. Delayed acceptance is exact: where it differs from all rows, chains have not mixed. Minibatches
are an approximation, whose spread is too wide.
"""

from __future__ import annotations

import os

os.environ.setdefault("RAYTPNN_THREADS", "1")

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import raytpnn
from raytpnn.posterior.evaluate.scores import coverage, score

LEVELS = (0.5, 0.8, 0.95)


@dataclass(frozen=True)
class Task:
    """Rows, response, family, and rows of a batch."""

    X: pd.DataFrame
    y: np.ndarray
    family: str
    batch: int


def abalone(folder: Path) -> Task:
    """Rings of abalone."""
    data = pd.read_csv(folder / "abalone.csv")
    return Task(data.drop(columns="Rings"), data["Rings"].to_numpy(np.float64), "gaussian", 1000)


def heloc(folder: Path) -> Task:
    """Whether a line of credit went bad; special codes below 0 are left as values."""
    data = pd.read_csv(folder / "heloc.csv")
    return Task(data.drop(columns="RiskPerformance"), data["RiskPerformance"].to_numpy(), "bernoulli", 2000)


TASKS: dict[str, Callable[[Path], Task]] = {"abalone": abalone, "heloc": heloc}


def methods_of(batch: int) -> dict[str, dict[str, Any]]:
    """Options of `raytpnn.sample` by the name of the method."""
    return {
        "all rows": {},
        f"minibatch {batch:,}": {"minibatch": batch},
        f"delayed acceptance {batch:,}": {"minibatch": batch, "delayed_acceptance": True},
    }


def split(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit, four fifths, and rows kept apart."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: int(0.8 * n)], order[int(0.8 * n) :]


def one_fit(task: Task, rows: Any, more: dict[str, Any], seed: int, options: Any) -> dict[str, Any]:
    """Scores on the rows kept apart, seconds, and the posterior standard deviation of f at them."""
    train, test = rows
    sampling = {name: getattr(options, name) for name in ("chains", "warmup", "draws")}
    begin = time.process_time()
    post = raytpnn.sample(
        task.X.iloc[train], task.y[train], family=task.family, seed=seed, **sampling, **more
    )
    seconds = time.process_time() - begin
    X, y = task.X.iloc[test], task.y[test]
    found: dict[str, Any] = score(post, X, y)
    if task.family == "gaussian":
        found |= {f"cover {level:.0%}": coverage(y, post.interval(X, level)) for level in LEVELS}
    f = np.concatenate([part for _, part in post.latent_blocks(X)], axis=1)
    found["rhat"] = float(np.nanmax(post.diagnostics()["rhat"]))
    return found | {"seconds": seconds, "K": float(post.draws.K.mean()), "sd": f.std(axis=0)}


def table(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Lines of a table: a row a method."""
    first = next(iter(found.values()))
    names = [name for name in first[0] if name not in ("sd", "coverage", "width", "error")]
    lines = ["| method | " + " | ".join(names) + " | sd of f |", "|---" * (len(names) + 2) + "|"]
    for method, fits in found.items():
        cells = []
        for name in names:
            values = np.array([fit[name] for fit in fits])
            cells.append(f"{values.mean():.4g} ({values.std():.2g})")
        ratio = np.concatenate([mine["sd"] / full["sd"] for mine, full in zip(fits, first, strict=True)])
        lines.append(f"| {method} | " + " | ".join(cells) + f" | {np.median(ratio):.2f} |")
    return lines


def main() -> None:
    """Fit everything, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", choices=[*TASKS, []], help="data sets; all if none is named")
    parser.add_argument("--data-dir", default=os.environ.get("RAYTPNN_DATA"), help="folder with the data")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    if options.data_dir is None:
        parser.error("no data: give --data-dir, or set RAYTPNN_DATA to the folder that holds it")
    for name in options.sets or TASKS:
        task = TASKS[name](Path(options.data_dir))
        methods = methods_of(task.batch)
        found: dict[str, list[dict[str, Any]]] = {method: [] for method in methods}
        for seed in range(options.splits):
            rows = split(len(task.y), seed)
            for method, more in methods.items():
                found[method].append(one_fit(task, rows, more, seed, options))
        sweeps = f"{options.chains} chains of {options.warmup} + {options.draws} sweeps"
        print(f"{name}, {options.splits} split(s) 80/20, {sweeps}: mean (sd over splits)\n")
        print("\n".join(table(found)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
