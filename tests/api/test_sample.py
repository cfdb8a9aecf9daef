"""`raytpnn.sample`: what users give it, good and bad, and what they get."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

import raytpnn
from raytpnn import Moves, Prior, Tempering

SHORT = {"chains": 2, "warmup": 60, "draws": 40}


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(["u", "v", "w"], n)})
    f = 2.0 * X["a"] + (X["c"] == "v") * 1.5
    return X, f.to_numpy(), rng


def test_gaussian_fit_end_to_end(tmp_path):
    X, f, rng = table(200)
    y = 10.0 + 3.0 * f + rng.normal(size=200)
    post = raytpnn.sample(X, y, chains=2, warmup=300, draws=200, out=tmp_path / "run")
    assert post.predict_draws(X).shape == (400, 200)
    assert np.corrcoef(post.predict(X), 3.0 * f)[0, 1] > 0.97
    scalars = post.scalars()
    assert list(scalars.columns[:6]) == ["chain", "draw", "K", "loglik", "intercept", "nuisance"]
    assert scalars["nuisance"].mean() == pytest.approx(1.0, rel=0.5), (
        "the noise variance is on the user's scale"
    )
    assert scalars["intercept"].mean() == pytest.approx(y.mean(), abs=0.5)
    terms = post.terms()
    assert {"chain", "draw", "features", "b", "gamma", "beta"} <= set(terms.columns)
    # By column: the levels of c add up to a constant, so that only their sum is known.
    assert post.components(by="column").iloc[0]["component"] == ("a",)
    low, high = post.interval(X, level=0.9).T
    assert 0.8 < np.mean((low < y) & (y < high)) < 0.99
    again = raytpnn.load(tmp_path / "run")
    assert np.array_equal(again.predict(X), post.predict(X))
    assert again.config["seed"] == 0
    for move in ("birth", "death", "adding", "deleting", "changing", "factor", "joint_beta", "intercept"):
        proposed, accepted = post.config["acceptance"][0][move]
        assert proposed >= accepted > 0


def test_reported_loglik_is_that_of_the_data():
    X, f, rng = table(80)
    y = 5.0 + f + rng.normal(size=80)
    weight, offset = rng.uniform(0.5, 2.0, 80), rng.normal(size=80)
    post = raytpnn.sample(X, y, sample_weight=weight, offset=offset, **SHORT)
    mean = post.predict_draws(X, offset=offset)
    variance = post.draws.nuisance[:, None]
    expected = np.sum(
        weight * (-0.5 * np.log(2 * np.pi * variance) - 0.5 * (y - mean) ** 2 / variance), axis=1
    )
    np.testing.assert_allclose(post.draws.loglik, expected, rtol=1e-4)


def test_same_seed_same_draws_and_backends_agree():
    X, f, _ = table(40)
    y = f + 0.1 * np.arange(40)
    fits = [
        raytpnn.sample(X, y, chains=2, warmup=10, draws=10, seed=seed, backend=backend)
        for seed, backend in ((5, "numba"), (5, "auto"), (5, "reference"), (6, "numba"))
    ]
    first, second, reference, other = (fit.draws for fit in fits)
    assert np.array_equal(first.beta, second.beta)
    assert np.array_equal(first.beta, reference.beta)
    assert np.array_equal(first.loglik, reference.loglik)
    assert not np.array_equal(first.loglik, other.loglik)


def test_bernoulli_with_labels():
    X, f, rng = table(200)
    y = np.where(rng.random(200) < 1 / (1 + np.exp(-2 * f)), "yes", "no")
    post = raytpnn.sample(X, y, family="bernoulli", chains=2, warmup=200, draws=100)
    assert tuple(post.classes) == ("no", "yes")
    probability = post.predict(X)
    assert np.all((probability > 0) & (probability < 1))
    assert probability[y == "yes"].mean() > probability[y == "no"].mean() + 0.2


def test_poisson_with_exposure():
    X, f, rng = table(300)
    exposure = rng.uniform(0.5, 20.0, 300)
    rate = np.exp(0.5 * f)
    y = rng.poisson(exposure * rate)
    post = raytpnn.sample(X, y, family="poisson", offset=np.log(exposure), chains=2, warmup=300, draws=150)
    per_unit = post.predict(X)
    assert np.corrcoef(np.log(per_unit), np.log(rate))[0, 1] > 0.95
    np.testing.assert_allclose(post.predict(X, offset=np.log(exposure)), per_unit * exposure, rtol=1e-5)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_doubled_weights_are_doubled_rows(family):
    """Weight 2 on some rows and these rows given twice have one posterior, up to the encoding's marginals."""
    rng = np.random.default_rng(0)
    a = np.repeat([0.0, 1.0, 2.0, 3.0], 10)
    f = a - 1.5
    y = {"gaussian": f + rng.normal(size=40), "bernoulli": rng.random(40) < 1 / (1 + np.exp(-f))}.get(
        family, rng.poisson(np.exp(f))
    )
    y = np.asarray(y, float)
    fixed = Prior(K_max=10, C0=1e-9, sigma_beta2=0.3, b_gamma=0.3)
    args = {"family": family, "prior": fixed, "chains": 2, "warmup": 500, "draws": 1500}
    X = pd.DataFrame({"a": a})
    twice = raytpnn.sample(pd.concat([X, X]), np.concatenate([y, y]), **args)
    weighted = raytpnn.sample(X, y, sample_weight=np.full(40, 2.0), **args)
    plain = raytpnn.sample(X, y, **args)
    levels = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    spread = {
        name: fit.predict_draws(levels).std(axis=0)
        for name, fit in {"twice": twice, "weighted": weighted, "plain": plain}.items()
    }
    np.testing.assert_allclose(spread["weighted"], spread["twice"], rtol=0.2)
    assert np.mean(spread["plain"] / spread["twice"]) > 1.15


