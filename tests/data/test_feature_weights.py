"""Weights of features, given or by importance."""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.synthetic import make
from raytpnn.families import get_family
from raytpnn.model import boosted
from raytpnn.model.feature_weights import resolve_feature_weights
from raytpnn.model.marginal import explained_variation

NAN = float("nan")
GAUSSIAN, BERNOULLI, POISSON = (get_family(name) for name in ("gaussian", "bernoulli", "poisson"))
# The 20 features of madelon that carry its signal: five, and fifteen made from them.
MADELON = [29, 49, 65, 106, 129, 154, 242, 282, 319, 337, 339, 379, 434, 443, 452, 454, 456, 473, 476, 494]


@pytest.fixture
def table():
    """Inputs a, motor (three levels), b; features a, motor=A, motor=B, motor=C, b."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=60), "motor": rng.choice(list("ABC"), 60), "b": rng.normal(size=60)}
    )
    encoder, bins = Encoder.fit(frame)
    return encoder, bins, rng.normal(size=60)


def resolve(spec, table, **more):
    encoder, bins, y = table
    weights = resolve_feature_weights(spec, bins, y, GAUSSIAN, encoder, **more)
    assert weights.dtype == np.float64
    assert (weights > 0).all()
    assert abs(weights.sum() - 1) < 1e-12
    return weights


def test_none_is_uniform(table):
    np.testing.assert_allclose(resolve(None, table), np.full(5, 0.2))


def test_arrays_by_feature_and_by_column(table):
    np.testing.assert_allclose(resolve([1, 2, 3, 4, 10], table), np.array([1, 2, 3, 4, 10]) / 20)
    np.testing.assert_allclose(resolve(np.array([1.0, 3.0, 6.0]), table), [0.1, 0.1, 0.1, 0.1, 0.6])
    _, bins, y = table
    np.testing.assert_allclose(
        resolve_feature_weights([1, 1, 1, 1, 4], bins, y, GAUSSIAN), np.array([1, 1, 1, 1, 4]) / 8
    )


def test_mappings_by_name(table):
    expected = [0.1, 0.1, 0.1, 0.1, 0.6]
    np.testing.assert_allclose(resolve({"motor": 3, "b": 6, "a": 1}, table), expected)
    np.testing.assert_allclose(resolve(pd.Series({"motor": 3.0, "b": 6.0, "a": 1.0}), table), expected)
    mixed = {"motor": 3, "motor=B": 4, "b": 6, "a": 1}
    np.testing.assert_allclose(resolve(mixed, table), np.array([1, 1, 4, 1, 6]) / 13)
    np.testing.assert_allclose(resolve(pd.Series([1.0, 3.0, 6.0]), table), expected)


def test_weights_of_dropped_columns_do_not_count():
    frame = pd.DataFrame({"constant": 1.0, "a": [1.0, 2.0, 3.0], "motor": ["A", "B", "C"]})
    with pytest.warns(UserWarning, match="constant"):
        encoder, bins = Encoder.fit(frame)
    table = encoder, bins, np.zeros(3)
    np.testing.assert_allclose(resolve([NAN, 1.0, 3.0], table), [0.25, 0.25, 0.25, 0.25])


def test_as_many_columns_as_features_need_names():
    frame = pd.DataFrame({"c1": 1, "c2": 2, "motor": ["A", "B", "C"]})
    with pytest.warns(UserWarning, match="dropped 2"):
        encoder, bins = Encoder.fit(frame)
    with pytest.raises(ValueError, match=r"as many input columns as encoded features.*give a mapping"):
        resolve([1, 2, 3], (encoder, bins, np.zeros(3)))
    np.testing.assert_allclose(resolve({"motor": 2}, (encoder, bins, np.zeros(3))), np.full(3, 1 / 3))


@pytest.mark.parametrize("bad", [0, -1, NAN, np.inf])
def test_bad_weights_are_named(table, bad):
    with pytest.raises(
        ValueError, match=f"feature_weights is {bad:g} for 'motor=B'; weights must be above 0"
    ):
        resolve([1, 1, bad, 1, 1], table)
    with pytest.raises(ValueError, match=f"feature_weights is {bad:g} for 'motor'"):
        resolve([1, bad, 1], table)
    with pytest.raises(ValueError, match=f"feature_weights is {bad:g} for 'b'"):
        resolve({"a": 1, "motor": 1, "b": bad}, table)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gini", "unknown feature_weights 'gini'; choose None, an array, 'uniform', 'xgboost', 'marginal'"),
        ([1, 2], r"shape \(2,\); give one dimension of length 5 \(encoded features\) or 3 \(input columns\)"),
        ([[1, 2, 3, 4, 5]], r"shape \(1, 5\)"),
        (["x", "y", "z"], "feature_weights must be numbers"),
        (object(), "feature_weights must be numbers"),
        ({"a": 1, "b": 1}, "no weight to 'motor=A', 'motor=B', 'motor=C'"),
        ({"a": 1, "b": 1, "motor": 1, "c": 1}, "neither feature nor column: 'c'"),
    ],
)
def test_bad_specifications(table, spec, message):
    with pytest.raises(ValueError, match=message):
        resolve(spec, table)


# Named schemes


@pytest.mark.parametrize("scheme", ["marginal", "xgboost"])
@pytest.mark.parametrize("name", ["f1", "f2", "f3", "poisson"])
def test_schemes_find_what_matters(scheme, name):
    data = make(name, 2000, seed=1)
    encoder, bins = Encoder.fit(data.X)
    family = POISSON if name == "poisson" else GAUSSIAN
    weights = resolve_feature_weights(scheme, bins, data.y, family, encoder)
    true = np.isin(bins.names, sorted({name for component in data.components for name in component}))
    assert abs(weights.sum() - 1) < 1e-12
    assert weights.min() >= 0.05 / bins.n_features * (1 - 1e-9)
    assert weights[true].sum() > 0.7
    assert weights[true].mean() > 2 * weights[~true].mean()
    again = resolve_feature_weights(scheme, bins, data.y, family, encoder)
    np.testing.assert_array_equal(again, weights)


@pytest.mark.parametrize("scheme", ["marginal", "xgboost"])
def test_schemes_for_classes_missing_cells_and_row_weights(scheme):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 8))
    signal = 2 * X[:, 0] + X[:, 1] ** 2 - 1
    half = np.arange(1500) < 750
    y = (rng.logistic(size=1500) < np.where(half, signal, 3 * X[:, 5])).astype(float)
    X[rng.random(X.shape) < 0.1] = NAN
    encoder, bins = Encoder.fit(X)
    weights = resolve_feature_weights(scheme, bins, y, BERNOULLI, encoder, sample_weight=half.astype(float))
    assert weights[0] > 0.3
    assert weights[1] > 0.2
    assert weights[2:].max() < 0.05
    both = resolve_feature_weights(scheme, bins, y, BERNOULLI, encoder)
    assert both[5] > 0.2


@pytest.mark.parametrize("scheme", ["marginal", "xgboost"])
def test_nothing_to_find_is_uniform(scheme, table):
    encoder, bins, _ = table
    uniform = np.full(5, 0.2)
    np.testing.assert_allclose(resolve(scheme, table, sample_weight=np.zeros(60)), uniform)
    np.testing.assert_allclose(resolve(scheme, (encoder, bins, np.ones(60))), uniform)


def test_xgboost_sees_an_exclusive_or_that_marginals_miss():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 10))
    y = np.sign(X[:, 0] * X[:, 1]) + rng.normal(size=3000)
    encoder, bins = Encoder.fit(X)
    by_tree = resolve_feature_weights("xgboost", bins, y, GAUSSIAN, encoder)
    by_margin = resolve_feature_weights("marginal", bins, y, GAUSSIAN, encoder)
    assert by_tree[:2].sum() > 0.7
    assert by_margin[:2].sum() < 0.7


def test_wide_tables_are_screened_first(monkeypatch):
    monkeypatch.setattr(boosted, "MOST_FEATURES", 20)
    monkeypatch.setattr(boosted, "MOST_ROWS", 300)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 100))
    y = X[:, 37] + X[:, 80] + rng.normal(size=400) / 2
    encoder, bins = Encoder.fit(X)
    weights = resolve_feature_weights("xgboost", bins, y, GAUSSIAN, encoder)
    assert weights[[37, 80]].sum() > 0.8
    assert np.isclose(weights, 0.0005).sum() >= 80


def test_explained_variation_is_that_of_a_cubic_fit():
    rng = np.random.default_rng(5)
    n = 300
    X = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 3, n), rng.integers(0, 2, n), rng.normal(size=n)]
    )
    X[:50, 3] = NAN
    weight = rng.random(n)
    y = np.sin(3 * X[:, 0]) + X[:, 1] + rng.normal(size=n)
    residual = y - np.average(y, weights=weight)
    _, bins = Encoder.fit(X)
    found = explained_variation(bins, residual, weight)
    for feature, degree in enumerate([3, 2, 1, 3]):
        codes = bins.codes[feature]
        there = codes != bins.missing_code
        rank = bins.values_of(feature)[codes[there]]
        root, r = np.sqrt(weight[there]), residual[there]
        basis = np.vander(rank, degree + 1)
        fit = basis @ np.linalg.lstsq(basis * root[:, None], r * root, rcond=None)[0]
        null = np.average(r, weights=weight[there])
        expected = np.sum(weight[there] * ((r - null) ** 2 - (r - fit) ** 2))
        np.testing.assert_allclose(found[feature], expected, rtol=1e-5)


def test_without_xgboost_the_error_says_how_to_get_it(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match=r"pip install 'raytpnn\[xgboost\]'"):
        resolve("xgboost", table)


def test_madelon_by_xgboost():
    folder = os.environ.get("RAYTPNN_DATA")
    if folder is None or not (Path(folder) / "madelon.parquet").is_file():
        pytest.skip("set RAYTPNN_DATA to the folder that holds madelon.parquet")
    frame = pd.read_parquet(Path(folder) / "madelon.parquet").drop(columns="split")
    encoder, bins = Encoder.fit(frame.drop(columns="target"))
    weights = resolve_feature_weights(
        "xgboost", bins, (frame["target"] > 0).to_numpy(float), BERNOULLI, encoder
    )
    informative = weights[np.array(MADELON) - 1]
    assert informative.sum() > 0.7
    assert informative.min() > 1 / 500, "each gets more than it would by chance"


def test_many_rows_are_gone_through_in_chunks(monkeypatch):
    rng = np.random.default_rng(12)
    n = 3_000
    X = rng.normal(size=(n, 4))
    X[rng.random(n) < 0.2, 1] = NAN
    X[:, 2] = rng.integers(0, 2, n)
    _, bins = Encoder.fit(X)
    residual, weight = X[:, 0] + rng.normal(size=n), rng.integers(0, 3, n) * 1.0
    at_once = explained_variation(bins, residual, weight)
    monkeypatch.setattr("raytpnn.model.marginal.CHUNK_CELLS", 700)
    np.testing.assert_allclose(explained_variation(bins, residual, weight), at_once, rtol=1e-9)
