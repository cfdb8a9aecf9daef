"""Importance, contributions, Shapley values and curves against sums over terms in NumPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.component_cases import reference_components
from support.posterior_cases import random_frame, random_posterior

from raytpnn.draws.draws import Draws
from raytpnn.forward import norms
from raytpnn.posterior.effects import components
from raytpnn.posterior.effects.curves import credible_bands
from raytpnn.posterior.posterior import Posterior


@pytest.fixture(scope="module")
def fitted():
    return random_posterior(np.random.default_rng(21), n=150, terms=12, length=15)


def test_components_agree_with_reference(fitted):
    post, _ = fitted
    expected = reference_components(post, post.bins.codes)
    table = post.components(level=0.8)
    assert list(table.columns) == [
        "component",
        "order",
        "importance",
        "importance_low",
        "importance_high",
        "share_of_draws",
    ]
    assert set(table["component"]) == set(expected)
    assert table["importance"].is_monotonic_decreasing
    held = post.terms().groupby("features").ngroup()
    assert len(held) == len(post.draws.beta)
    for row in table.itertuples():
        norm = np.sqrt(np.mean(expected[row.component] ** 2, axis=1))
        assert row.order == len(row.component)
        assert row.importance == pytest.approx(norm.mean(), rel=1e-5)
        low, high = np.quantile(norm, [0.1, 0.9])
        assert row.importance_low == pytest.approx(low, rel=1e-5, abs=1e-7)
        assert row.importance_high == pytest.approx(high, rel=1e-5, abs=1e-7)


def test_components_by_column_add_up_levels_first(fitted):
    post, _ = fitted
    expected = {}
    for names, f in reference_components(post, post.bins.codes).items():
        columns = {post.encoder.source(post.encoder.index(name)) for name in names}
        key = tuple(name for name in post.encoder.input_names if name in columns)
        expected[key] = expected.get(key, 0.0) + f
    table = post.components(level=0.8, by="column")
    assert set(table["component"]) == set(expected)
    assert len(table) < len(post.components())
    assert table["importance"].is_monotonic_decreasing
    for row in table.itertuples():
        norm = np.sqrt(np.mean(expected[row.component] ** 2, axis=1))
        assert row.order == len(row.component)
        assert row.importance == pytest.approx(norm.mean(), rel=1e-5)
        assert row.importance_high == pytest.approx(np.quantile(norm, 0.9), rel=1e-5, abs=1e-7)
    # Adding up norms, not functions, would be another number.
    separate = post.components().set_index("component")["importance"]
    levels = [name for name in separate.index if len(name) == 1 and name[0].startswith("city")]
    assert len(levels) > 1
    assert table.set_index("component")["importance"][("city",)] < 0.99 * separate[levels].sum()
    with pytest.raises(ValueError, match="by 'feature' or by 'column', not by 'row'"):
        post.components(by="row")


def test_inclusion_is_the_share_of_draws_above_four_standard_errors(fitted):
    post, _ = fitted
    n = len(post.y)
    assert post.family.name == "gaussian"
    assert post.negligible == pytest.approx(4.0 * np.sqrt(post.draws.nuisance.mean() / n))
    norm = {
        own: np.sqrt(np.mean(f**2, axis=1)) for own, f in reference_components(post, post.bins.codes).items()
    }
    table = post.components()
    for row in table.itertuples():
        assert row.share_of_draws == pytest.approx(np.mean(norm[row.component] > post.negligible))
    assert ((table["share_of_draws"] > 0.0) & (table["share_of_draws"] < 1.0)).any()


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_what_is_negligible_is_four_standard_errors_of_the_link(family):
    """Of a fit of the intercept alone, by its observed information at the mean; weights count as rows."""
    rng = np.random.default_rng(8)
    post, _ = random_posterior(rng, family=family)
    weight = rng.integers(1, 4, len(post.y)).astype(float)
    post = Posterior(post.draws, post.encoder, post.bins, post.family, post.y, weight)
    mean = np.average(post.y, weights=weight)
    f = np.log(mean / (1.0 - mean)) if family == "bernoulli" else np.log(mean)

    def loglik(f):
        return np.sum(weight * post.family.row_loglik(post.y, np.full(len(post.y), f)))

    step = 1e-3
    information = -(loglik(f + step) - 2.0 * loglik(f) + loglik(f - step)) / step**2
    # The draws are random, and have a nuisance even so.
    expected = 4.0 * np.sqrt(post.draws.nuisance.mean() / information)
    assert post.negligible == pytest.approx(expected, rel=1e-4)


def test_nothing_is_evidence_without_data():
    post, _ = random_posterior(np.random.default_rng(9))
    nothing = Posterior(post.draws, post.encoder, post.bins, post.family, post.y, np.zeros(len(post.y)))
    assert nothing.components()["share_of_draws"].max() == 0.0
    assert post.components()["importance"].equals(nothing.components()["importance"])


def test_terms_of_one_set_in_another_order_are_one_component():
    post, _ = random_posterior(np.random.default_rng(3))
    ones = np.ones(1)
    draws = Draws(
        chain=np.zeros(1, np.int32),
        draw=np.zeros(1, np.int32),
        loglik=ones,
        intercept=ones,
        nuisance=ones,
        b_gamma=ones,
        sigma_beta2=ones,
        term_start=np.array([0, 2]),
        beta=np.array([1.0, -1.0]),
        variable_start=np.array([0, 2, 4]),
        feature=np.array([0, 1, 1, 0], np.int32),
        b=np.array([0.3, 0.6, 0.6, 0.3]),
        gamma=np.array([0.1, 0.2, 0.2, 0.1]),
    )
    table = Posterior(draws, post.encoder, post.bins, post.family, post.y).components()
    assert list(table["component"]) == [("age", "income")]
    assert table["importance"][0] == pytest.approx(0.0, abs=1e-6)
    assert table["share_of_draws"][0] == 0.0


def test_many_rows_are_thinned(fitted, monkeypatch):
    post, _ = fitted
    monkeypatch.setattr(norms, "MAX_ROWS", 40)
    rows = norms.evenly_spaced(post.bins.n_rows, 40)
    assert len(rows) == 40
    assert rows[0] == 0
    assert rows[-1] == post.bins.n_rows - 1
    expected = reference_components(post, post.bins.codes[:, rows])
    thinned = Posterior(post.draws, post.encoder, post.bins, post.family, post.y).components()
    top = thinned.iloc[0]
    norm = np.sqrt(np.mean(expected[top["component"]] ** 2, axis=1))
    assert top["importance"] == pytest.approx(norm.mean(), rel=1e-5)


def test_contributions_agree_with_reference_and_add_up(fitted):
    post, _ = fitted
    new = random_frame(np.random.default_rng(22), 60, missing=0.2)
    table = post.contributions(new)
    expected = reference_components(post, post.encoder.transform(new))
    assert list(table.columns) == list(post.components()["component"])
    for name in table.columns:
        np.testing.assert_allclose(table[name], expected[name].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(table.sum(axis=1) + post.intercept_mean, post.predict(new), atol=1e-10)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_contributions_add_up_to_the_latent_mean(family):
    post, X = random_posterior(np.random.default_rng(23), family)
    total = post.contributions(X).sum(axis=1) + post.intercept_mean
    latent = np.concatenate([f.mean(axis=0) for _, f in post.latent_blocks(X)])
    np.testing.assert_allclose(total, latent, atol=1e-5)
    np.testing.assert_allclose(total, post.predict_latent(X), atol=1e-10)


def test_contribution_of_a_missing_feature_is_zero(fitted):
    post, X = fitted
    table = post.contributions(X.assign(age=np.nan))
    with_age = [name for name in table.columns if "age" in name]
    assert with_age
    assert np.all(table[with_age] == 0.0)
    assert np.any(table.drop(columns=with_age) != 0.0)


@pytest.mark.parametrize("top", [0, 1, 3, 10_000])
def test_rest_holds_what_is_not_on_top(fitted, top):
    post, X = fitted
    everything, some = post.contributions(X), post.contributions(X, top=top)
    kept = list(everything.columns[:top])
    assert list(some.columns) == [*kept, components.REST]
    np.testing.assert_allclose(some[kept], everything[kept], atol=1e-12)
    np.testing.assert_allclose(some[components.REST], everything.drop(columns=kept).sum(axis=1), atol=1e-10)


def test_shapley_shares_components_equally(fitted, monkeypatch):
    post, X = fitted
    monkeypatch.setattr(components, "BATCH_CELLS", 5 * len(X))
    table = post.shapley(X)
    assert list(table.columns) == list(post.bins.names)
    contributions = post.contributions(X)
    for name in table.columns:
        shares = [contributions[s] / len(s) for s in contributions.columns if name in s]
        np.testing.assert_allclose(table[name], sum(shares), atol=1e-12)
    np.testing.assert_allclose(table.sum(axis=1) + post.intercept_mean, post.predict(X), atol=1e-10)


def test_shapley_of_used_features_only():
    post, X = random_posterior(np.random.default_rng(2), terms=1, chains=1, length=2)
    used = [post.bins.names[j] for j in post.draws.used_features()]
    table = post.shapley(X, used_only=True)
    assert 0 < len(used) < post.bins.n_features
    assert list(table.columns) == used
    pd.testing.assert_frame_equal(table, post.shapley(X)[used])


def test_shapley_satisfies_its_definition():
    # Average over orders of the gain when features become known one after the other; unknown means missing.
    from itertools import permutations

    post, X = random_posterior(np.random.default_rng(24), terms=10)
    X = X.iloc[:4][["age", "income", "rooms"]].assign(owner=np.nan, city=None)
    known = ["age", "income", "rooms"]
    gain = dict.fromkeys(known, 0.0)
    for order in permutations(known):
        table = X.assign(**dict.fromkeys(known, np.nan))
        before = post.predict_latent(table)
        for name in order:
            table = table.assign(**{name: X[name]})
            after = post.predict_latent(table)
            gain[name] = gain[name] + (after - before) / 6
            before = after
    for name in known:
        np.testing.assert_allclose(post.shapley(X)[name], gain[name], atol=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_curve_agrees_with_reference(fitted, order):
    post, _ = fitted
    table = post.components()
    name = table[table["order"] == order]["component"].iloc[0]
    codes = np.stack([post.bins.codes[post.encoder.index(feature)] for feature in name])
    inside = np.all(codes != post.bins.missing_code, axis=0)
    grid = {
        feature: post.encoder.representatives(feature)[code[inside]]
        for feature, code in zip(name, codes, strict=True)
    }
    curve = post.component(name[::-1], grid, level=0.9)
    assert list(curve.columns[:order]) == list(name)
    f = reference_components(post, post.bins.codes)[name][:, inside]
    np.testing.assert_allclose(curve["mean"], f.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(curve[["low", "high"]].T, np.quantile(f, [0.05, 0.95], axis=0), atol=1e-5)
    array = np.stack([grid[feature] for feature in name[::-1]], axis=1)
    pd.testing.assert_frame_equal(curve, post.component(name[::-1], array, level=0.9))


def test_curve_at_cut_points_agrees_with_contributions(fitted):
    post, X = fitted
    cuts = post.encoder.bin_edges("age")
    rows = X.iloc[[0] * len(cuts)].assign(age=cuts)
    np.testing.assert_allclose(
        post.component("age", cuts)["mean"], post.contributions(rows)[("age",)], atol=1e-5
    )


def test_default_grid_covers_the_training_range(fitted):
    post, X = fitted
    curve = post.component("age")
    assert curve["age"].is_monotonic_increasing
    assert curve["age"].min() == X["age"].min()
    assert curve["age"].max() == X["age"].max()
    both = post.component(["income", "age"])
    assert list(both.columns[:2]) == ["age", "income"]
    assert len(both) == 40 * 40


def test_default_grid_of_many_features_is_bounded_and_reaches_all_values():
    post, _ = random_posterior(np.random.default_rng(8), terms=2, chains=1, length=3)
    names = list(post.encoder.labels)
    assert len(names) >= 6
    for order in range(3, len(names) + 1):
        curve = post.component(names[:order])
        assert 200 < len(curve) <= 14**3
        assert not curve[names[:order]].duplicated().any()
    for name in names:
        assert curve[name].nunique() == min(7, len(post.encoder.representatives(name)))


def test_bands_hold_their_share_of_draws(fitted):
    post, _ = fitted
    rng = np.random.default_rng(25)
    walks = np.cumsum(rng.normal(size=(500, 30)), axis=1)
    # The second is zero in most draws and far off, on one side, in some: a component that may be absent.
    for f in (walks, np.where(rng.random((500, 1)) < 0.2, np.exp(walks / 4), 0.0)):
        bands = credible_bands(f, 0.9)
        inside = (bands["simultaneous_low"] <= f) & (f <= bands["simultaneous_high"])
        assert np.all(inside, axis=1).mean() == pytest.approx(0.9, abs=0.003)
        assert np.mean((bands["low"] <= f) & (f <= bands["high"])) == pytest.approx(0.9, abs=0.06)
        assert np.all(np.all((bands["low"] <= f) & (f <= bands["high"]), axis=1).mean() < 0.9)
        assert np.all(bands["simultaneous_low"] <= bands["low"])
        assert np.all(bands["simultaneous_high"] >= bands["high"])
    curve = post.component("age", level=0.9)
    assert np.all(curve["simultaneous_low"] <= curve["mean"])
    wide, narrow = (curve["simultaneous_high"] - curve["simultaneous_low"]), (curve["high"] - curve["low"])
    assert wide.mean() > narrow.mean()


def test_component_that_no_draw_holds_is_zero():
    post, _ = random_posterior(np.random.default_rng(2), terms=1, chains=1, length=2)
    held = set(post.components()["component"])
    absent = next(name for name in post.bins.names if (name,) not in held)
    curve = post.component(absent)
    assert np.all(curve[["mean", "low", "high", "simultaneous_low", "simultaneous_high"]] == 0.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda post, X: post.components(level=0.0), ValueError, "level must lie between 0 and 1, not 0.0"),
        (lambda post, X: post.contributions(X, top=-1), ValueError, "top must be .* not -1"),
        (lambda post, X: post.contributions(X, top="3"), ValueError, "top must be .* not '3'"),
        (lambda post, X: post.component("height"), KeyError, "height"),
        (lambda post, X: post.component(["age", "age"]), ValueError, "different features"),
        (lambda post, X: post.component([]), ValueError, "one or more"),
        (lambda post, X: post.component("age", {"rooms": [1.0]}), ValueError, "no column 'age'"),
        (lambda post, X: post.component("age", np.zeros((3, 2))), ValueError, r"shape \(3, 2\)"),
        (lambda post, X: post.component("age", [np.inf]), ValueError, "infinite in column 'age'"),
        (
            lambda post, X: post.component(["age", "rooms"], {"age": [1], "rooms": [1, 2]}),
            ValueError,
            r"\[1, 2\]",
        ),
    ],
)
def test_bad_input(fitted, call, error, message):
    with pytest.raises(error, match=message):
        call(*fitted)


def test_table_too_large_to_hold(fitted, monkeypatch):
    post, X = fitted
    monkeypatch.setattr(components, "MAX_CELLS", 100)
    with pytest.raises(ValueError, match="top="):
        post.contributions(X)
    with pytest.raises(ValueError, match="used_only=True"):
        post.shapley(X)


def test_draws_without_terms():
    post, X = random_posterior(np.random.default_rng(5), terms=0)
    assert len(post.components()) == 0
    assert post.contributions(X).shape == (len(X), 0)
    assert list(post.contributions(X, top=2).columns) == [components.REST]
    assert np.all(post.shapley(X) == 0.0)
    np.testing.assert_allclose(post.predict(X), post.intercept_mean)
