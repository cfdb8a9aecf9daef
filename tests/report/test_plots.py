"""What plots show, on real fits."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install 'raytpnn[report]'")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from support.report_cases import CASES, EVIL, LONG, classes, counts, mixed, nothing  # noqa: E402

from raytpnn import report  # noqa: E402
from raytpnn.report.names import component_label, number, percent, probability, shorten, shorten_all  # noqa: E402
from raytpnn.report.plots.calibration import pit_histogram, reliability  # noqa: E402
from raytpnn.report.plots.effects import column_effect  # noqa: E402
from raytpnn.report.plots.shapley import shapley_by_column, shapley_interval, spread  # noqa: E402
from raytpnn.report.plots.waterfall import explain  # noqa: E402
from raytpnn.report.quality import assess  # noqa: E402
from raytpnn.report.rows import choose_rows, pick, thin_rows  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def texts(ax):
    """All that is written on an axes' figure, after drawing it."""
    ax.figure.canvas.draw()
    return "\n".join(t.get_text() for t in ax.figure.findobj(matplotlib.text.Text))


def legend_labels(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def test_main_effect_draws_the_component_and_names_its_bands():
    post, X, _ = mixed()
    ax = report.plot_effect(post, "age", level=0.8)
    curve = post.component("age", level=0.8)
    line = next(line for line in ax.lines if line.get_label() == "posterior mean")
    np.testing.assert_array_equal(line.get_xdata(), curve["age"])
    np.testing.assert_array_equal(line.get_ydata(), curve["mean"])
    assert {"80% band, simultaneous", "80% band, pointwise"} <= set(legend_labels(ax))
    wide, narrow = (np.ptp(c.get_paths()[0].vertices[:, 1]) for c in ax.collections[:2])
    assert wide > narrow
    rug = next(line for line in ax.lines if line.get_label().startswith("training rows"))
    assert np.nanmin(X["age"]) <= rug.get_xdata().min() <= rug.get_xdata().max() <= np.nanmax(X["age"])
    assert "units of the response" in ax.get_ylabel()


def test_long_tailed_feature_gets_a_logarithmic_axis():
    post, _, _ = mixed()
    assert report.plot_effect(post, "income").get_xscale() == "log"
    assert report.plot_effect(post, "age").get_xscale() == "linear"


def test_column_of_text_is_a_bar_a_level():
    post, _, _ = mixed()
    ax = report.plot_effect(post, "city")
    labels = [t.get_text() for t in ax.get_xticklabels()]
    assert labels[0] == "Ulm"
    assert sorted(labels) == ["Bonn", "Kiel & <Co>", "Ulm"]
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == sorted(heights, reverse=True)
    assert "90% interval, simultaneous" in legend_labels(ax)


def test_effect_of_a_column_is_f_without_all_else():
    post, X, _ = mixed()
    levels, f = column_effect(post, X.columns.get_loc("city"))
    alone = X.iloc[: len(levels)].copy()
    alone.loc[:, alone.columns != "city"] = np.nan
    alone["city"] = levels
    expected = post.predict_latent(alone) - post.intercept_mean
    np.testing.assert_allclose(f.mean(axis=0), expected, atol=1e-5)


def test_feature_of_two_values_is_two_bars():
    post, _, _ = mixed()
    ax = report.plot_effect(post, "owner")
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "1"]
    means = post.component("owner")["mean"]
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], means)


def test_unknown_feature_is_an_error():
    post, _, _ = mixed()
    with pytest.raises(KeyError, match="no encoded feature 'agee'"):
        report.plot_effect(post, "agee")


def test_interaction_map_shows_the_posterior_mean():
    post, _, _ = mixed()
    ax = report.plot_interaction(post, ("rooms", "age"))
    image = ax.collections[0]
    values = image.get_array()
    assert values.shape == (5, 36)
    assert image.get_clim()[0] == -image.get_clim()[1] == pytest.approx(-np.abs(values).max())
    grid = {"age": [np.mean(ax.get_xlim())] * 5, "rooms": [1.0, 2.0, 3.0, 4.0, 5.0]}
    column = post.component(("age", "rooms"), grid)["mean"].to_numpy()
    assert np.min(np.abs(values.T - column).max(axis=1)) < 0.1 * np.abs(values).max() + 1e-12
    assert "90% simultaneous band" in ax.get_title()
    with pytest.raises(ValueError, match="2 different features"):
        report.plot_interaction(post, ("age", "age"))


