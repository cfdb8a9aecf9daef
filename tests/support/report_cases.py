"""Small real fits that plots and pages are tested on, each made once."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

import raytpnn

LONG = "ENSG00000139618.15_a_probe_with_a_very_long_name_at"
EVIL = '<script>alert("x")</script> & $\\frac{1}{2}$'


@cache
def mixed():
    """Numbers, counts, two values, text, missing cells, a long name and a malicious one."""
    rng = np.random.default_rng(5)
    n = 250
    X = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n),
            "income": rng.lognormal(10.0, 1.5, n),
            "rooms": rng.integers(1, 6, n).astype(float),
            "owner": rng.integers(0, 2, n).astype(float),
            "city": rng.choice(["Bonn", "Ulm", "Kiel & <Co>"], n),
            LONG: rng.normal(size=n),
            EVIL: rng.normal(size=n),
        }
    )
    age = (X["age"] - 40) / 10
    f = (
        age
        + 1.5 * (X["city"] == "Ulm")
        + X[EVIL]
        + age * X["owner"] * (X["rooms"] - 3)
        + np.log(X["income"]) / 4
    )
    y = (f + rng.normal(scale=0.3, size=n)).to_numpy()
    X = X.mask(rng.random(X.shape) < 0.03)
    return raytpnn.sample(X, y, chains=2, warmup=150, draws=100, seed=1), X, y


@cache
def classes():
    """Two classes with labels, of scikit-learn's breast cancer data."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    X = data.data.iloc[:, :6]
    y = np.array(["malignant", "benign"])[data.target]
    return raytpnn.sample(X, y, family="bernoulli", chains=2, warmup=100, draws=60, seed=2), X, y


@cache
def counts():
    """Counts of one feature, with an offset."""
    rng = np.random.default_rng(6)
    X = rng.uniform(size=(200, 1))
    offset = rng.normal(scale=0.5, size=200)
    y = rng.poisson(np.exp(1.0 + np.sin(6 * X[:, 0]) + offset))
    return raytpnn.sample(X, y, family="poisson", chains=2, warmup=100, draws=60, seed=3, offset=offset), X, y


@cache
def nothing():
    """Noise under a prior that makes terms too dear: no draw has any."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 3))
    y = rng.normal(size=80)
    prior = raytpnn.Prior(C0=10.0)
    return raytpnn.sample(X, y, chains=2, warmup=30, draws=60, seed=4, prior=prior), X, y


CASES = {"mixed": mixed, "classes": classes, "counts": counts, "nothing": nothing}
