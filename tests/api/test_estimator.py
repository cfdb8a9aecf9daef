"""The estimators keep scikit-learn's conventions, and say what the posterior says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import raytpnn
from raytpnn.estimator import BayesianTPNNClassifier, BayesianTPNNRegressor

TINY = {"chains": 1, "warmup": 40, "draws": 20, "random_state": 0}
SHORT = {"chains": 2, "warmup": 200, "draws": 100, "random_state": 3}
REASON = (
    "weights multiply row log-likelihoods; the encoding (bins and marginals) and the chain's arithmetic see "
    "rows, so that a row of weight 2 is not two rows, nor a row of weight 0 no row"
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": REASON,
    "check_sample_weight_equivalence_on_sparse_data": REASON,
}


@parametrize_with_checks(
    [BayesianTPNNRegressor(**TINY), BayesianTPNNClassifier(**TINY)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    n = 250
    X = pd.DataFrame(
        {
            "age": rng.normal(50.0, 9.0, n),
            "city": rng.choice(["Bonn", "Kiel", "Ulm"], n),
            "noise": rng.normal(size=n),
            "same": np.where(np.arange(n) == 0, 1.0, 0.0),
        }
    )
    X.loc[rng.random(n) < 0.05, "age"] = np.nan
    f = np.nan_to_num((X["age"] - 50.0) / 9.0) + 1.5 * (X["city"] == "Ulm")
    return X, f.to_numpy(), rng


def test_regressor_gives_what_sample_gives(table):
    X, f, rng = table
    y = 10.0 + 2.0 * f + rng.normal(size=len(f))
    weight = rng.random(len(f)) + 0.5
    offset = rng.normal(size=len(f))
    model = BayesianTPNNRegressor(**SHORT, max_bins=40, thin=2).fit(X, y, sample_weight=weight, offset=offset)
    same = raytpnn.sample(
        X,
        y,
        chains=2,
        warmup=200,
        draws=100,
        thin=2,
        seed=3,
        max_bins=40,
        sample_weight=weight,
        offset=offset,
    )
    np.testing.assert_array_equal(model.predict(X, offset=offset), same.predict(X, offset))
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.posterior_.weight, weight)


def test_std_is_that_of_the_predictive_distribution(table):
    X, f, rng = table
    for family, y in (("gaussian", f + rng.normal(size=len(f))), ("poisson", rng.poisson(np.exp(0.5 * f)))):
        model = BayesianTPNNRegressor(family=family, **SHORT).fit(X, y)
        mean, std = model.predict(X, return_std=True)
        post = model.posterior_
        latent = np.concatenate([block for _, block in post.latent_blocks(X)], axis=1)
        replicas = np.concatenate(
            [post.family.sample(rng, latent, post.draws.nuisance[:, None]) for _ in range(20)]
        )
        # 4,000 draws a row: the standard error of a standard deviation is about 1.5 %.
        np.testing.assert_allclose(replicas.std(axis=0), std, rtol=0.15)
        np.testing.assert_allclose(replicas.std(axis=0).mean(), std.mean(), rtol=0.01)
        np.testing.assert_array_equal(mean, model.predict(X))


def test_importances_are_of_input_columns(table):
    X, f, rng = table
    model = BayesianTPNNRegressor(**SHORT).fit(X, f + 0.3 * rng.normal(size=len(f)))
    importance = model.feature_importances_
    assert importance.shape == (4,)
    assert importance.sum() == pytest.approx(1.0)
    assert set(np.argsort(-importance)[:2]) == {0, 1}
    by_column = dict.fromkeys(X.columns, 0.0)
    for row in model.posterior_.components().itertuples():
        for name in row.component:
            by_column[model.posterior_.encoder.source(name)] += row.importance / row.order
    expected = np.array(list(by_column.values()))
    np.testing.assert_allclose(importance, expected / expected.sum())


def test_constant_column_has_no_importance(table):
    X, f, _ = table
    with pytest.warns(UserWarning, match="constant"):
        model = BayesianTPNNRegressor(**TINY).fit(X.assign(noise=1.0), f)
    assert model.feature_importances_[2] == 0.0


def test_classifier_with_text_labels(table):
    X, f, rng = table
    y = np.where(rng.random(len(f)) < 1.0 / (1.0 + np.exp(-2.0 * f)), "yes", "no")
    model = BayesianTPNNClassifier(**SHORT).fit(X, y)
    assert list(model.classes_) == ["no", "yes"]
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), np.where(probability[:, 1] > 0.5, "yes", "no"))
    assert model.score(X, y) > 0.75
    # The posterior knows the labels.
    density = model.posterior_.log_density(X, y)
    np.testing.assert_allclose(
        np.exp(density), np.where(y == "yes", probability[:, 1], probability[:, 0]), rtol=1e-4
    )


def test_classes_are_those_of_the_run_on_disk_too(table, tmp_path):
    X, f, _ = table
    y = np.where(f > 0.3, "ill", "well")
    model = BayesianTPNNClassifier(**TINY, out=tmp_path / "run").fit(X, y)
    assert model.posterior_.classes == ("ill", "well")
    assert raytpnn.load(tmp_path / "run").classes == ("ill", "well")
    longer = raytpnn.resume(tmp_path / "run", draws=40, executor="threads")
    assert longer.classes == ("ill", "well")
    np.testing.assert_array_equal(longer.y, y == "well")
    # A fit that is refused leaves the classes of the fit before; one that is not has its own.
    other = np.where(f > 0.3, 7, 3)
    with pytest.raises(FileExistsError):
        model.fit(X, other)
    assert model.classes_.tolist() == ["ill", "well"]
    model.set_params(out=tmp_path / "again").fit(X, other)
    assert model.classes_.tolist() == [3, 7]
    assert raytpnn.load(tmp_path / "again").classes == (3, 7)


def test_one_number_is_an_offset_in_predict_as_in_fit(table):
    X, f, _ = table
    model = BayesianTPNNRegressor(**TINY).fit(X, f, offset=0.25)
    same = np.full(len(X), 0.25)
    np.testing.assert_array_equal(model.posterior_.offset, same)
    np.testing.assert_array_equal(model.predict(X, offset=0.25), model.predict(X, offset=same))
    np.testing.assert_array_equal(
        model.posterior_.interval(X, offset=1), model.posterior_.interval(X, offset=4 * same)
    )
    with pytest.raises(ValueError, match="offset is nan"):
        model.predict(X, offset=np.nan)
    with pytest.raises(ValueError, match=r"it needs shape \(250,\) or one number"):
        model.predict(X, offset=[1.0, 2.0])


@pytest.mark.parametrize("labels", [(False, True), (3, 7), (-1.0, 2.0)])
def test_labels_come_back_as_they_were(table, labels):
    X, f, _ = table
    y = np.where(f > 0.3, labels[1], labels[0])
    model = BayesianTPNNClassifier(**TINY).fit(X, y)
    assert model.classes_.tolist() == list(labels)
    assert model.predict(X).dtype == y.dtype


def test_pipeline_cross_validation_clone_and_set_output(table):
    X, _, rng = table
    X = X[["age", "noise"]].fillna(50.0)
    y = X["age"].to_numpy() / 9.0 + 0.2 * rng.normal(size=len(X))
    model = make_pipeline(StandardScaler(), BayesianTPNNRegressor(**SHORT)).set_output(transform="pandas")
    scores = cross_val_score(model, X, y, cv=3)
    assert scores.min() > 0.8
    model.fit(X, y)
    assert list(model[-1].feature_names_in_) == ["age", "noise"]
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model[-1].get_params()["chains"] == 2
    other = clone(model).set_params(bayesiantpnnregressor__random_state=4).fit(X, y)
    assert np.any(other.predict(X) != model.predict(X))


def test_random_state_object_and_none(table):
    X, f, _ = table
    one = BayesianTPNNRegressor(**TINY | {"random_state": np.random.RandomState(1)}).fit(X, f).predict(X)
    two = BayesianTPNNRegressor(**TINY | {"random_state": np.random.RandomState(1)}).fit(X, f).predict(X)
    np.testing.assert_array_equal(one, two)
    BayesianTPNNRegressor(**TINY | {"random_state": None}).fit(X, f)


def test_bad_input_is_named(table):
    X, f, _ = table
    with pytest.raises(ValueError, match="unknown family 'bernoulli'; choose one of gaussian, poisson"):
        BayesianTPNNRegressor(family="bernoulli", **TINY).fit(X, f)
    with pytest.raises(ValueError, match=r"0\.5"):
        BayesianTPNNRegressor(family="poisson", **TINY).fit(X, np.full(len(X), 0.5))
    with pytest.raises(ValueError, match="1 class"):
        BayesianTPNNClassifier(**TINY).fit(X, np.full(len(X), "yes"))
    model = BayesianTPNNRegressor(**TINY).fit(X, f)
    with pytest.raises(ValueError, match="Feature names"):
        model.predict(X.drop(columns="city"))
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        model.predict(X[:0])


def test_n_jobs_limits_the_cores_and_changes_no_draw(table, monkeypatch):
    from raytpnn.chains.executors import threads

    seen = []
    plain = threads.local_workers
    monkeypatch.setattr(
        threads,
        "local_workers",
        lambda plan, store, workers, cores: seen.append(cores) or plain(plan, store, workers, cores),
    )
    X, y, _ = table
    fits = [
        BayesianTPNNRegressor(chains=3, warmup=20, draws=10, random_state=1, n_jobs=jobs).fit(X, y)
        for jobs in (1, 3, None)
    ]
    assert seen[:2] == [1, 3]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.predict(X), fits[0].predict(X))
    with pytest.raises(ValueError, match="n_jobs must be a whole number but 0"):
        BayesianTPNNRegressor(n_jobs=0).fit(X, y)
