"""Interaction strengths, Shapley intervals, stability and novelty against sums over draws."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from support.component_cases import reference_components
from support.posterior_cases import random_frame, random_posterior

from raytpnn.posterior.effects import shapley as shapley_intervals
from raytpnn.posterior.evaluate import stability
from raytpnn.posterior.evaluate.out_of_distribution import certainty, detection_auroc
from raytpnn.posterior.evaluate.stability import component_stability, stability_score
from raytpnn.posterior.posterior import Posterior


@pytest.fixture(scope="module")
def fitted():
    return random_posterior(np.random.default_rng(111), n=120, terms=12, length=15)


def test_interactions_agree_with_reference(fitted):
    post, _ = fitted
    squares, holders = {}, {}
    for component, f in reference_components(post, post.bins.codes).items():
        for pair in combinations(component, 2):
            squares[pair] = squares.get(pair, 0.0) + np.mean(f**2, axis=1)
            holders.setdefault(pair, []).append(component)
    table = post.interactions(level=0.8)
    assert list(table["pair"].map(set)) == [set(pair) for pair in table["pair"]]
    assert set(table["pair"]) == set(squares)
    assert table["importance"].is_monotonic_decreasing
    for row in table.itertuples():
        norm = np.sqrt(squares[row.pair])
        assert row.importance == pytest.approx(norm.mean(), rel=1e-5)
        low, high = np.quantile(norm, [0.1, 0.9])
        assert row.importance_low == pytest.approx(low, rel=1e-5, abs=1e-7)
        assert row.importance_high == pytest.approx(high, rel=1e-5, abs=1e-7)
        assert row.share_of_draws == pytest.approx(np.mean(norm > post.negligible))
        assert row.components == len(holders[row.pair])


def test_no_interactions():
    post, _ = random_posterior(np.random.default_rng(112), terms=0)
    assert len(post.interactions()) == 0


def test_shapley_intervals_agree_with_reference(fitted, monkeypatch):
    post, _ = fitted
    X = random_frame(np.random.default_rng(113), 30, missing=0.2)
    monkeypatch.setattr(shapley_intervals, "LATENT_ENTRIES", 7 * post.draws.n_draws)
    table = post.shapley(X, level=0.8)
    values = {name: np.zeros((post.draws.n_draws, 30)) for name in post.bins.names}
    for component, f in reference_components(post, post.encoder.transform(X)).items():
        for name in component:
            values[name] += f / len(component)
    assert list(table.columns.get_level_values("feature").unique()) == list(post.bins.names)
    means = post.shapley(X)
    for name, value in values.items():
        np.testing.assert_array_equal(table[name]["mean"], means[name])
        expected = np.quantile(value, [0.1, 0.9], axis=0)
        np.testing.assert_allclose(table[name][["low", "high"]].T, expected, atol=1e-5)
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1, not 1\.0"):
        post.shapley(X, level=1.0)


def test_shapley_intervals_of_used_features_only():
    post, X = random_posterior(np.random.default_rng(2), terms=1, chains=1, length=2)
    some, everything = post.shapley(X, used_only=True, level=0.9), post.shapley(X, level=0.9)
    used = some.columns.get_level_values(0).unique()
    assert 0 < len(used) < post.bins.n_features
    assert some.equals(everything[used])
    unused = [name for name in post.bins.names if name not in used]
    assert np.all(everything[unused] == 0.0)


@pytest.fixture(scope="module")
def fits():
    return [random_posterior(np.random.default_rng(seed), n=100, terms=4, length=5)[0] for seed in (1, 2, 3)]


@pytest.mark.parametrize("order", [1, 2])
def test_stability_agrees_with_its_formula(fits, order, monkeypatch):
    X = random_frame(np.random.default_rng(114), 40)
    monkeypatch.setattr(stability, "BATCH_CELLS", 300)
    tables = [fit.contributions(X) for fit in fits]
    names = fits[0].bins.names
    score = 0.0
    sets = [s for d in range(1, order + 1) for s in combinations(names, d)]
    found = component_stability(fits, X, order).set_index("component")
    for members in sets:
        f = np.stack([t[members].to_numpy() if members in t.columns else np.zeros(40) for t in tables])
        for i in range(40):
            if np.any(f[:, i]):
                score += np.sum((f[:, i] - f[:, i].mean()) ** 2) / np.sum(f[:, i] ** 2) / 40
        held = sum(members in t.columns for t in tables)
        assert (found.loc[[tuple(sorted(members))], "fits"].item() if held else 0) == held
    assert stability_score(fits, X, order) == pytest.approx(score / len(sets), rel=1e-9)


def test_equal_fits_are_stable_and_lone_components_are_not(fits):
    X = random_frame(np.random.default_rng(115), 40, missing=0.0)
    assert stability_score([fits[0]] * 3, X) == pytest.approx(0.0, abs=1e-12)
    empty = fits[0].draws.take(np.flatnonzero(fits[0].draws.K == 0)[:0])
    assert empty.n_draws == 0
    nothing, _ = random_posterior(np.random.default_rng(4), n=100, terms=0)
    table = component_stability([fits[0], nothing, nothing], X)
    np.testing.assert_allclose(table["score"], 1 - 1 / 3)
    assert set(table["fits"]) == {1}


def test_fits_may_number_features_differently(fits):
    X = random_frame(np.random.default_rng(116), 100)
    order = [4, 2, 0, 1, 3]
    one, _ = random_posterior(np.random.default_rng(5), n=100, terms=4, length=5)
    from raytpnn.data.encoding.encoder import Encoder

    training = random_frame(np.random.default_rng(5), 100)
    encoder, bins = Encoder.fit(training.iloc[:, order])
    place = np.array([bins.names.index(name) for name in one.bins.names], np.int32)
    draws = one.draws.take(np.arange(one.draws.n_draws))
    object.__setattr__(draws, "feature", place[draws.feature])
    other = Posterior(draws, encoder, bins, one.family, one.y)
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-6)
    assert stability_score([one, other], X, 2) == pytest.approx(0.0, abs=1e-9)


def test_bad_stability_input(fits):
    X = random_frame(np.random.default_rng(117), 10)
    with pytest.raises(ValueError, match="give two or more, not 1"):
        stability_score(fits[:1], X)
    with pytest.raises(ValueError, match=r"max_order must be .* not 0"):
        stability_score(fits, X, 0)


def test_certainty_and_detection():
    post, X = random_posterior(np.random.default_rng(118), "bernoulli", scale=2.0)
    p = post.predict(X)
    score = certainty(post, X)
    np.testing.assert_allclose(2.0 ** (score - 1.0), np.where(p > 0.5, p, 1 - p))
    assert np.all((score >= 0.0) & (score <= 1.0))
    sure, unsure = X[score > np.median(score)], X[score <= np.median(score)]
    assert detection_auroc(post, sure, unsure) == 1.0
    assert detection_auroc(post, unsure, sure) == 0.0
    assert detection_auroc(post, X, X) == pytest.approx(0.5)


def test_certainty_is_for_classes():
    post, X = random_posterior(np.random.default_rng(119))
    with pytest.raises(ValueError, match=r"not 'gaussian'.*predictive_sd"):
        certainty(post, X)
