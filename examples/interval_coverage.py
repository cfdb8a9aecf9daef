"""How often do predictive intervals hold new responses? Abalone, five splits, as a Markdown table.

    python examples/interval_coverage.py --data-dir DATA            default: the folder named by RAYTPNN_DATA
    python examples/interval_coverage.py --splits 1 --warmup 200 --draws 200     a quick look
    python examples/interval_coverage.py --models varying                        one of plain, log, varying

The gaussian model has one noise variance for all rows. The rings of old abalone scatter more than those of
young ones, so that intervals are too wide where few rings are predicted and too narrow where many are,
while the coverage over all rows is about right. The second table shows it by fifths of the predicted rings.
Two remedies stand beside it: the gaussian model of the logarithm of the rings, its intervals carried back
("log"), and family heteroscedastic, whose noise is a function of the features, too ("varying").
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import raytpnn
from raytpnn.posterior.evaluate.scores import coverage, nll, width

LEVELS = (0.5, 0.8, 0.95)
FIFTHS = 5
MODELS = ("plain", "log", "varying")


def split(n, seed):
    """Rows to fit, four fifths, and rows kept apart."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: int(0.8 * n)], order[int(0.8 * n) :]


def fitted(X, y, model, seed, options):
    """Posterior of one of the models."""
    sampling = {name: getattr(options, name) for name in ("chains", "warmup", "draws")}
    family = "heteroscedastic" if model == "varying" else "gaussian"
    return raytpnn.sample(X, np.log(y) if model == "log" else y, family=family, seed=seed, **sampling)


def one_split(X, y, seed, options):
    """What every model says of the rows kept apart: prediction, intervals by level, log density."""
    train, test = split(len(y), seed)
    rows = X.iloc[test]
    found = {"rings": y[test], "models": {}}
    for model in options.models:
        post = fitted(X.iloc[train], y[train], model, seed, options)
        # Quantiles go through a monotone function: the ends of an interval may be carried back.
        back, truth = (np.exp, np.log(y[test])) if model == "log" else (np.asarray, y[test])
        density = post.log_density(rows, truth) - (truth if model == "log" else 0.0)
        found["models"][model] = {
            "predicted": back(post.predict(rows)),
            "interval": {level: back(post.interval(rows, level)) for level in LEVELS},
            "nll": nll(density),
        }
        print(f"split {seed}, {model}: NLL {nll(density):.3f}", file=sys.stderr, flush=True)
    return found


def overall(splits, models):
    """Lines of the table over all rows: NLL, and coverage as mean and sd over splits, and mean width."""
    yield "| model | NLL | level | coverage | sd over splits | mean width |"
    yield "|---|---|---|---|---|---|"
    for model in models:
        loss = np.mean([part["models"][model]["nll"] for part in splits])
        for level in LEVELS:
            intervals = [part["models"][model]["interval"][level] for part in splits]
            rates = [coverage(part["rings"], own) for part, own in zip(splits, intervals, strict=True)]
            wide = np.mean([width(own) for own in intervals])
            yield (
                f"| {model} | {loss:.3f} | {level:.0%} | {np.mean(rates):.3f} | {np.std(rates):.3f} "
                f"| {wide:.2f} |"
            )


def by_prediction(splits, models):
    """Lines of the table by fifths of the prediction of the first model, rows of all splits together."""
    predicted = np.concatenate([part["models"][models[0]]["predicted"] for part in splits])
    rings = np.concatenate([part["rings"] for part in splits])
    edges = np.quantile(predicted, np.linspace(0, 1, FIFTHS + 1))
    place = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, FIFTHS - 1)
    names = " | ".join(f"{level:.0%}, {model}" for model in models for level in LEVELS)
    yield f"| predicted rings | rows | sd of rings - predicted | {names} |"
    yield "|---" * (3 + len(models) * len(LEVELS)) + "|"
    for fifth in range(FIFTHS):
        inside = place == fifth
        cells = [f"{edges[fifth]:.1f} to {edges[fifth + 1]:.1f}", f"{inside.sum():,}"]
        cells.append(f"{np.std(rings[inside] - predicted[inside]):.2f}")
        for model in models:
            for level in LEVELS:
                interval = np.concatenate([part["models"][model]["interval"][level] for part in splits])
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
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
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
    print("\n".join(overall(splits, options.models)), end="\n\n")
    print("\n".join(by_prediction(splits, options.models)))


if __name__ == "__main__":
    main()
