"""Families: derivatives, densities and predictive distributions against second implementations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from raytpnn.families import FAMILIES, get_family

# Those of several outputs: tests/posterior/test_outputs.py.
ONE_OUTPUT = [name for name, family in FAMILIES.items() if family.outputs is None]
F = np.array([-30.0, -3.0, -0.4, 0.0, 0.7, 2.5, 4.0])


def scipy_law(name, f, nuisance):
    return {
        "gaussian": lambda: stats.norm(f, np.sqrt(nuisance)),
        "bernoulli": lambda: stats.bernoulli(1 / (1 + np.exp(-f))),
        "poisson": lambda: stats.poisson(np.exp(f)),
    }[name]()


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_mean_and_variance_are_derivatives_of_the_log_partition(name):
    family, h = get_family(name), 1e-5
    y = 1.0
    slope = (family.row_loglik(y, F + h) - family.row_loglik(y, F - h)) / (2 * h)
    np.testing.assert_allclose(y - slope, family.mean(F), rtol=1e-6, atol=1e-8)
    curve = (family.mean(F + h) - family.mean(F - h)) / (2 * h)
    np.testing.assert_allclose(curve, family.variance(F), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_density_distribution_and_quantile_agree_with_scipy(name):
    family, nuisance = get_family(name), 0.6 if name == "gaussian" else 1.0
    law = scipy_law(name, F, nuisance)
    values = {"gaussian": [-1.0, 0.3], "bernoulli": [0.0, 1.0], "poisson": [0.0, 3.0]}[name]
    for y in values:
        log_density = law.logpdf(y) if name == "gaussian" else law.logpmf(y)
        np.testing.assert_allclose(family.log_density(y, F, nuisance), log_density, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(family.cdf(y, F, nuisance), law.cdf(y), rtol=1e-9, atol=1e-12)
    for u in (0.05, 0.5, 0.95):
        np.testing.assert_allclose(family.quantile(u, F, nuisance), law.ppf(u), atol=1e-9)
    np.testing.assert_allclose(family.mean(F), law.mean(), rtol=1e-9)
    np.testing.assert_allclose(nuisance * family.variance(F), law.var(), rtol=1e-9)


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_samples_have_the_right_mean(name):
    family = get_family(name)
    f = np.full(20_000, 0.5)
    draws = family.sample(np.random.default_rng(0), f, 1.0)
    assert draws.mean() == pytest.approx(family.mean(f)[0], abs=5 * draws.std() / np.sqrt(20_000))


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_link_inverts_the_mean(name):
    family = get_family(name)
    assert float(family.mean(np.array(family.link(0.3)))) == pytest.approx(0.3, rel=1e-9)


def test_unknown_family():
    with pytest.raises(ValueError, match="unknown family 'gamma'"):
        get_family("gamma")
