"""Scores against closed forms, other packages and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.posterior_cases import random_posterior

from raytpnn.families import get_family
from raytpnn.posterior.evaluate import scores

GAUSSIAN, POISSON = get_family("gaussian"), get_family("poisson")


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_crps_of_weighted_draws_is_that_of_repeated_ones(family):
    rng = np.random.default_rng(17)
    f, nuisance, y = rng.normal(size=(4, 3)), rng.gamma(3.0, 0.3, 4), np.array([0.0, 1.0, 4.0])
    times = np.array([3, 1, 0, 2])
    weight = np.repeat(times[:, None] / times.sum(), 3, axis=1)
    weighted = scores.mixture_crps(get_family(family), y, f, nuisance, weight)
    repeated = np.repeat(f, times, axis=0), np.repeat(nuisance, times)
    np.testing.assert_allclose(weighted, scores.mixture_crps(get_family(family), y, *repeated), rtol=1e-6)
    assert np.all(np.abs(weighted / scores.mixture_crps(get_family(family), y, f, nuisance) - 1) > 1e-3)


def gaussian_mixture_crps(y, mean, sd):
    """Closed form of Grimit et al. 2006: E|Y - y| - E|Y - Y'| / 2 over all pairs of parts."""

    def expected_distance(m, s):
        return 2 * s * stats.norm.pdf(m / s) + m * (2 * stats.norm.cdf(m / s) - 1)

    pairs = expected_distance(mean[:, None] - mean, np.hypot(sd[:, None], sd))
    return np.mean(expected_distance(y - mean, sd)) - np.mean(pairs) / 2


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_gaussian_crps_agrees_with_closed_form(spread):
    rng = np.random.default_rng(61)
    f = spread * rng.normal(size=(40, 12))
    nuisance = rng.gamma(2.0, 1.0, 40)
    y = np.concatenate([spread * rng.normal(size=8), [-1e3, 1e3, 1e6, f[3, 11]]])
    crps = scores.mixture_crps(GAUSSIAN, y, f, nuisance)
    expected = [gaussian_mixture_crps(y[i], f[:, i], np.sqrt(nuisance)) for i in range(12)]
    np.testing.assert_allclose(crps, expected, rtol=1e-7, atol=1e-9)


def test_poisson_crps_agrees_with_sampling_form():
    rng = np.random.default_rng(62)
    f = rng.normal(0.5, 0.7, size=(25, 6))
    y = np.array([0.0, 1.0, 2.0, 5.0, 10.0, 300.0])
    x = np.arange(400)
    for i in range(6):
        pmf = stats.poisson.pmf(x, np.exp(f[:, i])[:, None]).mean(axis=0)
        expected = pmf @ np.abs(x - y[i]) - pmf @ np.abs(x[:, None] - x) @ pmf / 2
        crps = scores.mixture_crps(POISSON, y[i : i + 1], f[:, i : i + 1], np.ones(25))
        assert crps[0] == pytest.approx(expected, rel=1e-9)


def test_crps_of_one_sharp_part_is_the_absolute_error():
    crps = scores.mixture_crps(GAUSSIAN, np.array([3.0]), np.array([[1.0]]), np.array([1e-12]))
    assert crps[0] == pytest.approx(2.0, abs=1e-5)


def test_rmse_and_auroc_agree_with_scikit_learn():
    from sklearn.metrics import root_mean_squared_error

    rng = np.random.default_rng(63)
    y, mean = rng.normal(size=50), rng.normal(size=50)
    assert scores.rmse(y, mean) == pytest.approx(root_mean_squared_error(y, mean))
    labels, probability = rng.integers(0, 2, 50).astype(float), rng.random(50).round(1)
    higher = (probability[labels == 1][:, None] - probability[labels == 0]).ravel()
    assert scores.auroc(labels, probability) == pytest.approx(np.mean((higher > 0) + 0.5 * (higher == 0)))
    assert np.isnan(scores.auroc(np.ones(5), np.full(5, 0.3)))


def test_ece_by_hand_and_by_loop():
    y = np.array([0.0, 1.0, 1.0, 1.0])
    # Bin [0, .5): mean probability .2, no ones of 1. Bin [.5, 1]: .9 against 1 of three rows.
    assert scores.ece(y, np.array([0.2, 0.9, 0.8, 1.0]), bins=2) == pytest.approx((0.2 + 3 * 0.1) / 4)
    rng = np.random.default_rng(64)
    probability = rng.random(300)
    y = (rng.random(300) < probability**2).astype(float)
    total = 0.0
    for low in np.arange(15) / 15:
        inside = (probability >= low) & (probability < low + 1 / 15)
        if inside.any():
            total += inside.mean() * abs(y[inside].mean() - probability[inside].mean())
    assert scores.ece(y, probability) == pytest.approx(total)


def test_coverage_and_width():
    interval = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [5.0, 6.0]])
    assert scores.coverage(np.array([0.0, 2.0, 3.5, 4.9]), interval) == 0.5
    assert scores.width(interval) == pytest.approx(7 / 4)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_scores_of_a_posterior(family):
    post, X = random_posterior(np.random.default_rng(65), family)
    found = scores.score(post, X, post.y, level=0.8)
    assert list(found) == ["nll", "rmse", "crps", "coverage", "width"]
    mean, interval = post.predict(X), post.interval(X, 0.8)
    assert found["nll"] == pytest.approx(-np.mean(post.log_density(X, post.y)))
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((post.y - mean) ** 2)))
    assert found["coverage"] == pytest.approx(
        np.mean((interval[:, 0] <= post.y) & (post.y <= interval[:, 1]))
    )
    assert found["width"] == pytest.approx(np.mean(interval[:, 1] - interval[:, 0]))
    assert 0.0 < found["crps"] < found["rmse"]


def test_scores_of_a_classifier():
    post, X = random_posterior(np.random.default_rng(66), "bernoulli", classes=("no", "yes"))
    found = scores.score(post, X, np.where(post.y == 1.0, "yes", "no"))
    assert list(found) == ["nll", "auroc", "ece", "error"]
    probability = post.predict(X)
    assert found["auroc"] == scores.auroc(post.y, probability)
    assert found["error"] == pytest.approx(np.mean((probability > 0.5) != (post.y == 1.0)))
    likelihood = np.where(post.y == 1.0, probability, 1.0 - probability)
    assert found["nll"] == pytest.approx(-np.mean(np.log(likelihood)), rel=1e-4)
