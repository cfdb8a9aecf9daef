"""Screened chains of the CUDA source, run on the CPU host, give the bits of the compiled sampler."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import make_case
from support.cuda_host.build import COMPILER
from support.kernel_cases import KernelChains, Launch, differing, differing_draws

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import DELAYED, DELAYED_IF_IT_PAYS
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

pytestmark = pytest.mark.skipif(COMPILER is None, reason="the CPU host of the kernels needs g++")

WAYS = {"always": DELAYED, "if it pays": DELAYED_IF_IT_PAYS}


def assert_same_bits(launch, sweeps, **case):
    """Run the same chain compiled and by the kernels; returns its state."""
    made = make_case(prior=Prior(K_max=12, max_order=4), random_weights=True, **case)
    kernels = KernelChains(made.chain, launch)
    expected = made.chain.run(0, sweeps, sweeps // 2, 1)
    (record,) = kernels.run(0, sweeps, sweeps // 2, 1)
    state = np.asarray(made.chain.state)
    assert differing(state, kernels.states[0]) == []
    assert differing_draws(expected.record, record) == []
    return state


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("threads", "order"), [(32, "descending"), (256, "random")])
def test_screened_chain_has_the_same_bits(family, way, threads, order):
    case = {"family": family, "n": 300, "p": 6, "missing": 0.1, "subsets": SubsetUse(90, WAYS[way])}
    state = assert_same_bits(Launch(threads=threads, order=order), 60, **case)
    proposed, passed, accepted, _ = state["screen_tally"].sum(axis=1).T
    assert proposed.min() > 0
    assert accepted.min() > 0
    assert passed[0] < proposed[0], "nothing was screened out"


@pytest.mark.parametrize(
    "moves",
    [
        Moves(conditional_beta=False, log_gamma=False, preconditioned=False, step_size=0.05),
        Moves(langevin=False, joint_beta_every=0),
        Moves(restructure=False, intercept=False),
    ],
    ids=["the paper's proposals", "no walk", "no restructuring"],
)
def test_other_moves_have_the_same_bits(moves):
    case = {
        "family": "poisson",
        "n": 200,
        "p": 6,
        "moves": moves,
        "subsets": SubsetUse(60, DELAYED, attempts=2),
    }
    state = assert_same_bits(Launch(), 40, **case)
    assert state["tally"][:, 1].sum() > 100


@pytest.mark.parametrize("way", WAYS)
def test_several_strata_row_blocks_and_wide_codes(way):
    rng = np.random.default_rng(0)
    y = np.sin(np.arange(13_000)) + rng.normal(size=13_000)
    case = {"n": 13_000, "p": 3, "y": y, "dtype": np.uint16, "subsets": SubsetUse(9_000, WAYS[way])}
    state = assert_same_bits(Launch(threads=64, tables_in_shared=False), 6, **case)
    assert state["screen_tally"][:, 1, 0].sum() > 0
