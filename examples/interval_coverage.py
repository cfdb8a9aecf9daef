"""How often do predictive intervals hold new responses? Abalone, five splits, as a Markdown table.

    python examples/interval_coverage.py --data-dir DATA            default: the folder named by RAYTPNN_DATA
    python examples/interval_coverage.py --splits 1 --warmup 200 --draws 200     a quick look

The model has one noise variance for all rows. The rings of old abalone scatter more than those of young ones,
so that intervals are too wide where few rings are predicted and too narrow where many are, while the coverage
over all rows is about right. The second table shows it by fifths of the predicted rings. Columns "log" are
a remedy: the same model fitted to the logarithm of the rings, its intervals carried back. Where the scatter
grows with the mean, a constant one on the log scale fits better.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

import raytpnn
from raytpnn.posterior.evaluate.scores import coverage, width

LEVELS = (0.5, 0.8, 0.95)
FIFTHS = 5


def split(n, seed):
    """Rows to fit, four fifths, and rows kept apart."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: int(0.8 * n)], order[int(0.8 * n) :]


def one_split(X, y, seed, options):
    """Intervals by level for rings and for log rings, the prediction and the response of rows kept apart."""
    train, test = split(len(y), seed)
    sampling = {name: getattr(options, name) for name in ("chains", "warmup", "draws")}
    plain = raytpnn.sample(X.iloc[train], y[train], seed=seed, **sampling)
    logged = raytpnn.sample(X.iloc[train], np.log(y[train]), seed=seed, **sampling)
    rows = X.iloc[test]
    return {
        "rings": y[test],
        "predicted": plain.predict(rows),
        "plain": {level: plain.interval(rows, level) for level in LEVELS},
        # Quantiles go through a monotone function: the ends of an interval may be carried back.
        "log": {level: np.exp(logged.interval(rows, level)) for level in LEVELS},
    }


def overall(splits):
    """Lines of the table over all rows: coverage as mean and sd over splits, and mean width."""
    yield "| level | coverage | sd over splits | mean width | coverage, log rings | mean width, log rings |"
    yield "|---|---|---|---|---|---|"
    for level in LEVELS:
        rates = {
            scale: np.array([coverage(part["rings"], part[scale][level]) for part in splits])
            for scale in ("plain", "log")
        }
        widths = {
            scale: np.mean([width(part[scale][level]) for part in splits]) for scale in ("plain", "log")
        }
        plain, logged = rates["plain"], rates["log"]
        yield (
            f"| {level:.0%} | {plain.mean():.3f} | {plain.std():.3f} | {widths['plain']:.2f} "
            f"| {logged.mean():.3f} | {widths['log']:.2f} |"
        )


def by_prediction(splits):
    """Lines of the table by fifths of the prediction, rows of all splits together."""
    predicted = np.concatenate([part["predicted"] for part in splits])
    rings = np.concatenate([part["rings"] for part in splits])
    edges = np.quantile(predicted, np.linspace(0, 1, FIFTHS + 1))
    place = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, FIFTHS - 1)
    names = " | ".join(f"{level:.0%}" for level in LEVELS)
    logged = " | ".join(f"{level:.0%}, log" for level in LEVELS)
    yield f"| predicted rings | rows | sd of rings - predicted | {names} | {logged} |"
    yield "|---" * (3 + 2 * len(LEVELS)) + "|"
    for fifth in range(FIFTHS):
        inside = place == fifth
        cells = [f"{edges[fifth]:.1f} to {edges[fifth + 1]:.1f}", f"{inside.sum():,}"]
        cells.append(f"{np.std(rings[inside] - predicted[inside]):.2f}")
        for scale in ("plain", "log"):
            for level in LEVELS:
                interval = np.concatenate([part[scale][level] for part in splits])
                cells.append(f"{coverage(rings[inside], interval[inside]):.3f}")
        yield "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", default=os.environ.get("RAYTPNN_DATA"), help="folder with abalone.csv")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    if options.data_dir is None:
        parser.error("no data: give --data-dir, or set RAYTPNN_DATA to the folder that holds abalone.csv")
    path = Path(options.data_dir) / "abalone.csv"
    if not path.is_file():
        parser.error(f"there is no file {str(path)!r}")
    data = pd.read_csv(path)
    X, y = data.drop(columns="Rings"), data["Rings"].to_numpy(np.float64)
    splits = [one_split(X, y, seed, options) for seed in range(options.splits)]
    print(f"Predictive intervals of abalone, {options.splits} split(s) 80/20, {options.chains} chains\n")
    print("\n".join(overall(splits)), end="\n\n")
    print("\n".join(by_prediction(splits)))


if __name__ == "__main__":
    main()
