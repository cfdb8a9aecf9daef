"""Minibatch chains of the CUDA source, run on the CPU host, give the bits of the compiled sampler."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import make_case
from support.cuda_host.build import COMPILER
from support.kernel_cases import KernelChains, Launch, differing, differing_draws

from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

pytestmark = pytest.mark.skipif(COMPILER is None, reason="the CPU host of the kernels needs g++")


def both(launch, sweeps, **case):
    """The same chain compiled, and by the kernels; draws of each."""
    made = make_case(prior=Prior(K_max=12, max_order=4), **case)
    kernels = KernelChains(made.chain, launch)
    expected = made.chain.run(0, sweeps, sweeps // 2, 1)
    (record,) = kernels.run(0, sweeps, sweeps // 2, 1)
    return np.asarray(made.chain.state), kernels.states[0], expected.record, record


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
@pytest.mark.parametrize("threads", [32, 256])
def test_minibatch_chain_has_the_same_bits(family, threads):
    case = {"family": family, "n": 300, "p": 6, "missing": 0.1, "random_weights": True}
    states, draws = {}, {}
    states[0], states[1], draws[0], draws[1] = both(
        Launch(threads=threads), 40, subsets=SubsetUse(90), **case
    )
    assert differing(states[0], states[1]) == []
    assert differing_draws(draws[0], draws[1]) == []
    assert states[0]["tally"][:, 1].sum() > 100


def test_several_strata_and_wide_codes():
    rng = np.random.default_rng(0)
    y = np.sin(np.arange(9000)) + rng.normal(size=9000)
    case = {"n": 9000, "p": 3, "y": y, "dtype": np.uint16, "subsets": SubsetUse(1100)}
    state, mine, record, kept = both(Launch(threads=64), 6, **case)
    assert differing(state, mine) == []
    assert differing_draws(record, kept) == []
