"""Chains on subsets of the rows: the compiled sampler and its reference take the same decisions."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import make_case
from support.execution_cases import differing

from raytpnn.engine import chain as chain_module
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import DELAYED, DELAYED_IF_IT_PAYS, EXACT_ONLY, SCREEN_WALK
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

WAYS = {"minibatch": EXACT_ONLY, "delayed": DELAYED, "delayed if it pays": DELAYED_IF_IT_PAYS}


def run(backend, way, rows=17, sweeps=60, moves=None, n=40, **case):
    made = make_case(
        backend=backend,
        moves=moves or Moves(),
        prior=Prior(K_max=12, max_order=4),
        n=n,
        subsets=SubsetUse(rows, WAYS[way]),
        **case,
    )
    block = made.chain.run(0, sweeps, sweeps // 2, 1)
    return made.chain, block


def assert_same(left, right):
    chain, block = left
    other, expected = right
    assert differing(chain, other) == []
    for name in block.record._fields:
        assert np.array_equal(getattr(block.record, name), getattr(expected.record, name)), name


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
@pytest.mark.parametrize("way", WAYS)
def test_numba_equals_reference(family, way):
    args = {"family": family, "p": 6, "missing": 0.1, "random_weights": True}
    compiled = run("numba", way, **args)
    assert_same(compiled, run("reference", way, **args))
    chain = compiled[0]
    assert sum(accepted for _, accepted in chain.acceptance().values()) > 100
    if way != "minibatch":
        assert chain.state.screen_tally[:, 1, 0].min() > 0, "a group was never screened"


@pytest.mark.parametrize("way", ["minibatch", "delayed"])
def test_sixteen_bit_codes_give_the_same_draws(way):
    narrow = run("numba", way, p=6, missing=0.1)
    wide = run("numba", way, p=6, missing=0.1, dtype=np.uint16)
    assert_same(narrow, wide)
    assert_same(wide, run("reference", way, p=6, missing=0.1, dtype=np.uint16))


@pytest.mark.parametrize("way", ["minibatch", "delayed"])
def test_several_strata_and_row_blocks_are_alike_too(way):
    rng = np.random.default_rng(0)
    y = np.sin(np.arange(9000)) + rng.normal(size=9000)
    args = {"n": 9000, "p": 3, "y": y, "rows": 5000, "sweeps": 8}
    assert_same(run("numba", way, **args), run("reference", way, **args))


@pytest.mark.parametrize("way", WAYS)
def test_a_block_depends_on_its_checkpoint_alone(way):
    def fresh():
        case = make_case(n=30, prior=Prior(K_max=12), subsets=SubsetUse(11, WAYS[way]))
        return case.chain

    whole, early, late = fresh(), fresh(), fresh()
    for first in range(0, 100, 20):
        whole.run(first, 20, 60, 1)
    for first in (0, 20):
        early.run(first, 20, 60, 1)
    # Another chain was here before.
    late.state.stream[2] = 5
    late.run(0, 20, 60, 1)
    late.restore(early.checkpoint())
    for first in range(40, 100, 20):
        late.run(first, 20, 60, 1)
    assert differing(late, whole) == []


@pytest.mark.parametrize("way", WAYS)
def test_codes_of_an_earlier_subset_are_never_used(way):
    def fresh():
        moves = Moves(birth_death_attempts=2, restructure=False)
        case = make_case(n=300, p=6, prior=Prior(K_max=12), moves=moves, subsets=SubsetUse(90, WAYS[way]))
        return case.chain

    expected, chain = fresh(), fresh()
    codes = next(array for array in chain._arrays if getattr(array, "shape", None) == (6, 90))
    for index in range(60):
        codes[:] = 1
        expected.run(index, 1, 30, 1)
        chain.run(index, 1, 30, 1)
    assert chain.state.screen_tally[SCREEN_WALK, 1, 0] > 0 or way == "minibatch"
    assert differing(chain, expected) == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("slots", [1, 2, 5])
def test_draws_do_not_depend_on_how_many_features_are_gathered_at_a_time(way, slots, monkeypatch):
    args = {"p": 6, "missing": 0.1, "sweeps": 30}
    expected = run("numba", way, **args)
    monkeypatch.setattr(chain_module, "MOST_GATHERED", slots)
    assert_same(run("numba", way, **args), expected)


def test_moves_differ_with_the_way():
    states = [run("numba", way)[0].checkpoint() for way in WAYS]
    assert len(set(states)) == 3
