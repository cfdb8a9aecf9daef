"""Small runs on disk, and what is the same about two of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd

import raytpnn

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

# Ten rounds, the last one short; five of them keep draws.
SIZE = {"chains": 4, "warmup": 500, "draws": 470}
# Long enough for something to happen half-way.
SHORT = {"chains": 2, "warmup": 100, "draws": 300}
LONG = {"n": 2000, "chains": 4, "warmup": 100, "draws": 400}


def small_data(n=80):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(["u", "v", "w"], n)})
    y = 2.0 * np.sin(2.0 * X["a"]) + (X["c"] == "v") * X["b"] + 0.5 * rng.normal(size=n)
    return X, y


def fit(out, n=80, **options):
    X, y = small_data(n)
    return raytpnn.sample(X, y, out=out, **{"executor": "threads", "seed": 5, **SIZE, **options})


def files_of(run, under="draws"):
    """Content of a run's files, by name."""
    folder = Path(run)
    paths = sorted(path for path in (folder / under).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def assert_same_draws(left, right):
    """Two runs have the same files of draws, byte for byte."""
    left, right = files_of(left), files_of(right)
    assert list(left) == list(right)
    assert [name for name in left if left[name] != right[name]] == []


def manifest_of(run):
    """Manifest without its checksum, as older versions wrote it: it can be changed and written back."""
    manifest = json.loads((Path(run) / "manifest.json").read_text())
    manifest.pop("checksum", None)
    return manifest
