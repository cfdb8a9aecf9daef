"""How the numbers of the default prior were chosen: cross-validation within training parts.

    python examples/choose_prior.py                       # all data, all settings
    python examples/choose_prior.py boston servo --folds 5

Every setting of the prior is judged on the training part of split 0 of each data set (80% of its rows; of
abalone 700 of them) and on simulated data, by three folds, two chains of 500 + 500 sweeps each: the held-out
negative log predictive density, the RMSE or AUROC, and R-hat of f at the held-out rows, median and largest
over rows, mean over folds. No row of a test part is looked at. Real data are taken from the folder that
RAYTPNN_DATA names; sets that are not there are left out, and the table says so.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import raytpnn
from examples.benchmarks.meet import EXPRESSION, TABLES, Task, at_new_rows, latent_rhat, read, scores
from examples.paper.splits import folds
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.synthetic import make

CHAINS, SWEEPS = 2, 500
MOST_ROWS = 700
SIMULATED = ("f1", "f2", "f3")
SETTINGS: dict[str, dict[str, float]] = {
    "default": {},
    "sigma_beta2 / 3": {"sigma_beta2": 1.0 / 3.0},
    "sigma_beta2 * 3": {"sigma_beta2": 3.0},
    "K_max 200": {"K_max": 200},
    "K_max 200, sigma_beta2 / 2": {"K_max": 200, "sigma_beta2": 0.5},
    "b_gamma / 2": {"b_gamma": 0.5},
    "b_gamma * 2": {"b_gamma": 2.0},
    "C0 0.2": {"C0": 0.2},
    "sigma_beta2 learned": {"sigma_beta2_shape": 2.0},
    "sharing 10 / p": {"sharing": 10.0},
    "unbounded, learned": {"bounded": 0.0, "sigma_beta2_shape": 2.0},
}


def prior_of(setting: dict[str, float], n: int, p: int, family: str) -> raytpnn.Prior:
    """Prior of a setting: its scales are factors of those of the rule, its sharing is for p = 1."""
    rule = raytpnn.Prior().resolved(n, p, family)
    told: dict[str, object] = {}
    for name, value in setting.items():
        if name in ("sigma_beta2", "b_gamma"):
            told[name] = value * getattr(rule, name)
        elif name == "sharing":
            told[name] = value / p
        elif name == "bounded":
            told[name] = bool(value)
        else:
            told[name] = value
    return raytpnn.Prior(**told)


def training_part(name: str, folder: Path) -> Task:
    """Rows of split 0 for training, or simulated ones; the task's new rows are not used."""
    if name in SIMULATED:
        data = make(name, 400, seed=0)
        return Task(data.X, np.asarray(data.y, float), data.X, data.y, "gaussian")
    task = read(name, folder, 0)
    few = slice(0, MOST_ROWS)
    return Task(task.X.iloc[few], task.y[few], task.X_new, task.y_new, task.family)


def judge(task: Task, setting: dict[str, float], n_folds: int) -> np.ndarray:
    """Score, NLL, median and largest R-hat, mean K: means over folds."""
    found = []
    for fit, held in folds(task.y, n_folds, task.family == "bernoulli"):
        X, y = task.X.iloc[fit], task.y[fit]
        part = Task(X, y, task.X.iloc[held], task.y[held], task.family)
        prior = prior_of(setting, len(y), len(Encoder.fit(X)[1].names), task.family)
        post = raytpnn.sample(
            X, y, family=task.family, chains=CHAINS, warmup=SWEEPS, draws=SWEEPS, prior=prior
        )
        sampled = at_new_rows(post, part, CHAINS, 0.0)
        rhat = latent_rhat(sampled)
        found.append([*scores(part, sampled), np.median(rhat), rhat.max(), post.scalars()["K"].mean()])
    return np.mean(found, axis=0)


def main() -> None:
    names = [*TABLES, *EXPRESSION, *SIMULATED]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", help=f"some of {', '.join(names)}; all but heloc if none is named")
    parser.add_argument("--folds", type=int, default=3)
    options = parser.parse_args()
    unknown = set(options.sets) - set(names)
    if unknown:
        parser.error(f"no data set {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    folder = Path(os.environ.get("RAYTPNN_DATA", "."))
    warnings.simplefilter("ignore", raytpnn.ConvergenceWarning)
    print("| data | setting | RMSE or AUROC | NLL | R-hat of f: median | max | K |")
    print("|" + " --- |" * 7)
    for name in options.sets or [name for name in names if name != "heloc"]:
        try:
            task = training_part(name, folder)
        except FileNotFoundError as missing:
            print(f"| {name} | left out: {missing.filename} not found, set RAYTPNN_DATA |")
            continue
        for label, setting in SETTINGS.items():
            score, nll, middle, most, K = judge(task, setting, options.folds)
            print(
                f"| {name} | {label} | {score:.3f} | {nll:.3f} | {middle:.3f} | {most:.3f} | {K:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
