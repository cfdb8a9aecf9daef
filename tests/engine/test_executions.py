"""The compiled sampler and its reference take the same decisions; blocks and threads change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import make_case, run_plan
from support.execution_cases import differing

from raytpnn.chains.plan import Length, Plan
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.problem import Scaling
from raytpnn.families import FAMILIES
from raytpnn.model.prior import Prior


def run(backend, sweeps, moves, **case):
    made = make_case(backend=backend, moves=moves, prior=Prior(K_max=12, max_order=4), n=30, **case)
    block = made.chain.run(0, sweeps, sweeps // 2, 1)
    return made.chain, block


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("moves", "sweeps"),
    [(Moves(), 120), (Moves.paper(), 250)],
    ids=["default", "paper"],
)
def test_numba_equals_reference_decision_by_decision(family, moves, sweeps):
    compiled, draws = run("numba", sweeps, moves, family=family, p=6, missing=0.1)
    reference, expected = run("reference", sweeps, moves, family=family, p=6, missing=0.1)
    assert differing(compiled, reference) == []
    for name in draws.record._fields:
        assert np.array_equal(getattr(draws.record, name), getattr(expected.record, name)), name
    moves_made = sum(proposed for proposed, _ in compiled.acceptance().values())
    assert moves_made > (1500 if moves == Moves() else 300)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_births_by_weight_and_from_a_table_are_alike(family):
    moves = Moves(birth_death_attempts=20)
    compiled, _ = run("numba", 60, moves, family=family, p=6, missing=0.1, discovering=True)
    reference, _ = run("reference", 60, moves, family=family, p=6, missing=0.1, discovering=True)
    plain, _ = run("numba", 60, moves, family=family, p=6, missing=0.1)
    assert differing(compiled, reference) == []
    assert "features" in differing(compiled, plain)


def test_sixteen_bit_codes_give_the_same_draws():
    narrow, _ = run("numba", 100, Moves(), p=6, missing=0.1)
    wide, _ = run("numba", 100, Moves(), p=6, missing=0.1, dtype=np.uint16)
    reference, _ = run("reference", 100, Moves(), p=6, missing=0.1, dtype=np.uint16)
    assert differing(narrow, wide) == []
    assert differing(wide, reference) == []


def test_more_than_one_row_block_is_alike_too():
    rng = np.random.default_rng(0)
    y = np.sin(np.arange(5000)) + rng.normal(size=5000)
    args = {"n": 5000, "p": 3, "prior": Prior(K_max=6), "y": y}
    compiled = make_case(backend="numba", **args).chain
    reference = make_case(backend="reference", **args).chain
    for chain in (compiled, reference):
        chain.run(0, 30, 6, 1)
    assert differing(compiled, reference) == []
    assert compiled.acceptance()["factor"][0] > 0


@pytest.mark.parametrize("backend", ["numba", "reference"])
def test_a_block_depends_on_its_checkpoint_alone(backend):
    sweeps = 20 if backend == "numba" else 5
    whole = make_case(backend=backend, n=30, prior=Prior(K_max=12)).chain
    for first in range(0, 5 * sweeps, sweeps):
        whole.run(first, sweeps, 2 * sweeps, 1)
    early = make_case(backend=backend, n=30, prior=Prior(K_max=12)).chain
    for first in (0, sweeps):
        early.run(first, sweeps, 2 * sweeps, 1)
    late = make_case(backend=backend, n=30, prior=Prior(K_max=12)).chain
    late.restore(early.checkpoint())
    for first in range(2 * sweeps, 5 * sweeps, sweeps):
        late.run(first, sweeps, 2 * sweeps, 1)
    assert differing(late, whole) == []


def test_a_block_run_twice_gives_the_same_draws():
    chain = make_case(n=30, prior=Prior(K_max=12)).chain
    chain.run(0, 50, 50, 1)
    saved = chain.checkpoint()
    once = chain.run(50, 50, 50, 1)
    chain.restore(saved)
    again = chain.run(50, 50, 50, 1)
    assert np.array_equal(once.record.beta, again.record.beta)
    assert np.array_equal(once.record.features, again.record.features)


def test_threads_do_not_change_the_draws():
    case = make_case(n=40, p=5, prior=Prior(K_max=20))
    length = Length(chains=4, warmup=60, draws=60, thin=2)
    plan = Plan(
        case.problem,
        case.settings,
        Scaling(),
        case.family,
        case.prior,
        case.moves,
        1.0,
        0.0,
        7,
        length,
        "numba",
    )
    one, four = (run_plan(plan, workers) for workers in (1, 4))
    assert [int(part.chain[0]) for part in one] == [int(part.chain[0]) for part in four]
    for left, right in zip(one, four, strict=True):
        assert np.array_equal(left.beta, right.beta)
        assert np.array_equal(left.feature, right.feature)
        assert np.array_equal(left.loglik, right.loglik)
    assert len(np.unique(np.concatenate([part.loglik for part in one]))) == 4 * 60


def test_chains_differ_from_each_other_and_seeds_too():
    states = []
    for seed, chain in ((0, 0), (0, 1), (1, 0)):
        case = make_case(n=30, prior=Prior(K_max=12))
        case.chain.state.stream[:] = [seed, 0, chain, 0]
        case.chain.run(0, 30, 30, 1)
        states.append(case.chain.state.scalar.copy())
    assert not np.array_equal(states[0], states[1])
    assert not np.array_equal(states[0], states[2])
