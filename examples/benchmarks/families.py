"""Outliers and overdispersed counts: does the wider law pay where it should.

    python examples/benchmarks/families.py

Boston housing (RAYTPNN_DATA): gaussian and student. Counts: simulated with known dispersion, days in hospital
of whas500, and further positive lymph nodes of GBSG2 (both come with scikit-survival): poisson and
negative_binomial. Everywhere five splits 80/20, as in the paper's tables. NLL, the share of responses
within 90% intervals, and how far the shares within 50%, 80%, 90% and 95% intervals are off at most; intervals
of counts end on whole numbers and hold somewhat more. Two chains of 500 + 1,000 sweeps, defaults.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sksurv import datasets

sys.path.insert(0, str(Path(__file__).parents[1]))
from paper.splits import SPLITS, split

import raytpnn
from raytpnn.report.quality import assess
from raytpnn.report.rows import choose_rows

LENGTH = {"chains": 2, "warmup": 500, "draws": 1000, "executor": "threads"}
LEVELS = (0.5, 0.8, 0.9, 0.95)


def simulated(seed: int = 0, n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    """Counts of variance mu + 0.5 mu^2."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(size=(n, 5)), columns=list("abcde"))
    mean = np.exp(1.0 + np.sin(5.0 * X["a"]) + X["b"] * X["c"])
    return X, rng.poisson(mean * rng.gamma(2.0, 0.5, n)).astype(float)


def days_in_hospital() -> tuple[pd.DataFrame, np.ndarray]:
    """Days in hospital, by what was known at admission."""
    X, _ = datasets.load_whas500()
    return X.drop(columns="los"), X["los"].to_numpy(float)


def lymph_nodes() -> tuple[pd.DataFrame, np.ndarray]:
    """Positive lymph nodes beyond the first."""
    X, _ = datasets.load_gbsg2()
    return X.drop(columns="pnodes"), X["pnodes"].to_numpy(float) - 1.0


def boston() -> tuple[pd.DataFrame, np.ndarray]:
    """House prices."""
    frame = pd.read_csv(Path(os.environ["RAYTPNN_DATA"]) / "boston_housing.csv")
    return frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy(float)


def scores(X, y, train, test, family: str, seed: int) -> dict[str, float]:
    """NLL and coverage on held-out rows."""
    post = raytpnn.sample(X.iloc[train], y[train], family=family, seed=seed, **LENGTH)
    result = assess(post, choose_rows(post, X.iloc[test], y[test]))
    held = [result.coverage(level) for level in LEVELS]
    gap = max(abs(share - level) for share, level in zip(held, LEVELS, strict=True))
    dispersion = float(post.draws.nuisance.mean())
    return {"nll": -float(result.log_density.mean()), "90%": held[2], "gap": gap, "dispersion": dispersion}


def main() -> None:
    warnings.simplefilter("ignore")
    counts = "poisson", "negative_binomial"
    made = (
        ("boston", boston, ("gaussian", "student")),
        ("simulated", simulated, counts),
        ("days in hospital", days_in_hospital, counts),
        ("lymph nodes", lymph_nodes, counts),
    )
    for name, read, families in made:
        X, y = read()
        rows = []
        for number in range(SPLITS):
            train, test = split(len(y), number)
            for family in families:
                rows.append({"family": family} | scores(X, y, train, test, family, number))
        table = pd.DataFrame(rows).groupby("family", sort=False)
        print(f"{name}, mean of {SPLITS} splits, standard error of the NLL", flush=True)
        print(table.mean().assign(se=table["nll"].sem()).round(3).to_string(), flush=True)
        nll = pd.DataFrame(rows).pivot_table(index=np.arange(len(rows)) // 2, columns="family", values="nll")
        difference = nll[families[1]] - nll[families[0]]
        print(f"difference {difference.mean():.3f}, standard error {difference.sem():.3f}\n", flush=True)


if __name__ == "__main__":
    main()
