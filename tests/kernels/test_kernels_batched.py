"""forward.cu and langevin.cu on the CPU host, beside the compiled CPU code and the reference."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import make_case, random_bins
from support.cuda_cases import HostDevice
from support.cuda_host.build import COMPILER

from raytpnn.draws.draws import Draws
from raytpnn.engine.gpu.sums import langevin_sums
from raytpnn.engine.moves.langevin import term_tables
from raytpnn.engine.reference import execution as reference
from raytpnn.engine.reference.rebinding import as_python
from raytpnn.engine.rows.row_passes import MOMENTS
from raytpnn.families.base import DERIVATIVES
from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.forward_cuda import latent_on_device
from raytpnn.forward.forward_numpy import latent
from raytpnn.forward.prediction import Predictor
from raytpnn.model.prior import Prior

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH")


def random_draws(bins, n_draws, rng):
    """Draws of up to 6 terms, of orders 1 to 4; the second has none."""
    counts = rng.integers(1, 7, n_draws)
    counts[1] = 0
    order = rng.integers(1, 5, counts.sum())
    p = bins.n_features
    feature = [np.sort(rng.choice(p, d, replace=False)) for d in order]
    size = int(order.sum())
    return Draws(
        chain=np.zeros(n_draws, np.int32),
        draw=np.arange(n_draws, dtype=np.int32),
        loglik=np.zeros(n_draws),
        intercept=rng.normal(size=n_draws),
        nuisance=np.ones(n_draws),
        b_gamma=np.ones(n_draws),
        sigma_beta2=np.ones(n_draws),
        term_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        beta=rng.normal(size=len(order)),
        variable_start=np.concatenate([[0], np.cumsum(order)]).astype(np.int64),
        feature=np.concatenate(feature).astype(np.int32),
        b=rng.random(size),
        gamma=rng.gamma(1.0, 0.2, size) + 0.01,
    )


@pytest.mark.parametrize(
    ("dtype", "threads", "policy"),
    [(np.uint8, 64, "lazy"), (np.uint16, 256, "eager"), (np.uint8, 32, "eager")],
)
def test_forward_agrees_with_the_reference(dtype, threads, policy):
    rng = np.random.default_rng(5)
    n = 700
    bins = random_bins(n, 6, 1, dtype, missing=0.1)
    draws = random_draws(bins, 9, rng)
    offset = rng.normal(size=n)
    expected = latent(draws, bins, bins.codes) + offset
    ensemble = Ensemble.of(draws, bins)
    codes = bins.codes[ensemble.used]
    device = HostDevice(policy, order="random")
    f = latent_on_device(device, ensemble, codes, offset, threads)
    assert not device.pieces
    scale = np.abs(expected).max()
    np.testing.assert_allclose(f, expected, atol=2e-6 * scale)
    np.testing.assert_allclose(f, Predictor(ensemble).latent(codes, offset), atol=2e-6 * scale)
    # The same numbers whatever the geometry.
    again = latent_on_device(HostDevice(order="descending"), ensemble, codes, offset, 128)
    assert np.array_equal(f, again)


def test_many_draws_are_cut_into_parts(monkeypatch):
    rng = np.random.default_rng(6)
    bins = random_bins(50, 6, 1)
    ensemble = Ensemble.of(random_draws(bins, 9, rng), bins)
    codes, offset = bins.codes[ensemble.used], np.zeros(50)
    whole = latent_on_device(HostDevice(), ensemble, codes, offset, 32)
    monkeypatch.setattr("raytpnn.forward.forward_cuda.MOST_TABLE_ENTRIES", 700)
    device = HostDevice()
    assert np.array_equal(latent_on_device(device, ensemble, codes, offset, 32), whole)
    assert sum(kernel == "forward" for kernel, *_ in device.launches) > 1


def reference_sums(case):
    """Sums of every term by the reference, (T, 2 + 4 D), and the derivatives they were taken with."""
    chain, settings, problem = case.chain, case.settings, case.problem.record
    state, work = chain.state, chain.work
    tables = as_python(term_tables.unit, reference.REPLACEMENTS)
    sums = np.zeros((state.K, 2 + 4 * int(settings.max_order)))
    for k in range(state.K):
        d, features = int(state.order[k]), state.features[k]
        assert tables(problem, settings, work, features, state.b[k], state.gamma[k], d)
        need = DERIVATIVES + MOMENTS
        reference.evaluate(problem, settings, state, work, work.fit, k, 0.0, k, 0.0, need, k, features, d)
        sums[k, : 2 + 4 * d] = work.sums[1 : 3 + 4 * d]
    n = len(case.problem.y)
    return sums, *(reference.doubles(address, n).copy() for address in (work.score, work.curvature))


@pytest.mark.parametrize(
    ("family", "n", "dtype"), [("bernoulli", 60, np.uint16), ("gaussian", 9000, np.uint8)]
)
def test_langevin_sums_are_those_of_the_reference_bit_by_bit(family, n, dtype):
    y = np.arange(n) % 2 if family == "bernoulli" else np.sin(np.arange(n))
    prior = Prior(K_max=6, max_order=4, gamma_adding=0.1, bounded=False)
    case = make_case(family, n=n, p=6, prior=prior, missing=0.1, dtype=dtype, y=y.astype(float), seed=4)
    draw = case.prior_draw()
    while len(draw.terms) < 3 or max(len(term.features) for term in draw.terms) < 3:
        draw = case.prior_draw()
    case.load(draw, 0)
    case.compute_fit()
    sums, score, curvature = reference_sums(case)
    state, D = case.chain.state, int(case.settings.max_order)
    K = int(state.K)
    terms = state.order[:K], state.features[:K, :D], state.b[:K, :D], state.gamma[:K, :D]
    for threads in (32, 512):
        device = HostDevice("lazy", order="random")
        partial = langevin_sums(device, case.problem, case.settings, *terms, score, curvature, threads)
        assert not device.pieces
        assert partial.shape == (K, -(-n // 4096), 2 + 4 * D)
        total = np.zeros_like(sums)
        for block in range(partial.shape[1]):
            total += partial[:, block]
        assert np.array_equal(total, sums)


def test_a_term_without_prior_mass_has_no_sums():
    case = make_case(n=40, p=4)
    D = int(case.settings.max_order)
    features, b = np.zeros((1, D), np.int32), np.full((1, D), 0.99)
    features[0, 1] = 1
    gamma = np.full((1, D), 1e-6)
    derivative = np.ones(40)
    order = np.array([2])
    sums = langevin_sums(
        HostDevice(), case.problem, case.settings, order, features, b + 1.0, gamma, derivative, derivative
    )
    assert np.isnan(sums[0, 0, : 2 + 4 * 2]).all()
