"""Row sums in stripes: every execution adds in the same order, whatever the stripes' bounds."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import make_case
from support.stripe_cases import response

from raytpnn.engine.reference.execution import doubles, reference_of
from raytpnn.engine.sweeps.sweep import run_block
from raytpnn.model.prior import Prior
from raytpnn.numerics.lanes import BLOCK, STRIPES, stripe_starts
from raytpnn.numerics.lanes_numpy import row_sum, stripe_sum

PRIOR = Prior(K_max=5, max_order=3, gamma_adding=0.1, C0=0.0)


@pytest.mark.parametrize("n", [1, 4096, 4097, 65_536, 65_537, 1_000_000, 20_000_000])
def test_stripes_are_whole_blocks_and_as_even_as_can_be(n):
    starts = stripe_starts(n)
    blocks = np.diff(-(-starts // BLOCK))
    assert len(starts) == STRIPES + 1
    assert (starts[0], starts[-1]) == (0, n)
    assert (starts[:-1] % BLOCK == 0).all() or n < BLOCK * STRIPES
    assert blocks.max() - blocks.min() <= 1


def test_up_to_sixteen_blocks_stripes_change_no_sum():
    x = np.random.default_rng(0).normal(size=300_000)
    for n in (1, 5000, 40_000, 65_536):
        assert stripe_sum(x[:n], stripe_starts(n)) == row_sum(x[:n])
    # Beyond, they do: the order of additions is that of stripes.
    assert stripe_sum(x, stripe_starts(len(x))) != row_sum(x)


def ran(family, n, stripe, backend, sweeps=3):
    """State and draws after some sweeps with the rows in given stripes."""
    case = make_case(family, n=n, prior=PRIOR, missing=0.05, seed=3, y=response(family, n, 4, 3))
    if stripe is not None:
        case.problem.record.stripe[:] = stripe
    chain = case.chain
    if backend == "reference":
        chain._run_block = reference_of(run_block)
    block = chain.run(0, sweeps, 0, 1)
    assert chain.state.K > 1
    return chain.checkpoint(), block.record.fit.copy()


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
@pytest.mark.parametrize("uneven", [False, True])
def test_the_compiled_sampler_adds_as_the_reference_does(family, uneven):
    n = 70_003
    rng = np.random.default_rng(7)
    stripe = np.sort(np.concatenate([[0, 0, 0, n, n], rng.integers(0, n, 12)])) if uneven else None
    compiled, reference = (ran(family, n, stripe, backend) for backend in ("numba", "reference"))
    assert compiled[0] == reference[0]
    assert np.array_equal(compiled[1], reference[1])


def test_another_order_of_stripes_is_seen():
    """The broken twin: blocks in order, as one stripe."""
    n = 70_003
    one = np.concatenate([[0], np.full(STRIPES, n)])
    assert ran("bernoulli", n, one, "numba")[0] != ran("bernoulli", n, None, "reference")[0]


def test_a_large_gram_matrix_is_summed_some_rows_at_a_time():
    """Room for a few sums only, and the same matrix."""
    states = []
    for width in (None, 67):
        y = response("gaussian", 9000, 6, 5)
        case = make_case("gaussian", n=9000, p=6, prior=Prior(K_max=30, max_order=2, C0=0.0), seed=5, y=y)
        if width:
            case.chain.work.partial_width = width
        case.chain.run(0, 60, 0, 1)
        states.append(case.chain.checkpoint())
        assert case.chain.state.K > 10
        gram = doubles(case.chain.work.gram, 31 * 31)
        assert np.isfinite(gram).all()
    assert states[0] == states[1]