def test_slices_cut_the_feature_with_fewest_values():
    post, _, _ = mixed()
    axes = report.plot_slices(post, ("age", "rooms", "owner"))
    assert [ax.get_title() for ax in axes] == ["owner = 0", "owner = 1"]
    assert len({ax.collections[0].get_clim() for ax in axes}) == 1
    numbers = report.plot_slices(post, ("age", "income", LONG))
    assert len(numbers) == 3
    assert "50% quantile" in numbers[1].get_title()
    assert "90% simultaneous band" in texts(axes[0])


def test_importance_bars_and_intervals():
    post, _, _ = mixed()
    ax = report.plot_importance(post, top=5, level=0.9)
    table = post.components(0.9).head(5)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], table["importance"])
    ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(ends, table[["importance_low", "importance_high"]])
    assert "90% posterior interval" in legend_labels(ax)
    assert percent(table["share_of_draws"].iloc[0]) in texts(ax)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not any(legend.overlaps(text.get_window_extent()) for text in ax.texts), "the legend hides a share"
    with pytest.raises(ValueError, match="top must be 1 or more"):
        report.plot_importance(post, top=0)


@pytest.mark.parametrize("name", CASES)
def test_explanation_adds_up_to_the_latent_mean(name):
    post, X, _ = CASES[name]()
    for given, offset in ((None, post.offset), (X, np.zeros(len(X)))):
        rows = choose_rows(post, given)
        for row in (0, len(X) - 1):
            parts = explain(post, pick(rows, [row]), top=3)
            total = parts.intercept + parts.offset + parts.mean.sum() + parts.rest
            assert total == pytest.approx(parts.total)
            expected = post.predict_latent(X, offset)[row]
            assert parts.total == pytest.approx(expected, abs=1e-5)
            assert np.all(parts.low <= parts.high)


def test_waterfall_names_values_and_bands():
    post, X, _ = mixed()
    row = int(np.flatnonzero(X["city"].eq("Ulm") & X["age"].notna() & X["owner"].eq(1.0))[0])
    ax = report.plot_waterfall(post, X, row=row, top=20, level=0.8)
    written = texts(ax)
    assert "city = Ulm" in written
    assert "owner = 1" in written
    assert "80% posterior interval" in ax.get_xlabel()
    assert f"Row {row}" in ax.get_title()
    assert ax.get_xlim()[0] < post.intercept_mean < ax.get_xlim()[1]
    with pytest.raises(ValueError, match="there is no row 250"):
        report.plot_waterfall(post, row=250)


def test_missing_features_have_no_bar():
    post, X, _ = mixed()
    blank = X.iloc[[0]].copy()
    blank.loc[:, :] = np.nan
    parts = explain(post, choose_rows(post, blank))
    assert parts.labels == []
    assert parts.total == pytest.approx(post.intercept_mean)


def test_shapley_dots_are_the_shapley_values():
    post, X, _ = mixed()
    ax = report.plot_shapley(post, X, top=4)
    values = post.shapley(X)
    leading = values.abs().mean().sort_values(ascending=False).index[:4]
    assert len(ax.collections) == 4
    for dots, feature in zip(ax.collections, leading, strict=True):
        np.testing.assert_allclose(dots.get_offsets()[:, 0], values[feature], atol=1e-6)
    assert "posterior means" in ax.get_title()
    assert f"{len(X)} rows" in ax.get_title()


def test_shapley_lines_are_posterior_intervals():
    post, X, _ = mixed()
    some = X.iloc[:20]
    ax = report.plot_shapley(post, some, top=3, level=0.8)
    values = post.shapley(some, level=0.8)
    means = values.xs("mean", axis=1, level=1)
    leading = means.abs().mean().sort_values(ascending=False).index[:3]
    lines = [collection for collection in ax.collections if hasattr(collection, "get_segments")]
    assert len(lines) == 3
    for drawn, feature in zip(lines, leading, strict=True):
        ends = np.array([segment[:, 0] for segment in drawn.get_segments()])
        np.testing.assert_allclose(ends, values[feature][["low", "high"]], atol=1e-6)
    assert "lines: 80% posterior intervals" in ax.get_title()


def test_shapley_of_a_column_is_that_of_a_player():
    post, X, _ = mixed()
    rows = choose_rows(post, X)
    values = post.shapley(X)
    table = shapley_by_column(post, pick(rows, [3]), 50, 0.95)
    city = list(post.encoder.input_names).index("city")
    found = {column: (mean, low, high) for column, mean, low, high in table}
    levels = [name for name in values.columns if name.startswith("city=")]
    assert found[city][0] == pytest.approx(post.shapley(X, by="column").loc[3, "city"], abs=1e-9)
    assert found[city][1] < found[city][0] < found[city][2]
    assert sum(mean for mean, *_ in found.values()) == pytest.approx(values.loc[3].sum(), abs=1e-9)
    sizes = [abs(mean) for _, mean, *_ in table]
    assert sizes == sorted(sizes, reverse=True)
    # The interval of the sum is not the sum of the intervals: levels trade off against each other.
    features = [post.encoder.index(name) for name in levels]
    alone = [np.ptp(shapley_interval(post, pick(rows, [3]), [j], 0.95)) for j in features]
    assert found[city][2] - found[city][1] < sum(alone)


