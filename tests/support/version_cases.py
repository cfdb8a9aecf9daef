"""Unfinished runs that are kept for later versions: what they are of, and how their draws are recognised."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd

import raytpnn
from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.records import STATE, STORED_SETTINGS

# Two chains of five blocks, the last three with draws.
SIZE = {"chains": 2, "warmup": 200, "draws": 100, "thin": 3, "seed": 11}
CASES = {
    "gaussian": {"family": "gaussian", **SIZE},
    "bernoulli": {"family": "bernoulli", **SIZE, "feature_weights": "adaptive"},
    "tempered": {"family": "gaussian", **SIZE, "tempering": raytpnn.Tempering(replicas=3)},
}
# Blocks that are still to come: one chain broke off in warm-up, the other among its draws.
NEW_BLOCKS = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 3), (1, 4)]


def data_of(family: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A small table with numbers, text and missing cells, and a response."""
    rng = np.random.default_rng(17)
    n = 60
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(["u", "v", "w"], n)})
    f = np.sin(2.0 * X["a"]) + (X["c"] == "v") * X["b"]
    X.loc[::9, "b"] = np.nan
    noise = rng.normal(size=n)
    y = np.nan_to_num(f.to_numpy()) + 0.3 * noise
    return X, np.where(y > 0.2, "yes", "no") if family == "bernoulli" else y


def told_of(post: raytpnn.Posterior) -> dict[str, list]:
    """Numbers by which draws are recognised."""
    draws = post.draws
    return {
        "chain": draws.chain.tolist(),
        "K": draws.K.tolist(),
        "loglik": draws.loglik.tolist(),
        "intercept": draws.intercept.tolist(),
        "feature": draws.feature.tolist(),
    }


def layout_digest() -> str:
    """Of the records of which an unfinished run keeps the bytes."""
    described = repr((STATE.descr, STORED_SETTINGS.descr, LADDER.descr))
    return hashlib.sha256(described.encode()).hexdigest()[:16]
