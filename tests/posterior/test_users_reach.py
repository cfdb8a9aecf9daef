"""What users reach for: plots by name, a summary, intervals, Shapley values by column, grids."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV
from support.report_cases import classes, mixed

import raytpnn


def game(post, X, row, columns):
    """Shapley values of input columns by their definition: f with the other columns integrated out.

    A coalition's worth is the sum of the effects all of whose columns it holds.
    """
    effects = post.contributions(X.iloc[[row]])
    of = {name: set() for name in effects.columns}
    for name in effects.columns:
        of[name] = {post.encoder.source(feature) for feature in name}

    def worth(coalition):
        return sum(float(effects[name].iloc[0]) for name in effects.columns if of[name] <= set(coalition))

    values = {}
    for column in columns:
        others = [name for name in columns if name != column]
        total = 0.0
        for size in range(len(others) + 1):
            for coalition in itertools.combinations(others, size):
                weight = (
                    math.factorial(size)
                    * math.factorial(len(columns) - size - 1)
                    / math.factorial(len(columns))
                )
                total += weight * (worth((*coalition, column)) - worth(coalition))
        values[column] = total
    return values


def test_shapley_by_column_is_the_game_with_columns_as_players():
    post, X, _ = mixed()
    found = post.shapley(X.iloc[[3, 11]], by="column")
    assert list(found.columns) == list(X.columns)
    for place, row in enumerate((3, 11)):
        expected = game(post, X, row, list(X.columns))
        np.testing.assert_allclose(found.iloc[place], [expected[name] for name in X.columns], atol=1e-6)
    latent = post.predict_latent(X.iloc[[3, 11]])
    np.testing.assert_allclose(found.sum(axis=1) + post.intercept_mean, latent, atol=1e-6)


def test_levels_as_players_are_another_game():
    """The twin: values of levels added up are not those of the columns."""
    post, X, _ = mixed()
    by_level = post.shapley(X.iloc[[3]])
    city = sum(by_level[name].iloc[0] for name in by_level if name.startswith("city="))
    assert abs(city - post.shapley(X.iloc[[3]], by="column")["city"].iloc[0]) > 1e-4
    with pytest.raises(ValueError, match="by 'feature' or by 'column', not by 'row'"):
        post.shapley(X.iloc[[3]], by="row")


def test_values_for_shap():
    shap = pytest.importorskip("shap", reason="needs shap: pip install 'raytpnn[shap]'")
    post, X, _ = mixed()
    found = post.to_shap(X.iloc[:4])
    assert isinstance(found, shap.Explanation)
    np.testing.assert_allclose(
        found.values.sum(axis=1) + found.base_values, post.predict_latent(X.iloc[:4]), atol=1e-6
    )
    assert found.feature_names == list(X.columns)


def test_plots_by_name_and_by_tuple():
    pytest.importorskip("matplotlib")
    post, _, _ = mixed()
    assert post.plot.effect("age").get_xlabel()
    pair = next(names for names in post.components()["component"] if len(names) == 2)
    for arguments in ((pair,), pair):
        assert post.plot.effect(*arguments) is not None
    assert post.plot.effect(("city",)) is not None
    assert post.plot.importance() is not None
    assert "effect" in repr(post.plot)
    with pytest.raises(ValueError, match="not of 4"):
        post.plot.effect("age", "income", "rooms", "owner")


def test_summary_in_text_and_in_a_notebook():
    post, _, _ = mixed()
    summary = post.summary(top=3)
    assert len(summary.effects) == 3
    assert post.verdict().headline in str(summary)
    assert "250 rows" in str(summary)
    assert "&lt;script&gt;" in post._repr_html_()
    assert "<script>" not in post._repr_html_()
    with pytest.raises(ValueError, match="top must be 1 or more"):
        post.summary(0)


def test_predict_interval_is_the_interval():
    post, X, _ = mixed()
    np.testing.assert_array_equal(post.predict_interval(X[:5], 0.8), post.interval(X[:5], 0.8))


def quick(**options):
    return raytpnn.BayesianTPNNRegressor(chains=1, warmup=20, draws=20, random_state=0, **options)


def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    return X, X["a"].to_numpy() + rng.normal(scale=0.1, size=60)


@pytest.mark.filterwarnings("ignore::raytpnn.ConvergenceWarning")
def test_a_grid_goes_over_fields_of_the_prior():
    X, y = data()
    search = GridSearchCV(quick(), {"prior__K_max": [1, 20], "prior__max_order": [1]}, cv=2)
    search.fit(X, y)
    assert search.best_estimator_.prior.max_order == 1
    assert search.best_params_["prior__K_max"] in (1, 20)
    assert quick().get_params()["prior__K_max"] == raytpnn.Prior().K_max
    with pytest.raises(ValueError, match="no parameter 'tree__depth'"):
        quick().set_params(tree__depth=3)


@pytest.mark.filterwarnings("ignore::raytpnn.ConvergenceWarning")
def test_arrow_and_polars_keep_their_names():
    X, y = data()
    tables = [pa.Table.from_pandas(X, preserve_index=False)]
    try:
        import polars
    except ImportError:
        polars = None
    if polars is not None:
        tables.append(polars.DataFrame({name: X[name].to_numpy() for name in X}))
    for table in tables:
        model = quick().fit(table, y)
        assert model.feature_names_in_.tolist() == ["a", "b"]
        np.testing.assert_allclose(model.predict(table), quick().fit(X, y).predict(X))
        assert model.predict_interval(table).shape == (60, 2)
    if polars is not None:
        with pytest.raises(TypeError, match=r"lazy frame.*X\.collect\(\)"):
            quick().fit(tables[1].lazy(), y)
        with pytest.raises(TypeError, match="lazy frame"):
            raytpnn.sample(tables[1].lazy(), y)


def test_names_of_target_and_data_are_kept(tmp_path):
    X, y = data()
    X.assign(price=y).to_parquet(tmp_path / "homes.parquet")
    post = raytpnn.sample(
        tmp_path / "homes.parquet", "price", chains=1, warmup=10, draws=20, out=tmp_path / "run"
    )
    assert (post.config["target_name"], post.config["data_name"]) == ("price", "homes.parquet")
    assert raytpnn.load(tmp_path / "run").config["target_name"] == "price"
    assert "price (gaussian)" in post.summary().title
    assert classes()[0].config.get("target_name") is None


def test_notebooks_show_leave_one_out_and_cross_validation():
    post, X, y = mixed()
    text = post.loo()._repr_html_()
    assert f"{post.loo().elpd:.1f}" in text
    found = raytpnn.cross_validate(X[["age"]], y, cv="2x1", chains=1, warmup=20, draws=30)
    assert "<table>" in found._repr_html_()
    assert "RMSE" in found._repr_html_().upper()


def test_explanations_of_interpret():
    pytest.importorskip("interpret", reason="needs interpret: pip install 'raytpnn[interpret]'")
    pytest.importorskip("plotly", reason="needs plotly: pip install 'raytpnn[interpret]'")
    post, X, _ = mixed()
    found = post.to_interpret()
    table = post.components()
    table = table[table["order"] <= 2].head(20)
    assert found.feature_names == [" & ".join(names) for names in table["component"]]
    np.testing.assert_allclose(found.data()["scores"], table["importance"])
    for key, kind in enumerate(found.feature_types):
        picture = found.visualize(key)
        assert len(picture.data) >= 1, kind
    place = found.feature_types.index("interaction")
    names = tuple(found.feature_names[place].split(" & "))
    curve = post.component(names)
    part = found.data(place)
    i, j = 3, len(part["right_names"]) // 2
    at = curve[(curve[names[0]] == part["left_names"][i]) & (curve[names[1]] == part["right_names"][j])]
    assert part["scores"][i, j] == pytest.approx(at["mean"].iloc[0])
    rows = post.to_interpret(X.iloc[:3], np.arange(3.0))
    assert rows.explanation_type == "local"
    for i in range(3):
        row = rows.data(i)
        total = sum(row["scores"]) + row["extra"]["scores"][0]
        assert total == pytest.approx(post.predict_latent(X.iloc[:3])[i])
        assert len(rows.visualize(i).data) >= 1
    assert rows.selector["Actual"].tolist() == [0.0, 1.0, 2.0]
