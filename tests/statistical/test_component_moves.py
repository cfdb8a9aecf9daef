"""Changes of whole components: all terms of one set at once, alike in every execution."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import NO_MOVES, make_case
from support.cuda_host.build import COMPILER
from support.grid_cases import run_on, weighed
from support.kernel_cases import KernelChains, Launch, differing, differing_draws
from support.shard_cases import sharded, spread_out

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import COMPONENT, DELAYED, EXACT_ONLY
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

PRIOR = Prior(K_max=12, max_order=4, gamma_adding=0.3, sharing=0.5)
# Many attempts: some are to be accepted in few sweeps.
MOVES = Moves(component_changes=25)
ALONE = Moves(**{**NO_MOVES, "component_changes": 3})
FAMILIES = ["gaussian", "bernoulli", "poisson"]
SUBSETS = {"all rows": None, "minibatch": SubsetUse(90, EXACT_ONLY), "screened": SubsetUse(90, DELAYED)}

needs_host = pytest.mark.skipif(COMPILER is None, reason="the CPU host of the kernels needs g++")


def case_of(family="gaussian", **more):
    return make_case(
        family, **{"n": 300, "p": 6, "missing": 0.1, "prior": PRIOR, "moves": MOVES, "seed": 4, **more}
    )


def accepted(case):
    """Components that were changed; some must have been, or nothing was tested."""
    proposed, changed = case.chain.state.tally[COMPONENT]
    assert 0 < changed < proposed
    return int(changed)


def set_terms(case, terms):
    """Put terms of given features into a chain, with numbers of their own; returns them."""
    rng = np.random.default_rng(2)
    state = case.chain.state
    state.K = len(terms)
    for k, features in enumerate(terms):
        d = state.order[k] = len(features)
        state.features[k, :d] = features
        state.b[k, :d], state.gamma[k, :d] = rng.uniform(0.2, 0.8, d), rng.uniform(0.2, 0.5, d)
        state.beta[k] = rng.normal()
    return state


@pytest.mark.parametrize("way", SUBSETS)
@pytest.mark.parametrize("family", FAMILIES)
def test_numba_equals_reference(family, way):
    # Enough rows of the subset for the chain to move, few enough for the reference to end soon.
    cases = [case_of(family, backend=b, subsets=SUBSETS[way]) for b in ("numba", "reference")]
    left, right = (case.chain.run(0, 12, 4, 1).record for case in cases)
    assert differing(*(np.asarray(case.chain.state) for case in cases)) == []
    assert differing_draws(left, right) == []
    assert accepted(cases[0])


@needs_host
@pytest.mark.parametrize("way", SUBSETS)
@pytest.mark.parametrize(
    ("family", "launch"),
    [
        ("gaussian", Launch(64, "ascending")),
        ("bernoulli", Launch(256, "random")),
        ("poisson", Launch(32, "descending")),
    ],
)
def test_kernels_have_the_same_bits(family, launch, way):
    case = case_of(family, subsets=SUBSETS[way], random_weights=True)
    kernels = KernelChains(case.chain, launch)
    expected = case.chain.run(0, 40, 20, 1).record
    (record,) = kernels.run(0, 40, 20, 1)
    assert differing(np.asarray(case.chain.state), kernels.states[0]) == []
    assert differing_draws(expected, record) == []
    assert accepted(case)


@needs_host
@pytest.mark.parametrize(("family", "count"), [("gaussian", 1), ("bernoulli", 2)])
def test_a_chain_on_devices_has_the_same_bits(family, count):
    case = weighed(case_of(family))
    assert run_on(case, count, (10, 8), "late copies") == []
    assert accepted(case)


@pytest.mark.parametrize("shards", [2, 4])
def test_shards_have_the_same_bits(shards):
    case = case_of("bernoulli")
    spread_out(case)
    chain = sharded(case, shards)
    expected, got = case.chain.run(0, 30, 10, 1), chain.run(0, 30, 10, 1)
    assert differing(np.asarray(case.chain.state), np.asarray(chain.state)) == []
    assert differing_draws(expected.record, got.record) == []
    assert accepted(case)


def test_all_terms_of_a_component_change_whatever_the_order_of_their_features():
    case = make_case("gaussian", n=40, p=7, prior=PRIOR, moves=ALONE, weight=0.0)
    state = set_terms(case, [(0, 1, 2), (5,), (2, 0, 1), (1, 2, 0), (5,)])
    before = {name: state[name].copy() for name in ("K", "order", "beta", "b", "gamma")}
    places = [0, 2, 3]
    # Where a term holds what the first holds at its first, second and third place.
    same_place = {0: (0, 1, 2), 2: (1, 2, 0), 3: (2, 0, 1)}
    seen = set()
    for sweep in range(60):
        case.chain.run(sweep, 1, 0, 1)
        names = [tuple(int(state.features[k, same_place[k][i]]) for i in range(3)) for k in places]
        assert len(set(names)) == 1, "a term was left behind, or has its features in other places"
        assert state.features[1, 0] == state.features[4, 0]
        assert len(set(names[0])) == 3
        seen.add(frozenset(names[0]))
        for name, values in before.items():
            assert np.array_equal(state[name], values), name
    assert len(seen) > 10
    fit = case.fit.copy()
    np.testing.assert_allclose(case.compute_fit(), fit, rtol=0, atol=1e-12)


def test_two_components_never_become_one():
    """With two features and a term on each, every other set is taken or none is left."""
    case = make_case("gaussian", n=40, p=2, prior=PRIOR.resolved(40, 2, "gaussian"), moves=ALONE, weight=0.0)
    state = set_terms(case, [(0,), (1,), (0, 1), (0,)])
    before = state.features[:4].copy()
    case.chain.run(0, 200, 0, 1)
    assert np.array_equal(state.features[:4], before)
    assert state.tally[COMPONENT].tolist() == [600, 0]


def test_a_chain_without_terms_goes_on():
    case = make_case("gaussian", n=40, p=3, prior=PRIOR, moves=ALONE)
    case.chain.run(0, 10, 0, 1)
    assert case.chain.state.tally[COMPONENT].tolist() == [30, 0]


def test_terms_that_share_nothing_are_left_alone():
    """The setting changes no draw then."""
    prior = Prior(K_max=12, max_order=4)
    ends = []
    for changes in (0, 4):
        case = case_of(prior=prior, moves=Moves(component_changes=changes))
        case.chain.run(0, 30, 0, 1)
        ends.append(case.chain.checkpoint())
    assert ends[0] == ends[1]
    assert case.chain.state.tally[COMPONENT].tolist() == [0, 0]


@pytest.mark.parametrize("value", [-1, 1.5, True])
def test_a_number_of_attempts_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="component_changes must be a whole number from 0 on"):
        Moves(component_changes=value)
