"""Does tuning help? A search on 80% of the rows, then the default prior beside the tuned one on the others.

RAYTPNN_DATA=... python examples/benchmarks/tuning.py    # Boston and Servo, three outer splits each
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

import raytpnn
from raytpnn.chains.executors.ray_session import RaySession
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.observe.progress import LineReporter
from raytpnn.posterior.evaluate.scores import nll, rmse

DATA = {"boston": "boston_housing.csv", "servo": "servo.csv"}


def scores_of(X, y, train, test, prior, moves, args, seed):
    post = raytpnn.sample(
        X.iloc[train],
        y[train],
        prior=prior,
        moves=moves,
        chains=args.final_chains,
        warmup=args.final,
        draws=args.final,
        seed=seed,
        executor="threads",
    )
    held_out = X.iloc[test]
    return rmse(y[test], post.predict(held_out)), nll(post.log_density_of(held_out, y[test]))


def one_split(name, X, y, seed, args):
    order = np.random.default_rng([seed, 17]).permutation(len(y))
    cut = round(0.8 * len(y))
    train, test = np.sort(order[:cut]), np.sort(order[cut:])
    begin = time.monotonic()
    found = raytpnn.tune(
        X.iloc[train],
        y[train],
        space=args.preset,
        trials=args.trials,
        metric=args.metric,
        folds=args.folds,
        chains=args.chains,
        warmup=args.sweeps,
        draws=args.sweeps,
        seed=seed,
        progress=True,
    )
    seconds = time.monotonic() - begin
    gain, error = found.lead(found.best_number, 0)
    default = scores_of(X, y, train, test, None, None, args, seed)
    tuned = default
    if found.best_number:
        tuned = scores_of(X, y, train, test, found.prior, found.moves, args, seed)
    return {
        "data": name,
        "split": seed,
        "fits": int(found.table["steps"].sum()),
        "search_s": round(seconds, 1),
        "best": str(found.best.changes(found.settings[0])),
        "ties": len(found.ties()),
        "tie_with_default": 0 in found.ties() or found.best_number == 0,
        "cv_gain": gain,
        "cv_gain_se": error,
        "rmse_default": default[0],
        "rmse_tuned": tuned[0],
        "nll_default": default[1],
        "nll_tuned": tuned[1],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*DATA])
    parser.add_argument("--data-dir", default=os.environ.get("RAYTPNN_DATA", "."))
    parser.add_argument("--out", help="CSV file to write the table to")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--metric", default="rmse")
    parser.add_argument("--trials", type=int, default=11)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--chains", type=int, default=1)
    parser.add_argument(
        "--sweeps", type=int, default=300, help="of warm-up, and draws, of a fit of the search"
    )
    parser.add_argument(
        "--final", type=int, default=1000, help="of warm-up, and draws, of a fit that is compared"
    )
    parser.add_argument("--final-chains", type=int, default=2)
    args = parser.parse_args()
    rows = []
    with RaySession(None, Resources(), LineReporter()):
        for name in args.names:
            path = Path(args.data_dir) / DATA[name]
            if not path.is_file():
                print(f"{name}: {path} is not there, left out")
                continue
            table = pd.read_csv(path)
            X, y = table.iloc[:, :-1], table.iloc[:, -1].to_numpy(float)
            for seed in range(args.splits):
                rows.append(one_split(name, X, y, seed, args))
                result = pd.DataFrame(rows)
                print(result.iloc[-1:].to_string(), flush=True)
                if args.out:
                    result.to_csv(args.out, index=False)
    if not rows:
        return
    result = pd.DataFrame(rows)
    print(result.drop(columns="best").to_string())
    print(
        result.groupby("data")[["rmse_default", "rmse_tuned", "nll_default", "nll_tuned"]].mean().to_string()
    )


if __name__ == "__main__":
    main()