def test_dots_keep_apart_and_within_their_strip():
    values = np.array([0.0, 0.0, 0.0, 1.0])
    height = spread(values, 1.0)
    assert len(set(height[:3])) == 3
    assert height[3] == 0.0
    assert np.abs(spread(np.zeros(999), 1.0)).max() <= 0.38 + 1e-9


def test_reliability_counts_every_row_once():
    rng = np.random.default_rng(8)
    p = rng.random(4000)
    y = (rng.random(4000) < p).astype(float)
    points = reliability(y, p)
    assert len(points) == 10
    assert points[:, 4].sum() == 4000
    assert np.all((points[:, 2] < points[:, 1]) & (points[:, 1] < points[:, 3]))
    # Ten 95% intervals; more than three misses has probability 0.001.
    assert np.sum((points[:, 2] > points[:, 0]) | (points[:, 3] < points[:, 0])) <= 3
    wrong = reliability(y, p**3)
    assert np.sum((wrong[:, 2] > wrong[:, 0]) | (wrong[:, 3] < wrong[:, 0])) > 3


def test_pit_histogram_spreads_whole_numbers():
    share = pit_histogram(np.array([0.0]), np.array([0.25]), bins=10)
    np.testing.assert_allclose(share, [0.4, 0.4, 0.2, *[0.0] * 7], atol=1e-9)
    np.testing.assert_allclose(pit_histogram(np.array([0.35]), np.array([0.35]))[3], 1.0)
    assert pit_histogram(np.array([0.0, 1.0]), np.array([0.0, 1.0])).sum() == pytest.approx(1.0)


def test_calibration_of_classes_names_the_class():
    post, X, y = classes()
    axes = report.plot_calibration(post, X, y)
    assert axes.shape == (2,)
    assert "probability of malignant" in axes[0].get_xlabel()
    assert "95% interval of the share" in legend_labels(axes[0])
    assert f"{len(y)} rows given" in texts(axes[0])
    # A row counts once, in the colour of its class.
    drawn = sum(bar.get_height() for container in axes[1].containers for bar in container)
    assert drawn == pytest.approx(len(y))


@pytest.mark.parametrize("name", ["mixed", "counts"])
def test_calibration_of_numbers_says_where_it_comes_from(name):
    post, _, _ = CASES[name]()
    axes = report.plot_calibration(post)
    assert "leave-one-out" in texts(axes[0])
    seen = next(line for line in axes[0].lines if line.get_label() == "observed").get_ydata()
    assert np.all(np.diff(seen) >= 0)
    assert seen[-1] > 0.8


def test_coverage_without_solving_agrees_with_intervals():
    for name in ("mixed", "counts"):
        post, X, y = CASES[name]()
        offset = None if name == "mixed" else post.offset
        result = assess(post, choose_rows(post, X, y, offset))
        ends = post.interval(X, 0.8, offset)
        expected = np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))
        assert result.coverage(0.8) == pytest.approx(expected, abs=1e-9)
        np.testing.assert_allclose(result.log_density, post.log_density(X, y, offset), atol=1e-6)


def test_leaving_rows_out_makes_them_harder_to_predict():
    post, X, y = mixed()
    fitted = assess(post, choose_rows(post, X, y))
    left_out = assess(post, choose_rows(post))
    assert (fitted.how, left_out.how) == ("new", "loo")
    assert left_out.log_density.mean() < fitted.log_density.mean()
    assert np.abs(left_out.mean - y).mean() > np.abs(fitted.mean - y).mean()


def test_leave_one_out_density_is_that_of_arviz():
    from arviz_stats.base import array_stats

    from raytpnn.posterior.evaluate.loo import good_k

    post, _, y = mixed()
    f = post.predictor.latent(choose_rows(post).codes, post.offset)
    loglik = post.family.log_density(y, f, post.draws.nuisance[:, None])
    expected, khat, _ = array_stats.loo(loglik.T.reshape(len(y), 2, -1))
    result = assess(post, choose_rows(post))
    np.testing.assert_allclose(result.log_density, expected, rtol=1e-6)
    assert result.unreliable == pytest.approx(np.mean(khat > good_k(post.draws.n_draws)))


