"""PSIS-LOO against closed forms and arviz-stats' own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.posterior_cases import random_draws, random_posterior

from raytpnn.data.encoding.encoder import Encoder
from raytpnn.families import get_family
from raytpnn.posterior.evaluate.loo import Loo, psis_loo, relative_efficiency, smoothed_weights
from raytpnn.posterior.posterior import Posterior


def normal_mean(rng, n=40, n_draws=4000, weight=None, noise=0.7):
    """Exact draws of a mean with flat prior and known noise: the leave-one-out density is known."""
    y = rng.normal(2.0, 1.0, n)
    weight = np.ones(n) if weight is None else weight
    encoder, bins = Encoder.fit(rng.normal(size=(n, 2)))
    draws = random_draws(rng, 2, chains=4, length=n_draws // 4, terms=0)
    total = weight.sum()
    draws.intercept[:] = rng.normal((weight @ y) / total, np.sqrt(noise / total), n_draws)
    draws.nuisance[:] = noise
    post = Posterior(draws, encoder, bins, get_family("gaussian"), y, weight)
    without = total - weight
    mean = (weight @ y - weight * y) / without
    exact = stats.norm.logpdf(y, mean, np.sqrt(noise + noise / without))
    return post, exact


@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_the_closed_form(weighted):
    rng = np.random.default_rng(81)
    weight = rng.choice([0.5, 1.0, 4.0], 40) if weighted else None
    post, exact = normal_mean(rng, weight=weight)
    loo = post.loo()
    np.testing.assert_allclose(loo.elpd_rows, exact, atol=0.03)
    assert loo.elpd == pytest.approx(exact.sum(), abs=0.1)
    assert loo.se == pytest.approx(np.sqrt(40 * np.var(exact)), rel=0.05)
    if not weighted:
        # One parameter; it counts var(y) / noise times.
        assert loo.p_loo == pytest.approx(np.var(post.y) / 0.7, rel=0.15)
    assert loo.n_unreliable == 0
    assert loo.note == ""
    assert "40 rows" in str(loo)


def test_agrees_with_arviz_stats():
    from arviz_stats.base import array_stats

    post, _ = random_posterior(np.random.default_rng(82), "poisson", length=50, scale=0.2)
    density = np.concatenate(
        [post.family.log_density(post.y[at], f, 1.0) for at, f in post.training_blocks()], 1
    )
    loo = post.loo()
    efficiency = relative_efficiency(post, np.arange(post.bins.n_rows))
    assert 0.0 < efficiency <= 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        elpd, k, p = array_stats.loo(density.T.reshape(-1, 3, 50), r_eff=efficiency)
    np.testing.assert_allclose(loo.elpd_rows, elpd, atol=1e-9)
    np.testing.assert_allclose(loo.pareto_k, k)
    assert loo.p_loo == pytest.approx(np.sum(p))


def test_rows_without_weight_and_row_limit():
    rng = np.random.default_rng(83)
    weight = np.ones(40)
    weight[[3, 7]] = 0.0
    post, _ = normal_mean(rng, weight=weight)
    loo = post.loo()
    assert list(loo.rows) == [i for i in range(40) if i not in (3, 7)]
    some = post.loo(max_rows=10)
    assert len(some.rows) == 10
    assert set(some.rows) < set(loo.rows)
    assert some.elpd == pytest.approx(some.elpd_rows.sum())
    with pytest.raises(ValueError, match=r"max_rows must be .* not 0"):
        post.loo(max_rows=0)
    nothing = Posterior(post.draws, post.encoder, post.bins, post.family, post.y, np.zeros(40))
    with pytest.raises(ValueError, match="all sample weights are 0"):
        psis_loo(nothing)


def test_unreliable_rows_are_reported():
    loo = Loo(-1.0, 0.1, 1.0, np.arange(3), np.zeros(3), np.array([0.1, 0.9, np.nan]), 0.7)
    assert loo.n_unreliable == 2
    assert "above 0.70 in 2 of 3 rows" in str(loo)


def test_too_few_draws_are_refused():
    post, _ = random_posterior(np.random.default_rng(84), length=8)
    with pytest.raises(ValueError, match="24 draws are too few"):
        post.loo()


def test_tail_without_a_fit_gives_raw_weights_and_says_so():
    rng = np.random.default_rng(85)
    log_likelihood = rng.normal(size=(100, 2))
    # One draw outweighs all others beyond what floats hold.
    log_likelihood[:, 1] = np.where(np.arange(100) == 4, -800.0, 0.0)
    log_weight, k = smoothed_weights(log_likelihood, 1.0)
    assert np.isfinite(k[0])
    assert np.isinf(k[1])
    np.testing.assert_allclose(np.exp(log_weight).sum(axis=0), 1.0)
    assert log_weight[4, 1] == pytest.approx(0.0)


def test_a_row_that_all_draws_see_alike_is_reliable():
    log_likelihood = np.random.default_rng(86).normal(size=(100, 2))
    log_likelihood[:, 0] = -1.5
    log_weight, k = smoothed_weights(log_likelihood, 1.0)
    assert k[0] == 0.0
    np.testing.assert_allclose(np.exp(log_weight[:, 0]), 0.01)
    assert np.array_equal(smoothed_weights(log_likelihood[:, :1], 1.0)[1], [0.0])
