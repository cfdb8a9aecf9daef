"""Sharded chains: exact, stoppable, refused where they cannot be; each with what must be seen to fail."""

from __future__ import annotations

import threading
import time

import numpy as np
import pandas as pd
import pytest
from support.chain_cases import make_case
from support.shard_cases import sharded, spread_out
from support.stripe_cases import response
from support.twins import LIMIT, SWEEPS

import raytpnn
from raytpnn.chains.plan import Length, make_plan
from raytpnn.data.rows.rows_io import TrainingRows
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.sharded_chain import ShardedChain, ShardError, check_shards, shard_of
from raytpnn.families import get_family
from raytpnn.model.prior import Prior
from raytpnn.numerics.lanes import STRIPES

SIZE = {"chains": 1, "warmup": 20, "draws": 20, "executor": "threads"}


def largest_z(repetitions, spoil=None, shards=2, family="bernoulli", seed=5):
    """Largest |z| of what a posterior-invariant sampler leaves as it was, see `test_invariance.py`."""
    case = make_case(family, n=16, p=4, moves=Moves(adapt=False, step_size=0.9), seed=seed)
    case.rng = np.random.default_rng(seed)
    spread_out(case)
    chain = sharded(case, shards)
    if spoil is not None:
        spoil(chain)
    differences = []
    for repetition in range(repetitions):
        case.load(case.prior_draw(), repetition)
        case.simulate_response()
        case.compute_fit()
        before = case.statistics()
        chain.restore(case.chain.checkpoint())
        chain.run(0, SWEEPS, SWEEPS, 1)
        case.chain.restore(chain.checkpoint())
        loglik = chain.state.scalar.copy()
        case.compute_fit()
        case.chain.state.scalar[:] = loglik
        differences.append(case.statistics() - before)
    change = np.array(differences)
    spread = change.std(axis=0)
    moved = spread > 1e-9
    assert moved.sum() > 10
    return float(np.abs(change.mean(axis=0)[moved] / (spread[moved] / np.sqrt(repetitions))).max())


@pytest.mark.slow
def test_a_sharded_chain_leaves_the_posterior_invariant():
    assert largest_z(1000) < LIMIT


@pytest.mark.slow
def test_a_shard_whose_sums_are_dropped_is_seen():
    """The broken twin: what the second shard's rows say is lost on the way."""

    def drop(chain):
        chain.parts[1].problem.record.stripe[:] = 0

    assert largest_z(1000, drop) > LIMIT


def test_shards_in_another_order_come_to_other_bits():
    """The broken twin of bit identity: stripe sums added in another order."""
    # Halves of the same size: what one has room for the other has, too.
    n = 131_072
    prior = Prior(K_max=6, max_order=3, gamma_adding=0.1, C0=0.0)
    case = make_case("bernoulli", n=n, p=5, prior=prior, seed=2, y=response("bernoulli", n, 5, 2))
    case.chain.watched = np.zeros(0, np.int64)
    right, wrong = sharded(case, 2), sharded(case, 2)
    for part in wrong.parts:
        own = shard_of(case.problem, 2, 1 - part.place.shard)
        part.problem = own
        share = STRIPES // 2
        stripe = own.record.stripe.copy()
        # Rows of the first half where those of the second belong, and the other way round.
        moved = np.concatenate([stripe[share:], stripe[-1:].repeat(share)])
        if part.place.shard == 1:
            moved = np.concatenate([np.zeros(share, np.int64), stripe[: share + 1]])
        own.record.stripe[:] = moved
    case.chain.run(0, 4, 4, 1)
    for chain in (right, wrong):
        chain.run(0, 4, 4, 1)
    assert right.checkpoint() == case.chain.checkpoint()
    assert wrong.checkpoint() != case.chain.checkpoint()


