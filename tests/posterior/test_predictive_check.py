"""Posterior predictive checks see what they should, and nothing where there is nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.posterior_cases import random_posterior

from raytpnn.posterior import fitted
from raytpnn.posterior.posterior import Posterior


def simulated(rng, family, change=lambda y, rng: y, n=2000):
    """A posterior that knows the truth: y comes from the (repeated) first draw."""
    post, _ = random_posterior(rng, family, n=n, chains=1, length=1, scale=0.5)
    draws = post.draws.take(np.zeros(400, int))
    f = np.concatenate([f for _, f in post.training_blocks()], axis=1)[0]
    y = change(post.family.sample(rng, f, draws.nuisance[0]), rng)
    return Posterior(draws, post.encoder, post.bins, post.family, y)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_data_of_the_model_pass(family):
    table = simulated(np.random.default_rng(101), family).predictive_check().set_index("statistic")
    assert np.all((table["p_value"] > 0.005) & (table["p_value"] < 0.995))
    assert np.all((table["low"] <= table["replicated"]) & (table["replicated"] <= table["high"]))


@pytest.mark.parametrize(
    ("family", "change", "statistic", "tail"),
    [
        ("gaussian", lambda y, rng: y + 0.3, "mean", 0.0),
        ("gaussian", lambda y, rng: 1.3 * y, "sd", 0.0),
        ("gaussian", lambda y, rng: np.where(np.arange(len(y)) == 3, 50.0, y), "max", 0.0),
        ("gaussian", lambda y, rng: np.where(np.arange(len(y)) == 3, -50.0, y), "min", 1.0),
        ("poisson", lambda y, rng: y * (rng.random(len(y)) < 0.8), "zeros", 0.0),
        ("poisson", lambda y, rng: rng.negative_binomial(1.0, 1 / (1 + y)), "log_loss", 0.0),
        ("bernoulli", lambda y, rng: np.where(rng.random(len(y)) < 0.3, 1 - y, y), "log_loss", 0.0),
    ],
)
def test_data_of_another_model_fail(family, change, statistic, tail):
    table = simulated(np.random.default_rng(102), family, change).predictive_check().set_index("statistic")
    assert abs(table.loc[statistic, "p_value"] - tail) < 0.005


def test_observed_statistics_and_blocks(monkeypatch):
    rng = np.random.default_rng(103)
    post = simulated(rng, "poisson", n=300)
    whole = post.predictive_check(level=0.5).set_index("statistic")["observed"]
    y = post.y
    expected = {"mean": y.mean(), "sd": y.std(), "min": y.min(), "max": y.max(), "zeros": np.mean(y == 0)}
    for name, value in expected.items():
        assert whole[name] == pytest.approx(value)
    monkeypatch.setattr(fitted, "LATENT_ENTRIES", 400 * 7)
    pieces = post.predictive_check(level=0.5).set_index("statistic")["observed"]
    np.testing.assert_allclose(pieces, whole)


def test_rows_without_weight_and_seed():
    post = simulated(np.random.default_rng(104), "gaussian", n=300)
    weight = np.ones(300)
    weight[5] = 0.0
    y = post.y.copy()
    y[5] = 1e6
    table = Posterior(post.draws, post.encoder, post.bins, post.family, y, weight).predictive_check()
    assert table["observed"].max() < 1e3
    one, two, three = (post.predictive_check(seed=seed) for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(three)
    with pytest.raises(ValueError, match="all sample weights are 0"):
        Posterior(post.draws, post.encoder, post.bins, post.family, y, np.zeros(300)).predictive_check()


def test_draws_taken_are_the_draws():
    post, X = random_posterior(np.random.default_rng(105), chains=3, length=11)
    chosen = np.array([0, 5, 5, 32, 17])
    some = Posterior(post.draws.take(chosen), post.encoder, post.bins, post.family, post.y)
    np.testing.assert_allclose(some.predict_draws(X), post.predict_draws(X)[chosen], atol=1e-6)
    thin = post.thin(10)
    assert list(thin.draws.chain) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert list(thin.draws.draw) == [0, 5, 10] * 3
    assert post.thin(1).draws.n_draws == 3
    assert post.thin(1000).draws.n_draws == 33
    no_terms = replace(post.draws.take(np.arange(2))).K
    np.testing.assert_array_equal(no_terms, post.draws.K[:2])
    with pytest.raises(ValueError, match=r"most must be .* not 0"):
        post.thin(0)