def test_calibration_needs_responses():
    post, X, y = mixed()
    with pytest.raises(ValueError, match="give y with X"):
        report.plot_calibration(post, X)
    with pytest.raises(ValueError, match="y was given without X"):
        report.plot_calibration(post, y=y)
    with pytest.raises(ValueError, match="y has 3 values but X has 250 rows"):
        report.plot_calibration(post, X, y[:3])


def test_traces_and_ranks():
    post, _, _ = mixed()
    axes = report.plot_trace(post)
    assert [ax.get_title(loc="left") for ax in axes] == [
        "log-likelihood",
        "number of terms K",
        "noise variance",
        "intercept",
    ]
    scalars = post.scalars()
    first = scalars[scalars["chain"] == 0]["loglik"]
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), first)
    ranks = report.plot_ranks(post, ["K", "b_gamma"])
    assert len(ranks) == 2
    for ax in ranks:
        totals = [patch.get_data().values.sum() for patch in ax.patches]
        np.testing.assert_allclose(totals, [1.0, 1.0])
    assert len(report.plot_trace(classes()[0])) == 3
    with pytest.raises(ValueError, match="there is no scalar 'sigma'"):
        report.plot_trace(post, ["sigma"])


def test_no_component_at_all_is_said():
    post, _, _ = nothing()
    assert post.draws.K.max() == 0
    assert "No draw holds any component" in texts(report.plot_importance(post))
    assert "No draw holds any component" in texts(report.plot_shapley(post))
    line = report.plot_effect(post, 0).lines[0]
    assert np.all(line.get_ydata() == 0.0)
    assert "intercept" in texts(report.plot_waterfall(post))
    assert np.all(report.plot_interaction(post, (0, 1)).collections[0].get_array() == 0.0)
    assert report.plot_slices(post, (0, 1, 2)).shape == (3,)
    assert report.plot_calibration(post).shape == (2,)
    assert report.plot_ranks(post).shape == (4,)


def test_one_feature_with_offset():
    post, _, _ = counts()
    name = post.bins.names[0]
    ax = report.plot_effect(post, name)
    assert "log of expected count" in ax.get_ylabel()
    assert "intercept + offset" in texts(report.plot_waterfall(post, row=2))
    assert name in texts(report.plot_shapley(post))


def test_names_are_not_taken_for_mathematics():
    post, _, _ = mixed()
    ax = report.plot_effect(post, EVIL)
    # An error in mathematics would be raised here.
    assert "alert" in texts(ax)


def test_axes_given_are_drawn_on():
    post, _, _ = mixed()
    figure, ax = plt.subplots()
    assert report.plot_effect(post, "age", ax) is ax
    assert report.plot_importance(post, ax=ax) is ax
    assert report.plot_trace(post, figure=plt.figure(layout="constrained"))[0].figure is not figure


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install 'raytpnn\[report\]'"):
        report.plot_importance(mixed()[0])


def test_shortened_names_keep_both_ends_and_differ():
    assert shorten("age") == "age"
    brief = shorten(LONG, 20)
    assert len(brief) == 20
    assert brief.startswith("ENSG0000")
    assert brief.endswith("ame_at")
    twins = [f"gene_{'x' * 40}{i}{'y' * 40}" for i in (1, 2)]
    assert len(set(shorten_all(twins))) == 2
    assert shorten_all(["a", "a"]) == ["a", "a"]
    assert shorten(" a\nb ") == "a b"
    assert component_label(("age", "city=Ulm")) == "age × city=Ulm"


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0"),
        (3.0, "3"),
        (-12345.678, "−12,346"),
        (0.012345, "0.0123"),
        (1e9 + 0.5, "1.00e+09"),
        (np.nan, "–"),
    ],
)
def test_numbers_are_short(x, text):
    assert number(x) == text


@pytest.mark.parametrize(("p", "text"), [(1e-7, "<0.001"), (0.25, "0.250"), (1.0, ">0.999"), (np.nan, "–")])
def test_probabilities_are_never_sure(p, text):
    assert probability(p) == text


def test_rows_are_thinned_evenly():
    post, X, _ = mixed()
    rows = choose_rows(post)
    few = thin_rows(rows, 10)
    assert few.n == 10
    assert few.number[0] == 0
    assert few.number[-1] == len(X) - 1
    np.testing.assert_array_equal(few.y, rows.y[few.number])
    assert pick(rows, [-1]).number.tolist() == [len(X) - 1]
    with pytest.raises(ValueError, match="whole numbers"):
        pick(rows, [0.5])
