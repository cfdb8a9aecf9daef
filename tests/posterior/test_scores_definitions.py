"""Scores of the paper against second implementations: Gneiting and Raftery's formulas, scikit-learn, samples.

The paper names CRPS (Gneiting and Raftery 2007) and NLL for regression, ECE (Kumar et al. 2019) and NLL for
classification.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.posterior_cases import random_posterior

from raytpnn.families import get_family
from raytpnn.posterior.evaluate import scores


def crps_of_ensemble(samples, y):
    """E|X - y| - E|X - X'| / 2 over the samples, by their order: what properscoring does."""
    ordered = np.sort(samples)
    m = len(ordered)
    spread = np.sum((2 * np.arange(1, m + 1) - m - 1) * ordered) / m**2
    return np.mean(np.abs(ordered - y)) - spread


def test_crps_of_one_normal_is_the_published_formula():
    rng = np.random.default_rng(131)
    mean, variance, y = rng.normal(size=(1, 20)), np.array([1.7]), 3.0 * rng.normal(size=20)
    sd = np.sqrt(variance[0])
    z = (y - mean[0]) / sd
    expected = sd * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    found = scores.mixture_crps(get_family("gaussian"), y, mean, variance)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_crps_of_a_mixture_is_that_of_many_samples(family):
    rng = np.random.default_rng(132)
    member = get_family(family)
    f, nuisance = rng.normal(size=(8, 5)), rng.gamma(2.0, 0.5, 8)
    y = np.array([0.0, 1.0, 2.0, 4.0, 9.0])
    found = scores.mixture_crps(member, y, f, nuisance)
    samples = np.concatenate([member.sample(rng, f, nuisance[:, None]) for _ in range(20_000)])
    expected = [crps_of_ensemble(samples[:, i], y[i]) for i in range(5)]
    np.testing.assert_allclose(found, expected, rtol=0.02)


def test_nll_is_that_of_the_mixture_not_of_the_mean():
    post, X = random_posterior(np.random.default_rng(133), length=4)
    f = next(post.latent_blocks(X))[1]
    sd = np.sqrt(post.draws.nuisance)[:, None]
    density = stats.norm.pdf(post.y, f, sd).mean(axis=0)
    assert scores.score(post, X, post.y)["nll"] == pytest.approx(-np.mean(np.log(density)), rel=1e-6)
    of_mean = -np.mean(stats.norm.logpdf(post.y, f.mean(axis=0), sd.mean()))
    assert scores.score(post, X, post.y)["nll"] != pytest.approx(of_mean, rel=1e-3)


def test_classification_scores_agree_with_scikit_learn():
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import log_loss, roc_auc_score

    post, X = random_posterior(np.random.default_rng(134), "bernoulli", n=600)
    y, probability = post.y, post.predict(X)
    found = scores.score(post, X, y)
    assert found["nll"] == pytest.approx(log_loss(y, probability), rel=1e-5)
    assert found["auroc"] == pytest.approx(roc_auc_score(y, probability))
    share, mean = calibration_curve(y, probability, n_bins=15, strategy="uniform")
    counts = np.histogram(probability, np.linspace(0.0, 1.0, 16))[0]
    expected = np.sum(counts[counts > 0] * np.abs(share - mean)) / len(y)
    assert found["ece"] == pytest.approx(expected, rel=1e-9)


def test_scores_are_proper():
    """The truth beats forecasts that are too sharp, too wide or shifted, by more than 5 standard errors."""
    rng = np.random.default_rng(135)
    y = rng.normal(size=40_000)
    member = get_family("gaussian")

    def mean_scores(shift, variance):
        # One forecast for all rows; the CRPS is then a smooth function of y alone.
        f = np.full((1, 1), shift)
        grid = np.linspace(-6.0, 6.0, 601)
        crps = scores.mixture_crps(member, grid, np.repeat(f, 601, axis=1), np.array([variance]))
        nll = scores.nll(member.log_density(y, shift, variance))
        return np.mean(np.interp(y, grid, crps)), nll

    truth = mean_scores(0.0, 1.0)
    for shift, variance in ((0.3, 1.0), (0.0, 0.5), (0.0, 2.0)):
        other = mean_scores(shift, variance)
        assert truth[0] < other[0]
        assert truth[1] < other[1]