def test_shards_that_disagree_are_an_error():
    case = make_case("gaussian", n=5000, seed=1)
    case.chain.watched = np.zeros(0, np.int64)
    chain = sharded(case, 2)
    chain.parts[1].state.scalar[0] += 1e-12
    chain.parts[1].state.stream[1] += 1
    with pytest.raises(ShardError, match="different states"):
        chain.run(0, 3, 3, 1)


@pytest.mark.parametrize("shards", [2, 4])
def test_a_stop_ends_all_shards(shards):
    case = make_case("bernoulli", n=20_000, y=response("bernoulli", 20_000, 4, 0))
    case.chain.watched = np.zeros(0, np.int64)
    chain = sharded(case, shards)
    chain.run(0, 1, 1, 1)
    done = []
    thread = threading.Thread(target=lambda: done.append(chain.run(1, 10**6, 10**6, 1)))
    thread.start()
    while chain.progress[0] < 5:
        time.sleep(0.01)
    chain.request_stop()
    thread.join(30)
    assert not thread.is_alive()
    assert 0 < done[0].sweeps < 10**6
    assert chain.run(0, 10, 10, 1).sweeps == 0, "a chain that was stopped stays so"


def test_a_shard_that_fails_ends_the_others():
    case = make_case("gaussian", n=9000)
    case.chain.watched = np.zeros(0, np.int64)
    chain = sharded(case, 2)

    def fail(*_):
        raise MemoryError("no more")

    chain.parts[1]._run_block = fail
    with pytest.raises(MemoryError, match="no more"):
        chain.run(0, 10**6, 10**6, 1)


@pytest.mark.parametrize("shards", [0, 3, 5, 32, True, 2.5, "2"])
def test_a_number_of_shards_that_cannot_be_is_named(shards):
    with pytest.raises(ValueError, match=r"shards must be one of 1, 2, 4, 8, 16.*got"):
        check_shards(shards)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tempering": raytpnn.Tempering(replicas=2)}, "shards=2 is for single chains"),
        ({"backend": "reference"}, "shards=2 needs backend='numba' or 'cuda', got 'reference'"),
        ({"minibatch": 600}, "shards=2 takes subsets of at least 512 rows a shard"),
    ],
)
def test_what_shards_do_not_go_with_is_refused(options, message):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(10_000, 2)), columns=["a", "b"])
    with pytest.raises(ValueError, match=message):
        raytpnn.sample(X, X["a"] + rng.normal(size=10_000), shards=2, **SIZE, **options)


def test_sample_gives_the_same_posterior_for_any_number_of_shards():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(9_000, 3)), columns=list("abc"))
    y = np.sin(X["a"]) + X["b"] * X["c"] + rng.normal(size=9_000)
    weight = rng.uniform(0.5, 1.5, 9_000)
    options = {"offset": rng.normal(size=9_000), "sample_weight": weight, "seed": 3} | SIZE
    alone, *others = (raytpnn.sample(X, y, shards=shards, **options) for shards in (1, 2, 4))
    for post in others:
        pd.testing.assert_frame_equal(post.scalars(), alone.scalars(), check_exact=True)
        pd.testing.assert_frame_equal(post.terms(), alone.terms(), check_exact=True)
    assert others[0].config["shards"] == 2


def test_shards_of_a_process_copy_no_rows():
    from support.chain_cases import random_bins

    bins = random_bins(70_000, 6)
    rows = TrainingRows(bins, np.zeros(70_000), np.ones(70_000), np.zeros(70_000), np.full(6, 1 / 6))
    family = get_family("gaussian")
    plan = make_plan(rows, family, Prior(), Moves(), 0, Length(1, 1, 1), "numba", shards=4)
    chain = plan.new_chain()
    assert isinstance(chain, ShardedChain)
    sizes = []
    for part in chain.parts:
        assert np.shares_memory(part.problem.codes, bins.codes)
        assert np.shares_memory(part.problem.y, plan.problem.y)
        sizes.append(part._arrays[0].shape[1])
    assert sum(sizes) == 70_000
    assert max(sizes) - min(sizes) <= 2 * 4096
