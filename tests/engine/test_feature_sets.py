"""Features drawn off a set when one feature has almost all of the weight."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from support.chain_cases import make_case
from support.cuda_host.build import COMPILER
from support.execution_cases import differing
from support.kernel_cases import KernelChains, Launch
from support.kernel_cases import differing as differing_records
from support.prior_recovery_cases import run_without_data

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.reference.execution import reference_of
from raytpnn.engine.rows.feature_sets import draw_off_set, weight_off_set
from raytpnn.model.prior import Prior

# Next to the first, the others vanish in a sum: 1 + 1e-17 is 1.
EXTREME = np.array([1.0, 1e-17, 2e-17, 1e-17])


@njit
def compiled_weight(problem, features, d):
    return weight_off_set(problem, features, d)


@njit
def compiled_draw(problem, work, features, d, u):
    return draw_off_set(problem, work, features, d, u)


FUNCTIONS = {
    "numba": (compiled_weight, compiled_draw),
    "reference": (reference_of(weight_off_set), reference_of(draw_off_set)),
}


@pytest.mark.parametrize("execution", FUNCTIONS)
@pytest.mark.parametrize(
    ("members", "left"), [([0], 4e-17), ([0, 2], 2e-17), ([3, 0, 1], 2e-17), ([1], 1.0), ([], 1.0)]
)
def test_what_a_set_leaves_is_not_lost_in_rounding(execution, members, left):
    case = make_case(p=4, feature_weight=EXTREME)
    weight, draw = FUNCTIONS[execution]
    features = np.array([*members, 0, 0, 0, 0], np.int32)
    d = len(members)
    assert np.isclose(weight(case.problem.record, features, d), left, rtol=1e-12, atol=0.0)
    uniforms = (np.arange(4000) + 0.5) / 4000
    drawn = [draw(case.problem.record, case.chain.work, features, d, float(u)) for u in uniforms]
    off = np.setdiff1d(np.arange(4), members)
    share = np.bincount(drawn, minlength=4) / 4000
    assert np.allclose(share[off], EXTREME[off] / EXTREME[off].sum(), atol=1e-3)
    assert np.all(share[members] == 0.0)


def test_extreme_feature_weights_leave_the_prior_as_it_is():
    """Without data: 45 z-tests at |z| < 4.5."""
    # Few births and deaths: they draw sets from the prior, and hide what Adding and Deleting do.
    moves = Moves(birth_death_attempts=1)
    found = run_without_data("gaussian", moves, feature_weight=EXTREME / EXTREME.sum())
    worst = max(found, key=lambda name: abs(found[name]))
    assert abs(found[worst]) < 4.5, worst


def extreme_case(backend="numba"):
    prior = Prior(K_max=12, max_order=4, gamma_adding=0.3, sharing=0.3)
    return make_case(n=30, p=4, prior=prior, backend=backend, feature_weight=EXTREME)


def test_the_reference_takes_the_same_decisions():
    chains = [extreme_case(backend).chain for backend in ("numba", "reference")]
    for chain in chains:
        chain.run(0, 60, 20, 1)
    assert differing(*chains) == []
    assert chains[0].acceptance()["adding"][1] > 0


@pytest.mark.skipif(COMPILER is None, reason="the CPU host of the kernels needs g++")
def test_the_kernels_take_the_same_decisions():
    chain = extreme_case().chain
    kernels = KernelChains(chain, Launch(64, "random"))
    chain.run(0, 60, 20, 1)
    kernels.run(0, 60, 20, 1)
    assert differing_records(np.asarray(chain.state), kernels.states[0]) == []
    assert chain.acceptance()["adding"][1] > 0
