"""Survival on four data sets that come with scikit-survival, beside Cox's model and random survival forests.

    python examples/benchmarks/survival.py OUT.jsonl --splits 5
    python examples/benchmarks/survival.py OUT.jsonl --table

Every split holds out a quarter of the persons, with its share of events. Settings of the peers are chosen by
cross-validation within the training part: the ridge of Cox's model, leaf size and features a split of the
forest (300 trees). Of ours, "survival" and "weibull" are fitted with their defaults, and "chosen" is the one
with the better leave-one-out density of the training part: no test row has a say in anything. Uno's
concordance counts until 80% of the training events have come, and the Brier score is integrated from 10% to
there. Finished splits are kept in OUT.jsonl and not done again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv import datasets
from sksurv.column import encode_categorical
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxPHSurvivalAnalysis

import raytpnn
from raytpnn.data.survival import as_times
from raytpnn.posterior.evaluate.survival_scores import FIRST, LAST, TIMES, integrated_brier, structured, uno

SETS = {
    "gbsg2": datasets.load_gbsg2,
    "whas500": datasets.load_whas500,
    "veterans": datasets.load_veterans_lung_cancer,
    "breast": datasets.load_breast_cancer,
}
RIDGES = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
LENGTH = {"chains": 2, "warmup": 500, "draws": 1000, "executor": "threads"}
LAWS = ("survival", "weibull")


def cox(X, y):
    """Cox's model with a ridge chosen by five folds."""
    model = make_pipeline(StandardScaler(), CoxPHSurvivalAnalysis(n_iter=200))
    grid = {"coxphsurvivalanalysis__alpha": RIDGES}
    return GridSearchCV(model, grid, cv=5, error_score=0.5).fit(X, y).best_estimator_


def forest(X, y):
    """Random survival forest with settings chosen by three folds."""
    grid = {"min_samples_leaf": [5, 15, 30], "max_features": ["sqrt", 0.5]}
    search = GridSearchCV(RandomSurvivalForest(n_estimators=100, random_state=0), grid, cv=3).fit(X, y)
    return RandomSurvivalForest(n_estimators=300, random_state=0, **search.best_params_).fit(X, y)


def one_split(name: str, split: int) -> dict:
    """Scores of all models on one split."""
    X, y = SETS[name]()
    times = as_times(y)
    # A time of 0 says nothing.
    rows = np.flatnonzero(times != 0.0)
    train, test = train_test_split(rows, test_size=0.25, random_state=split, stratify=times[rows] > 0.0)
    events = times[train][times[train] > 0.0]
    at = np.linspace(*np.quantile(events, (FIRST, LAST)), TIMES)
    at = at[(at > np.abs(times[test]).min()) & (at < np.abs(times[test]).max())]
    plain = encode_categorical(X).astype(float)
    known = structured(times[train])
    found: dict = {"set": name, "split": split}

    def note(model: str, risk: np.ndarray, curves: np.ndarray, seconds: float) -> None:
        found[model] = {
            "uno": uno(times[train], times[test], risk, at[-1]),
            "brier": integrated_brier(times[train], times[test], curves, at),
            "seconds": seconds,
        }

    for model, make in (("cox", cox), ("forest", forest)):
        begin = time.process_time()
        fitted = make(plain.iloc[train], known)
        curves = np.array([curve(at) for curve in fitted.predict_survival_function(plain.iloc[test])])
        note(model, fitted.predict(plain.iloc[test]), curves, time.process_time() - begin)
    elpd = {}
    for law in LAWS:
        begin = time.process_time()
        post = raytpnn.sample(X.iloc[train], times[train], family=law, seed=split, **LENGTH)
        elpd[law] = post.loo().elpd
        curves = post.survival_curves(X.iloc[test], at)
        note(law, post.risk(X.iloc[test]), curves, time.process_time() - begin)
        found[law]["rhat"] = float(post.verdict().rhat)
    found["chosen"] = found[max(elpd, key=elpd.__getitem__)]
    return found


def table(results: list[dict]) -> pd.DataFrame:
    """Means over splits; the standard error is of the paired difference from the best model of that score."""
    records = []
    for name in dict.fromkeys(result["set"] for result in results):
        mine = [result for result in results if result["set"] == name]
        models = [key for key in mine[0] if key not in ("set", "split")]
        for score, sign in (("uno", 1.0), ("brier", -1.0)):
            values = {model: np.array([result[model][score] for result in mine]) for model in models}
            peers = max(("cox", "forest"), key=lambda model: sign * values[model].mean())
            for model in models:
                behind = sign * (values[peers] - values[model])
                error = behind.std(ddof=1) / np.sqrt(len(behind)) if len(behind) > 1 else np.nan
                records.append((name, score, model, values[model].mean(), behind.mean(), error, len(mine)))
    names = ["set", "score", "model", "mean", "behind the best peer", "standard error", "splits"]
    return pd.DataFrame(records, columns=names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--table", action="store_true", help="only show what is there")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = (
        [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    )
    done = {(result["set"], result["split"]) for result in results}
    for split in range(0 if options.table else options.splits):
        for name in options.sets:
            if (name, split) in done:
                continue
            results.append(one_split(name, split))
            with options.out.open("a") as file:
                file.write(json.dumps(results[-1]) + "\n")
            print(json.dumps(results[-1]), flush=True)
    print(table(results).round(4).to_string(index=False))


if __name__ == "__main__":
    main()
