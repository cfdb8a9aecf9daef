"""Accuracy on real data with default settings, five splits each: the figures users compare."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import raytpnn


def splits(n):
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(n)
        yield order[: int(0.8 * n)], order[int(0.8 * n) :]


def read(folder, name):
    if name.endswith(".parquet"):
        data = pd.read_parquet(folder / name).drop(columns="split")
        return data.drop(columns="target"), data["target"]
    data = pd.read_csv(folder / name)
    return data.iloc[:, :-1], data.iloc[:, -1]


@pytest.mark.slow
@pytest.mark.parametrize(
    # Boston and servo vary by about 0.1 and 0.03 between seeds, by a handful of test rows; the aims, 2.85
    # and 0.40, are met by some seeds only.
    ("name", "limit"),
    [("boston_housing.csv", 3.15), ("abalone.csv", 2.14), ("servo.csv", 0.46)],
)
def test_root_mean_square_error(real_data, name, limit):
    X, y = read(real_data, name)
    errors = []
    for train, test in splits(len(y)):
        post = raytpnn.sample(X.iloc[train], y.iloc[train], draws=1000)
        errors.append(np.sqrt(np.mean((post.predict(X.iloc[test]) - y.iloc[test]) ** 2)))
    print(f"{name}: RMSE {np.round(errors, 3)}, mean {np.mean(errors):.4f}")
    assert np.mean(errors) <= limit


@pytest.mark.slow
@pytest.mark.parametrize(("weights", "limit"), [("xgboost", 0.90), ("adaptive", 0.85)])
def test_madelon(real_data, weights, limit):
    from sklearn.metrics import roc_auc_score

    X, y = read(real_data, "madelon.parquet")
    scores = []
    for train, test in splits(len(y)):
        post = raytpnn.sample(
            X.iloc[train], y.iloc[train], family="bernoulli", draws=1000, feature_weights=weights
        )
        scores.append(roc_auc_score(y.iloc[test], post.predict(X.iloc[test])))
    print(f"madelon, {weights}: AUROC {np.round(scores, 3)}, mean {np.mean(scores):.4f}")
    assert np.mean(scores) >= limit


@pytest.mark.slow
def test_breast_cancer(real_data):
    X, y = read(real_data, "breast_cancer_wdbc.csv")
    losses = []
    for train, test in splits(len(y)):
        post = raytpnn.sample(X.iloc[train], y.iloc[train], family="bernoulli", draws=1000)
        losses.append(-np.mean(post.log_density(X.iloc[test], y.iloc[test])))
    print(f"breast cancer: NLL {np.round(losses, 3)}, mean {np.mean(losses):.4f}")
    assert np.mean(losses) <= 0.12
