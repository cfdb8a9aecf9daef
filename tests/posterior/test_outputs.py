"""Posteriors of several outputs: predictions, laws, effects by output, files, estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import softmax

import raytpnn
from raytpnn.families import get_family
from raytpnn.families.outputs import as_records
from raytpnn.posterior.evaluate.scores import score
from raytpnn.posterior.verdict import quiet

SIZE = {"chains": 2, "warmup": 80, "draws": 40, "seed": 3, "progress": False, "executor": "threads"}
LABELS = ("low", "middle", "high")


def table(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(["u", "v"], n)})


@pytest.fixture(scope="module")
def classes():
    X = table()
    y = np.array(LABELS)[np.digitize(X["a"] + 0.3 * (X["c"] == "v"), [-0.5, 0.6])]
    with quiet():
        return X, y, raytpnn.sample(X, y, family="multinomial", **SIZE)


@pytest.fixture(scope="module")
def varying():
    X = table(200)
    rng = np.random.default_rng(6)
    y = 3.0 + X["a"].to_numpy() + np.exp(-1.0 + 0.8 * X["b"].to_numpy()) * rng.normal(size=200)
    with quiet():
        return X, y, raytpnn.sample(X, y, family="heteroscedastic", **SIZE)


def test_probabilities_and_their_credible_intervals(classes):
    X, y, post = classes
    assert post.classes == ("high", "low", "middle")
    p = post.predict(X)
    draws = post.predict_draws(X)
    assert draws.shape == (80, len(X), 3)
    np.testing.assert_allclose(draws.sum(axis=-1), 1.0)
    np.testing.assert_allclose(draws.mean(axis=0), p)
    assert np.mean(np.array(post.classes)[p.argmax(axis=1)] == y) > 0.85
    wide, narrow = post.interval(X, 0.9), post.interval(X, 0.5)
    assert wide.shape == (len(X), 3, 2)
    assert np.all((wide[..., 0] <= narrow[..., 0]) & (narrow[..., 1] <= wide[..., 1]))
    np.testing.assert_allclose(wide[..., 1], np.quantile(draws, 0.95, axis=0))
    own = p[np.arange(len(y)), [post.classes.index(label) for label in y]]
    np.testing.assert_allclose(post.log_density(X, y), np.log(own))
    with pytest.raises(ValueError, match="classes have no quantiles"):
        post.quantile(X, 0.5)
    with pytest.raises(ValueError, match="y is 'none' in row 0; the classes are 'high', 'low' and 'middle'"):
        post.log_density(X[:1], ["none"])


def test_effects_of_every_output_add_up_to_its_score(classes, varying):
    for X, _, post in (classes, varying):
        latent = post.predict_latent(X)
        total = post.contributions(X)
        assert tuple(latent.dtype.names) == post.outputs == tuple(dict.fromkeys(total["output"]))
        common = []
        for name in post.outputs:
            view = post.output(name)
            parts = view.contributions(X)
            common.append(latent[name] - parts.sum(axis=1) - view.intercept_mean)
            shapley = view.shapley(X)
            np.testing.assert_allclose(shapley.sum(axis=1), parts.sum(axis=1), atol=1e-6)
        # Of classes, what all intercepts have in common is left out; of others, nothing.
        np.testing.assert_allclose(common, np.mean(common), atol=1e-6)
        assert post.family.shift_invariant or abs(np.mean(common)) < 1e-6
        components = post.components()
        assert components.columns[0] == "output"
        assert set(components["output"]) <= set(post.outputs)
        assert set(post.component("a", grid=[0.0, 1.0])["output"]) == set(post.outputs)


def test_a_view_of_an_output_has_no_law(varying):
    _, _, post = varying
    with pytest.raises(ValueError, match="no output 'sd'; its outputs are 'mean', 'log_sd'"):
        post.output("sd")
    with pytest.raises(ValueError, match="select is for families of one output"):
        post.select()


def test_noise_varies_where_it_does(varying):
    X, y, post = varying
    quiet_rows, loud_rows = X["b"] < -0.7, X["b"] > 0.7
    width = np.diff(post.interval(X, 0.8), axis=1)[:, 0]
    assert width[loud_rows].mean() > 1.5 * width[quiet_rows].mean()
    np.testing.assert_allclose(post.predict(X), post.predict_latent(X)["mean"], rtol=1e-6)
    scores = score(post, X, y)
    assert {"nll", "rmse", "crps", "coverage", "width"} == set(scores)
    fitted = -len(y) * scores["nll"]
    assert fitted - 60.0 < post.loo().elpd < fitted
    check = post.predictive_check(draws=40)
    assert np.all(np.isfinite(check["p_value"]))


def test_the_users_scale_of_the_noise(varying):
    """Ten times the response: the mean is ten times, the log of the noise log 10 more."""
    X, y, post = varying
    with quiet():
        tenfold = raytpnn.sample(X, 10.0 * y, family="heteroscedastic", **SIZE)
    here, there = post.predict_latent(X), tenfold.predict_latent(X)
    np.testing.assert_allclose(there["mean"], 10.0 * here["mean"], rtol=1e-6)
    np.testing.assert_allclose(there["log_sd"], here["log_sd"] + np.log(10.0), rtol=1e-6)
    np.testing.assert_allclose(
        tenfold.log_density(X, 10.0 * y), post.log_density(X, y) - np.log(10.0), rtol=1e-6
    )
    rows = float(np.mean(post.draws.loglik))
    density = np.mean(
        post.family.log_density(y, post.predictor.latent(*post.encode_rows(X)), 1.0).sum(axis=1)
    )
    assert rows == pytest.approx(density, rel=1e-5)


def test_laws_agree_with_scipy():
    rng = np.random.default_rng(4)
    mean, log_sd = rng.normal(size=(2, 7))
    varying, law = get_family("heteroscedastic"), stats.norm(mean, np.exp(log_sd))
    f = as_records([mean, log_sd], varying.outputs)
    for y in (-1.0, 0.3):
        np.testing.assert_allclose(varying.log_density(y, f, 1.0), law.logpdf(y))
        np.testing.assert_allclose(varying.cdf(y, f, 1.0), law.cdf(y))
    np.testing.assert_allclose(varying.quantile(0.9, f, 1.0), law.ppf(0.9))
    np.testing.assert_allclose(varying.variance(f), law.var())
    classes = get_family("multinomial").with_classes("abc")
    scores = rng.normal(size=(3, 7))
    f, p = as_records(scores, classes.outputs), softmax(scores, axis=0)
    np.testing.assert_allclose(classes.mean(f), p.T)
    for y in range(3):
        np.testing.assert_allclose(classes.log_density(y, f, 1.0), np.log(p[y]))
        np.testing.assert_allclose(classes.cdf(y, f, 1.0), p[: y + 1].sum(axis=0))
    drawn = classes.sample(rng, np.repeat(f, 20_000), 1.0).reshape(7, -1)
    for y in range(3):
        np.testing.assert_allclose(np.mean(drawn == y, axis=1), p[y], atol=0.02)


@pytest.mark.parametrize("name", ["classes", "varying"])
def test_files_keep_outputs(name, request, tmp_path):
    X, _, post = request.getfixturevalue(name)
    post.save(tmp_path / "run")
    loaded = raytpnn.load(tmp_path / "run")
    assert loaded.outputs == post.outputs
    assert loaded.classes == post.classes
    assert np.array_equal(loaded.predict(X), post.predict(X))
    assert np.array_equal(loaded.draws.output, post.draws.output)
    assert np.array_equal(loaded.draws.intercepts, post.draws.intercepts)
    assert set(loaded.draws.output) == set(range(len(post.outputs)))


def test_a_run_goes_on_as_if_nothing_had_happened(classes, tmp_path):
    X, y, post = classes
    with quiet():
        raytpnn.sample(X, y, family="multinomial", out=tmp_path / "run", **SIZE)
        blocks = sorted((tmp_path / "run" / "checkpoint" / "chain=1").glob("block=*"))
        blocks[-1].unlink()
        (tmp_path / "run" / "draws" / "chain=1" / f"{blocks[-1].name}.parquet").unlink()
        resumed = raytpnn.resume(tmp_path / "run", executor="threads", progress=False)
    assert np.array_equal(resumed.predict(X), post.predict(X))


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ({"backend": "cuda"}, "backend='cuda' does not go with"),
        ({"shards": 2}, "shards=2 does not go with"),
        ({"delayed_acceptance": True}, "delayed_acceptance=True does not go with"),
        ({"feature_weights": "screen"}, "feature_weights='screen' does not go with"),
        ({"offset": 1.0}, "an offset does not go with"),
    ],
)
def test_what_several_outputs_do_not_go_with_is_refused_before_data_are_read(option, word):
    with pytest.raises(ValueError, match=word):
        raytpnn.sample("no such file.csv", "y", family="multinomial", **option)


def test_gradients_agree_with_differences():
    rng = np.random.default_rng(2)
    for name in ("heteroscedastic", "multinomial"):
        family = get_family(name).with_classes((0, 1, 2))
        fits = rng.normal(size=(family.n_outputs, 40))
        y = family.sample(rng, as_records(fits, family.outputs), 1.0)
        w, h = rng.uniform(0.5, 2.0, 40), 1e-6
        for output in range(family.n_outputs):
            up, down = fits.copy(), fits.copy()
            up[output] += h
            down[output] -= h
            above, below = (
                family.reference_rows(y, moved[output], w, 1.0, fits, output)[2] for moved in (up, down)
            )
            score, curvature, loglik = family.reference_rows(y, fits[output], w, 1.0, fits, output)
            np.testing.assert_allclose(score, (above - below) / (2 * h), atol=1e-5)
            assert np.all(curvature > 0.0)
            law = w * family.log_density(y, as_records(fits, family.outputs), 1.0)
            constant = family.log_constant(y, w) / w.sum() * w
            np.testing.assert_allclose(loglik + constant, law, atol=1e-9)


def test_the_classifier_takes_three_classes(classes):
    X, y, _ = classes
    model = raytpnn.BayesianTPNNClassifier(chains=2, warmup=80, draws=40, random_state=3)
    with quiet():
        model.fit(X, y)
    assert list(model.classes_) == sorted(LABELS)
    probability = model.predict_proba(X)
    assert probability.shape == (len(X), 3)
    assert np.array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    assert model.score(X, y) > 0.85
    assert model.feature_importances_.argmax() == 0
