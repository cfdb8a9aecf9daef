"""What ArviZ makes of a posterior; skipped where ArviZ is not installed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support.posterior_cases import random_posterior

from raytpnn.posterior import arviz_groups
from raytpnn.posterior.arviz_groups import groups

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import arviz as az
    except ImportError:
        az = None

needs_arviz = pytest.mark.skipif(az is None, reason="ArviZ is not installed (pip install 'raytpnn[arviz]')")


def values(data, group, name):
    return np.asarray(data[group][name])


@needs_arviz
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_groups_hold_the_draws(family):
    post, X = random_posterior(np.random.default_rng(91), family, length=30)
    data = post.to_arviz(probe_rows=7, max_rows=20)
    scalars = post.scalars()
    for name in ("K", "intercept", "b_gamma", "sigma_beta2"):
        np.testing.assert_array_equal(values(data, "posterior", name).ravel(), scalars[name])
    assert ("nuisance" in data["posterior"]) == (family == "gaussian")
    rows = np.asarray(data["observed_data"]["row"])
    assert len(rows) == 20
    np.testing.assert_array_equal(values(data, "observed_data", "y"), post.y[rows])
    probes = np.asarray(data["posterior"]["probe_row"])
    f = np.concatenate([f for _, f in post.latent_blocks(X)], axis=1)
    np.testing.assert_allclose(values(data, "posterior", "f").reshape(90, 7), f[:, probes], atol=1e-6)
    density = post.family.log_density(post.y, f, post.draws.nuisance[:, None])
    np.testing.assert_allclose(
        values(data, "log_likelihood", "y").reshape(90, 20), density[:, rows], rtol=1e-4, atol=1e-5
    )
    np.testing.assert_array_equal(values(data, "sample_stats", "loglik").ravel(), scalars["loglik"])
    predicted = values(data, "posterior_predictive", "y").reshape(90, 20)
    assert post.family.problem(predicted.ravel()) is None
    again = values(post.to_arviz(probe_rows=7, max_rows=20), "posterior_predictive", "y")
    np.testing.assert_array_equal(predicted, again.reshape(90, 20))


def test_offset_weight_and_fixed_scales():
    rng = np.random.default_rng(92)
    plain, _ = random_posterior(rng, "poisson", length=10)
    n = plain.bins.n_rows
    plain.draws.b_gamma[:] = 0.1
    weight, offset = rng.random(n), rng.normal(size=n)
    post = type(plain)(plain.draws, plain.encoder, plain.bins, plain.family, plain.y, weight, offset)
    rows = np.arange(0, n, 10)
    mine, other = groups(post, rows, rows, 0), groups(plain, rows, rows, 0)
    assert "b_gamma" not in mine["posterior"]
    assert "sigma_beta2" in mine["posterior"]
    np.testing.assert_allclose(mine["posterior"]["f"], other["posterior"]["f"], atol=1e-6)
    f = mine["posterior"]["f"] + offset[rows]
    expected = weight[rows] * post.family.log_density(post.y[rows], f, 1.0)
    np.testing.assert_allclose(mine["log_likelihood"]["y"], expected, rtol=1e-6, atol=1e-6)


@needs_arviz
def test_summary_loo_and_trace_work():
    import matplotlib as mpl

    mpl.use("Agg")
    post, _ = random_posterior(np.random.default_rng(93), length=100, scale=0.2)
    data = post.to_arviz(probe_rows=3)
    with warnings.catch_warnings():
        # The draws are random, not of a sampler: ArviZ rightly complains of large Pareto k.
        warnings.simplefilter("ignore")
        summary = az.summary(data)
        loo = az.loo(data, var_name="y", pointwise=True)
        az.plot_trace(data, var_names=["K", "intercept"])
    assert {"K", "intercept", "nuisance", "mean_order"} <= set(summary.index)
    assert sum(name.startswith("f[") for name in summary.index) == 3
    elpd = loo.elpd if hasattr(loo, "elpd") else loo.elpd_loo
    # ArviZ takes another relative efficiency: smoothed weights differ a little.
    assert float(elpd) == pytest.approx(post.loo().elpd, rel=0.02)


def test_without_arviz_the_error_says_what_to_install(monkeypatch):
    post, _ = random_posterior(np.random.default_rng(94), length=5)

    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(arviz_groups, "import_module", refuse)
    with pytest.raises(ImportError, match=r"pip install 'raytpnn\[arviz\]'"):
        post.to_arviz()


@pytest.mark.parametrize("name", ["probe_rows", "max_rows"])
def test_bad_limits(name):
    post, _ = random_posterior(np.random.default_rng(95), length=5)
    with pytest.raises(ValueError, match=f"{name} must be a number of rows, 1 or more, not 0"):
        post.to_arviz(**{name: 0})
