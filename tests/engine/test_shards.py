"""One chain on rows in shards: the same bits for any number of them."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import make_case
from support.shard_cases import sharded
from support.stripe_cases import response

from raytpnn.engine.records import DELAYED, DELAYED_IF_IT_PAYS
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

PRIOR = Prior(K_max=6, max_order=3, gamma_adding=0.1, C0=0.0)
FIELDS = ("K", "order", "features", "b", "gamma", "beta", "scalar", "fit", "size")


def same(a, b):
    """Whether two blocks kept the same, bit by bit."""
    return all(getattr(a.record, name).tobytes() == getattr(b.record, name).tobytes() for name in FIELDS)


CASES = {
    "gaussian": {"family": "gaussian", "n": 70_003},
    "bernoulli": {"family": "bernoulli", "n": 70_003},
    "poisson": {"family": "poisson", "n": 70_003},
    "missing values": {"family": "gaussian", "n": 40_000, "missing": 0.2},
    "weights": {"family": "bernoulli", "n": 20_001, "weight": 0.7},
    "words": {"family": "poisson", "n": 30_000, "dtype": np.uint16, "missing": 0.1},
    "one block": {"family": "gaussian", "n": 300},
    "three blocks": {"family": "bernoulli", "n": 9_000},
}


@pytest.mark.parametrize("name", CASES)
def test_draws_are_the_same_for_any_number_of_shards(name):
    options = CASES[name]
    family, n = options["family"], options["n"]
    case = make_case(prior=PRIOR, p=5, seed=2, y=response(family, n, 5, 2), **options)
    case.chain.watched = np.unique(np.linspace(0, n - 1, 64).round().astype(np.int64))
    chains = {shards: sharded(case, shards) for shards in (2, 4, 16 if n < 10_000 else 8)}
    sweeps = 6 if n > 10_000 else 30
    alone = case.chain.run(0, sweeps, 2, 1)
    assert alone.record.K.max() > 2
    for shards, chain in chains.items():
        block = chain.run(0, sweeps, 2, 1)
        assert (block.sweeps, block.draws) == (sweeps, alone.draws)
        assert same(block, alone), shards
        assert chain.checkpoint() == case.chain.checkpoint()


SUBSETS = {
    "minibatch": SubsetUse(2_100),
    "minibatch, delayed": SubsetUse(2_100, DELAYED),
    "delayed if it pays": SubsetUse(4_000, DELAYED_IF_IT_PAYS),
}


@pytest.mark.parametrize("name", SUBSETS)
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_each_shard_takes_its_rows_of_a_subset(name, family):
    n = 40_000
    y = response(family, n, 5, 2)
    case = make_case(family, n=n, p=5, prior=PRIOR, seed=2, y=y, subsets=SUBSETS[name])
    case.chain.watched = np.unique(np.linspace(0, n - 1, 64).round().astype(np.int64))
    chains = {shards: sharded(case, shards) for shards in (2, 4)}
    alone = case.chain.run(0, 24, 12, 1)
    assert alone.record.K.max() > 2
    for shards, chain in chains.items():
        block = chain.run(0, 24, 12, 1)
        assert same(block, alone), shards
        assert chain.checkpoint() == case.chain.checkpoint()
        assert len(chain.parts[0].problem.y) < n / shards + 4096
