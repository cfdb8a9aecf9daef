"""When delayed acceptance decides which moves are screened."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import make_case
from support.cuda_host.build import COMPILER
from support.kernel_cases import KernelChains, Launch

from raytpnn.engine.records import DELAYED, DELAYED_IF_IT_PAYS, SCREEN_NAMES
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

WARMUP = 60
# Proposed, past the screen, accepted, rows passed over.
PROPOSED, _, ACCEPTED, _ = range(4)


def busy_case(backend, way=DELAYED_IF_IT_PAYS):
    """A chain whose first third of warm-up accepted a lot: what a chain does on its way to the posterior."""
    prior = Prior(K_max=12, max_order=4)
    case = make_case(n=400, p=6, prior=prior, backend=backend, subsets=SubsetUse(40, way))
    case.chain.state.screen_tally[:, 0, PROPOSED : ACCEPTED + 1] = 10**9
    case.chain.state.jump[0] = 1e9
    return case


def run_compiled(case, sweeps):
    case.chain.run(0, sweeps, WARMUP, 1)
    return np.asarray(case.chain.state)


def run_kernels(case, sweeps):
    kernels = KernelChains(case.chain, Launch(64, "random"))
    kernels.run(0, sweeps, WARMUP, 1)
    return kernels.states[0]


host = pytest.mark.skipif(COMPILER is None, reason="the CPU host of the kernels needs g++")
EXECUTIONS = [
    pytest.param("numba", run_compiled, id="numba"),
    pytest.param("reference", run_compiled, id="reference"),
    pytest.param("numba", run_kernels, id="kernels", marks=host),
]


@pytest.mark.parametrize(("backend", "run"), EXECUTIONS)
def test_the_first_third_of_warm_up_does_not_count(backend, run):
    """Both ways are compared over the same sweeps, those of the second third."""
    state = run(busy_case(backend), 2 * WARMUP // 3)
    plain, screened = state["screen_tally"][:, 0], state["screen_tally"][:, 1]
    for group in range(len(SCREEN_NAMES)):
        assert 0 < plain[group, PROPOSED] < 10_000
        assert 0 < screened[group, PROPOSED] < 10_000
    assert 0.0 < state["jump"][0] < 1e6


@pytest.mark.parametrize(("backend", "run"), EXECUTIONS[:1])
def test_what_is_screened_does_not_depend_on_the_first_third(backend, run):
    decided = []
    for start in (0, 10**9):
        case = busy_case(backend)
        case.chain.state.screen_tally[:, 0, ACCEPTED] = start
        case.chain.state.jump[0] = start
        decided.append(run(case, 2 * WARMUP // 3 + 1)["screened"].tolist())
    assert decided[0] == decided[1]
    assert sum(decided[0]) > 0, "nothing is screened: this says nothing"


def test_counts_stay_where_screening_is_asked_for():
    state = run_compiled(busy_case("numba", DELAYED), WARMUP)
    assert state["screen_tally"][:, 0, PROPOSED].min() >= 10**9
