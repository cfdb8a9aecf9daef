"""Two features that are almost the same: a chain with one term must find its way between them."""

from __future__ import annotations

import numpy as np

import raytpnn
from raytpnn import Moves, Prior


def switches(q_keep: float, seed: int) -> int:
    """How often the only term changes its feature in 2,000 sweeps."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    X = rng.normal(size=(300, 4))
    X[:, 0] = x
    X[:, 1] = x + 0.02 * rng.normal(size=300)
    y = (x > 0.3) + 0.3 * rng.normal(size=300)
    prior = Prior(K_max=1, max_order=1)
    post = raytpnn.sample(
        X, y, chains=1, warmup=500, draws=2000, seed=seed, prior=prior, moves=Moves(q_keep=q_keep)
    )
    feature = np.array([names[0] for names in post.terms()["features"]])
    return int(np.sum(feature[1:] != feature[:-1]))


def test_keeping_location_and_scale_leads_from_one_twin_to_the_other():
    kept = sum(switches(0.5, seed) for seed in range(3))
    redrawn = sum(switches(0.0, seed) for seed in range(3))
    assert kept > 100
    assert kept > 20 * max(redrawn, 1)
