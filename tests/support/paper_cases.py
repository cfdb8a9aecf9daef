"""The paper's tables from `examples`, and a folder of small data sets for them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
# Behind everything else: the package itself is the installed one.
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))


def small_servo(folder, n=60):
    """Data that look like servo's, in its file."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"motor": rng.choice(list("ABC"), n), "screw": rng.choice(list("AB"), n)})
    X["pgain"] = rng.integers(3, 7, n)
    X["vgain"] = rng.integers(1, 6, n)
    X["class"] = np.where(X["pgain"] == 3, 4.0, 1.0) + (X["motor"] == "A") + 0.2 * rng.normal(size=n)
    X.to_csv(folder / "servo.csv", index=False)


def small_breast(folder, n=80):
    """Two classes by two of four numbers."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    X["diagnosis"] = np.where(X["a"] + X["b"] + 0.5 * rng.normal(size=n) > 0, "malignant", "benign")
    X.to_csv(folder / "breast_cancer_wdbc.csv", index=False)


def small_madelon(folder, n=600, p=8):
    """Numbers with a column that is no feature."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.integers(400, 600, size=(n, p)), columns=[f"V{j}" for j in range(p)])
    X["split"] = "train"
    X["target"] = np.where(rng.random(n) < 0.5, 1, -1)
    X.to_parquet(folder / "madelon.parquet")