def test_all_weights_zero_is_legal():
    X, f, _ = table(30)
    post = raytpnn.sample(X, f, sample_weight=np.zeros(30), **SHORT)
    assert np.all(np.isfinite(post.draws.loglik))
    assert np.all(post.draws.loglik == 0.0)


X3 = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [2.0, 1.0, 4.0, 3.0]})
Y3 = np.array([1.0, 2.0, 2.5, 4.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.array([1.0, np.inf, 2.0, 3.0])}, r"inf"),
        ({"y": np.array(["1", "2", "x", "3"])}, r"x"),
        ({"y": np.array([1.0, 2.0, 3.0])}, r"4 rows.*3"),
        ({"y": np.array([0, 1, 2, 1]), "family": "bernoulli"}, r"two classes|3"),
        ({"y": np.array([1, 1, 1, 1]), "family": "bernoulli"}, r"class"),
        ({"y": np.array([0, 1, -2, 1]), "family": "poisson"}, r"row 2 is -2"),
        ({"y": np.array([0, 1, 2.5, 1]), "family": "poisson"}, r"row 2 is 2.5"),
        ({"X": pd.DataFrame({"a": [1.0] * 4})}, r"no usable feature|constant"),
        ({"X": pd.DataFrame({"a": [1.0, np.inf, 2, 3]})}, r"'?a'?.*inf|inf.*a"),
        ({"family": "gamma"}, r"unknown family 'gamma'"),
        ({"backend": "gpu"}, r"unknown backend 'gpu'"),
        ({"backend": "cuda"}, r"needs CuPy, which cannot be imported.*cuda12"),
        ({"executor": "dask"}, r"unknown executor 'dask'"),
        ({"executor": "threads", "address": "10.0.0.1:6379"}, r"address='10.0.0.1:6379'.*threads"),
        ({"minibatch": 100}, r"minibatch=100 is not smaller than the data, which have 4 rows"),
        ({"minibatch": 4}, r"minibatch=4 is not smaller"),
        ({"minibatch": 0}, r"minibatch must be a whole number, 1 or more, got 0"),
        ({"minibatch": 2.0}, r"minibatch must be a whole number"),
        ({"minibatch": True}, r"minibatch must be a whole number"),
        ({"delayed_acceptance": 1}, r"delayed_acceptance must be True or False, got 1"),
        ({"minibatch": 2, "tempering": Tempering(4)}, r"minibatch=2 does not go with tempering"),
        (
            {"delayed_acceptance": True, "tempering": Tempering(4)},
            r"delayed_acceptance=True does not go with",
        ),
        (
            {"minibatch": 2, "delayed_acceptance": True, "backend": "cuda"},
            r"needs CuPy, which cannot be imported.*cuda12",
        ),
        ({"target_rhat": 1.0}, r"target_rhat must be above 1, got 1.0"),
        ({"target_ess": -5}, r"target_ess must be above 0, got -5"),
        ({"resources": 2}, r"resources must be a raytpnn.Resources"),
        ({"chains": 0}, r"chains must be a whole number, 1 or more, got 0"),
        ({"draws": 0}, r"draws"),
        ({"thin": 0}, r"thin"),
        ({"warmup": -1}, r"warmup"),
        ({"seed": -1}, r"seed"),
        ({"seed": 1.5}, r"seed.*1.5"),
        ({"max_bins": 70_000}, r"max_bins"),
        ({"max_bins": 1}, r"max_bins"),
        ({"feature_weights": "magic"}, r"magic"),
        ({"feature_weights": [1.0, 0.0]}, r"b|0"),
        ({"feature_weights": [1.0, 1.0, 1.0]}, r"3"),
        ({"sample_weight": [1.0, -1.0, 1.0, 1.0]}, r"-1"),
        ({"offset": [0.0, np.nan, 0.0, 0.0]}, r"offset"),
        ({"prior": {"K_max": 3}}, r"prior must be a raytpnn.Prior"),
        ({"moves": 3}, r"moves must be a raytpnn.Moves"),
        ({"time_limit": 0}, r"time_limit"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*constant")
def test_bad_input_is_named(change, message):
    args = {"X": X3, "y": Y3, **change}
    with pytest.raises(ValueError, match=f"(?is){message}"):
        raytpnn.sample(**args, **{name: value for name, value in SHORT.items() if name not in args})


@pytest.mark.parametrize(
    "bad",
    [
        {"K_max": 0},
        {"C0": -1},
        {"a_gamma": 0},
        {"b_gamma": -1},
        {"alpha_adding": 1.0},
        {"q_lambda": 1.5},
        {"max_order": 2.5},
        {"v": np.nan},
    ],
)
def test_bad_priors_are_named(bad):
    name = next(iter(bad))
    with pytest.raises(ValueError, match=name):
        Prior(**bad)


@pytest.mark.parametrize(
    "bad", [{"M": 0}, {"q_add": -1}, {"step_size": 0}, {"birth_death_attempts": -1}, {"target_acceptance": 1}]
)
def test_bad_moves_are_named(bad):
    name = next(iter(bad))
    with pytest.raises(ValueError, match=name):
        Moves(**bad)


def test_one_feature_two_rows():
    post = raytpnn.sample(np.array([[1.0], [2.0]]), [1.0, 2.0], **SHORT)
    assert np.all(np.isfinite(post.predict(np.array([[0.0], [1.5], [9.0]]))))


def test_duplicated_rows_and_constant_response():
    X = np.repeat([[1.0, 2.0], [3.0, 1.0]], 20, axis=0)
    with pytest.raises(ValueError, match="y is 1 in all 40 rows: there is nothing to learn"):
        raytpnn.sample(X, np.repeat([1.0, 1.0], 20), **SHORT)
    post = raytpnn.sample(X, np.repeat([1.0, 2.0], 20), **SHORT)
    np.testing.assert_allclose(post.predict(X), np.repeat([1.0, 2.0], 20), atol=0.5)


def test_a_feature_with_one_value_is_dropped_with_a_warning():
    X = X3.assign(c=[np.nan, 1.0, np.nan, np.nan])
    with pytest.warns(UserWarning, match="c"):
        post = raytpnn.sample(X, Y3, **SHORT)
    assert np.all(np.isfinite(post.predict(X)))


def test_missing_values_and_indicators():
    X, f, rng = table(120)
    X.loc[rng.random(120) < 0.3, "a"] = np.nan
    y = f + 4.0 * X["a"].isna() + 0.1 * rng.normal(size=120)
    post = raytpnn.sample(X, y, missing_indicators=True, chains=2, warmup=300, draws=100)
    leading = post.components().head(4)["component"].tolist()
    assert any("missing" in name for component in leading for name in component)
    assert np.all(np.isfinite(post.predict(X)))


def test_many_rows_work():
    rng = np.random.default_rng(0)
    X = rng.random((1_000_000, 2)).astype(np.float32)
    y = np.sin(6 * X[:, 0]) + rng.normal(size=1_000_000)
    post = raytpnn.sample(X, y, prior=Prior(K_max=4), chains=1, warmup=6, draws=2)
    assert np.all(np.isfinite(post.predict(X[:5])))


def test_wide_codes():
    X, f, _ = table(400)
    post = raytpnn.sample(X, f, max_bins=1000, **SHORT)
    assert post.bins.codes.dtype == np.uint16
    assert len(post.bins.values_of(0)) == 400
    assert np.all(np.isfinite(post.predict(X)))


@pytest.mark.parametrize("weights", [[3.0, 1.0, 2.0], "marginal", "xgboost"])
def test_feature_weights(weights):
    X, f, _ = table(80)
    if weights == "xgboost":
        pytest.importorskip("xgboost")
    post = raytpnn.sample(X, f, feature_weights=weights, **SHORT)
    assert post.config["feature_weights"] == (weights if isinstance(weights, str) else "array")
    assert post.components().iloc[0]["component"] == ("a",)


def interrupt_after(seconds):
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_interrupt_keeps_what_was_drawn():
    X, f, rng = table(2000)
    y = f + rng.normal(size=2000)
    raytpnn.sample(X, y, chains=2, warmup=1, draws=1)
    timer = interrupt_after(1.5)
    begin = time.monotonic()
    with pytest.warns(UserWarning, match="stopped by interrupt"):
        post = raytpnn.sample(X, y, chains=2, warmup=10, draws=1_000_000)
    timer.join()
    assert 0 < post.draws.n_draws < 2_000_000
    assert time.monotonic() - begin < 30, "it should have taken about two seconds"
    assert post.config["stopped"] == "interrupt"
    assert np.all(np.isfinite(post.predict(X.head(3))))
    assert np.all(np.diff(post.draws.draw[post.draws.chain == 0]) == 1)


def test_interrupt_in_warm_up_raises():
    X, f, _ = table(2000)
    raytpnn.sample(X, f, chains=1, warmup=1, draws=1)
    timer = interrupt_after(1.0)
    with pytest.raises(KeyboardInterrupt):
        raytpnn.sample(X, f, chains=2, warmup=1_000_000, draws=1)
    timer.join()


def test_time_limit():
    X, f, _ = table(300)
    with pytest.warns(UserWarning, match="stopped by time limit"):
        post = raytpnn.sample(X, f, chains=2, warmup=5, draws=1_000_000, time_limit=1.0)
    assert post.config["stopped"] == "time limit"


def test_prefix_of_an_interrupted_run_equals_the_whole():
    X, f, _ = table(300)
    with pytest.warns(UserWarning, match="time limit"):
        part = raytpnn.sample(X, f, chains=1, warmup=5, draws=1_000_000, time_limit=0.7).draws
    size = min(part.n_draws, 300)
    whole = raytpnn.sample(X, f, chains=1, warmup=5, draws=size).draws
    assert np.array_equal(part.loglik[:size], whole.loglik)


def test_progress_lines_come(capfd):
    X, f, _ = table(60)
    raytpnn.sample(X, f, progress=True, **SHORT)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "sampling: 100 sweeps per chain, 60 of them warm-up"
    assert any(line.startswith("sweeps ") for line in lines)
