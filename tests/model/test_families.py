"""Families: derivatives, densities and predictive distributions against second implementations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from raytpnn.cli.inputs.family import guess_family
from raytpnn.families import FAMILIES, ExponentialFamily, Student, get_family

# Those of several outputs: tests/posterior/test_outputs.py.
ONE_OUTPUT = [name for name, family in FAMILIES.items() if family.outputs is None]
F = np.array([-30.0, -3.0, -0.4, 0.0, 0.7, 2.5, 4.0])


SIX_TENTHS = 0.6
# Responses at which laws are compared.
VALUES = {"bernoulli": [0.0, 1.0], "poisson": [0.0, 3.0], "negative_binomial": [0.0, 3.0, 40.0]}


def scipy_law(name, f, nuisance):
    scale = np.sqrt(nuisance)
    return {
        "gaussian": lambda: stats.norm(f, scale),
        "bernoulli": lambda: stats.bernoulli(1 / (1 + np.exp(-f))),
        "poisson": lambda: stats.poisson(np.exp(f)),
        "student": lambda: stats.t(4.0, f, scale),
        "negative_binomial": lambda: stats.nbinom(1 / nuisance, 1 / (1 + nuisance * np.exp(f))),
        "weibull": lambda: stats.weibull_min(1 / nuisance, scale=np.exp(f)),
        "survival": lambda: stats.expon(scale=np.exp(-f)),
    }[name]()


@pytest.mark.parametrize("name", [name for name in FAMILIES if isinstance(FAMILIES[name], ExponentialFamily)])
def test_mean_and_variance_are_derivatives_of_the_log_partition(name):
    family, h = get_family(name), 1e-5
    y = 1.0
    slope = (family.row_loglik(y, F + h) - family.row_loglik(y, F - h)) / (2 * h)
    np.testing.assert_allclose(y - slope, family.mean(F), rtol=1e-6, atol=1e-8)
    curve = (family.mean(F + h) - family.mean(F - h)) / (2 * h)
    np.testing.assert_allclose(curve, family.variance(F), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_score_is_the_slope_of_the_log_likelihood(name):
    family, h = get_family(name), 1e-6
    f, w = np.array([0.3, -0.5, 0.7, 1.2]), np.array([1.0, 0.5, 2.0, 1.0])
    y = np.array([1.0, 0.0, 1.0, 0.0]) if family.binary else np.array([1.0, 4.0, 2.0, 3.0])
    y = y * (np.array([1.0, -1.0, 1.0, -1.0]) if family.censored else 1.0)
    score, curvature, loglik = family.reference_rows(y, f, w, SIX_TENTHS)
    above, below = (family.reference_rows(y, f + step, w, SIX_TENTHS)[2] for step in (h, -h))
    np.testing.assert_allclose(score, (above - below) / (2 * h), rtol=1e-6, atol=1e-8)
    assert np.all(curvature > 0.0)
    # What the kernel leaves out is the constant.
    rows = np.array([loglik.sum()])
    whole = family.log_likelihood(rows, np.array([SIX_TENTHS]), w.sum(), 1.0) + family.log_constant(y, w)
    assert whole[0] == pytest.approx(w @ family.log_density(y, f, SIX_TENTHS), rel=1e-9)


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_density_distribution_and_quantile_agree_with_scipy(name):
    family = get_family(name)
    # SciPy rounds the share of a negative binomial's zeros to 1 where the mean is tiny.
    f = F[1:] if name == "negative_binomial" else F
    nuisance = SIX_TENTHS if family.dispersion else 1.0
    law = scipy_law(name, f, nuisance)
    for y in VALUES.get(name, [0.3, 2.5] if family.censored else [-1.0, 0.3]):
        log_density = law.logpmf(y) if family.discrete else law.logpdf(y)
        np.testing.assert_allclose(family.log_density(y, f, nuisance), log_density, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(family.cdf(y, f, nuisance), law.cdf(y), rtol=1e-9, atol=1e-12)
    for u in (0.05, 0.5, 0.95):
        np.testing.assert_allclose(family.quantile(u, f, nuisance), law.ppf(u), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(family.variance(f, nuisance), law.var(), rtol=1e-9)
    if not family.censored:
        np.testing.assert_allclose(family.mean(f), law.mean(), rtol=1e-9)
    else:
        np.testing.assert_allclose(family.log_density(-2.0, f, nuisance), law.logsf(2.0), rtol=1e-9)


@pytest.mark.parametrize("name", ONE_OUTPUT)
def test_samples_have_the_law(name):
    family = get_family(name)
    f = np.full(20_000, 0.5)
    nuisance = SIX_TENTHS if family.dispersion else 1.0
    draws = family.sample(np.random.default_rng(0), f, nuisance)
    law = scipy_law(name, 0.5, nuisance)
    assert draws.mean() == pytest.approx(law.mean(), abs=5 * law.std() / np.sqrt(20_000))
    upto = np.mean(draws <= law.ppf(0.8))
    assert upto == pytest.approx(law.cdf(law.ppf(0.8)), abs=5 * np.sqrt(0.16 / 20_000))


@pytest.mark.parametrize("name", [name for name in ONE_OUTPUT if not FAMILIES[name].censored])
def test_link_inverts_the_mean(name):
    family = get_family(name)
    assert float(family.mean(np.array(family.link(0.3)))) == pytest.approx(0.3, rel=1e-9)


def test_degrees_of_freedom_can_be_given():
    """Another number is another family; many degrees are a normal law."""
    many = Student(1e6, "student_many", 1006)
    y, f, w = np.array([0.2, -1.0]), np.zeros(2), np.ones(2)
    np.testing.assert_allclose(many.log_density(y, f, 0.5), stats.norm(0, 0.5**0.5).logpdf(y), rtol=1e-4)
    np.testing.assert_allclose(many.reference_rows(y, f, w, 0.5)[0], y / 0.5, rtol=1e-4)
    with pytest.raises(ValueError, match="degrees must be above 2"):
        Student(2.0, "cauchy", 1007)
    with pytest.raises(ValueError, match="need a name"):
        Student(7.0)


def test_counts_of_much_spread_are_pointed_to_the_wider_law():
    rng = np.random.default_rng(3)
    mean = np.full(500, 3.0)
    for y, wide in (
        (rng.poisson(mean).astype(float), False),
        (get_family("negative_binomial").sample(rng, np.log(mean), 2.0), True),
    ):
        family, reason = guess_family(y, "count")
        assert family == "poisson"
        assert ("--family negative_binomial" in reason) == wide


def test_unknown_family():
    with pytest.raises(ValueError, match="unknown family 'gamma'"):
        get_family("gamma")
