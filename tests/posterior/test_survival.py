"""Times until an event: what y may be, intervals, curves, scores, estimator, report and command line."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import logsumexp

import raytpnn
from raytpnn.data.survival import Intervals, as_times
from raytpnn.posterior.evaluate.scores import score
from raytpnn.posterior.evaluate.survival_scores import structured
from raytpnn.posterior.survival.curves import PiecewiseCurves, WeibullCurves, quantile_times

LAWS = ("survival", "weibull")
SHORT = {"chains": 2, "warmup": 150, "draws": 100, "seed": 3, "executor": "threads"}


def persons(n=160, seed=0, shape=1.5, late=2.0):
    """Weibull times whose scale falls with x0, cut short at random; x1 says nothing. Signed times."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(size=(n, 2)), columns=["dose", "noise"])
    time = np.exp(1.5 - 2.0 * X["dose"]) * rng.weibull(shape, n)
    censored = rng.uniform(0.2, late, n) * 3.0
    return X, np.where(time <= censored, time, -censored)


@pytest.fixture(scope="module", params=LAWS)
def fitted(request):
    X, times = persons()
    return raytpnn.sample(X, structured(times), family=request.param, **SHORT), X, times


def test_y_in_all_its_shapes():
    signed = np.array([3.0, -2.0, 1.5])
    time, event = np.abs(signed), signed > 0
    frame = pd.DataFrame({"t": time, "e": event.astype(int)})
    text = pd.DataFrame({"t": time, "e": ["yes", "no", "yes"]})
    for y in (
        structured(signed),
        frame,
        frame[["e", "t"]],
        text,
        frame.to_numpy(),
        (time, event),
        signed,
        list(signed),
    ):
        np.testing.assert_array_equal(as_times(y), signed)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([[1.0, 1.0], [0.0, 1.0]]), "time is 0 in row 1"),
        (np.array([[1.5, 1.0], [2.0, 3.0]]), "event is 3 in row 1"),
        (np.array([[1.5, 0.0], [2.0, 0.0]]), "no row has an event"),
        (np.ones((3, 3)), "two columns"),
        (np.array([1.0, np.nan]), "row 1"),
        (pd.DataFrame({"t": [1.0, 2.0], "e": ["dead", "alive"]}), "numbers or truth values"),
    ],
)
def test_impossible_times_are_refused_in_words(y, message):
    with pytest.raises(ValueError, match=message):
        as_times(y)


def test_persons_are_cut_into_intervals_and_put_together_again():
    _, times = persons()
    intervals = Intervals.of(times, ["dose"])
    person, interval, watched = intervals.cut(times)
    assert len(intervals.starts) > 5
    assert np.mean(np.abs(watched)) == pytest.approx(1.0)
    total = np.bincount(person, np.abs(watched)) * intervals.unit
    np.testing.assert_allclose(total, np.abs(times))
    assert np.sum(watched > 0.0) == np.sum(times > 0.0)
    # Every interval has an event, and all have about as many.
    counts = np.bincount(interval[watched > 0.0], minlength=len(intervals.starts))
    assert counts.min() > 0
    assert np.ptp(counts) <= 2
    assert Intervals.of_json(json.loads(json.dumps(intervals.to_json()))) == intervals


def test_a_column_that_is_called_time_keeps_its_name():
    _, times = persons()
    assert Intervals.of(times, ["time"]).name != "time"
    with pytest.raises(ValueError, match="rename one"):
        Intervals.of(times, ["time", "time at risk", "time of the interval"])


def test_piecewise_curves_are_integrals_of_their_hazard():
    rng = np.random.default_rng(1)
    starts = np.array([0.0, 0.5, 2.0])
    curves = PiecewiseCurves(starts, rng.normal(size=(3, 4, 5)))
    grid = np.linspace(0.0, 3.0, 30_001)
    inside = np.searchsorted(starts, grid[1:], side="left") - 1
    hazard = curves.hazard[inside]
    expected = hazard.sum(axis=0) * (grid[1] - grid[0])
    np.testing.assert_allclose(curves.cumulative(3.0), expected, rtol=1e-3)
    for amount in (0.05, 0.7, 9.0):
        time = curves.time_of(amount)
        for draw in range(4):
            np.testing.assert_allclose(curves.cumulative(time[draw])[draw], amount, rtol=1e-12)


def test_quantiles_of_the_mixture_over_draws():
    f, spread = np.random.default_rng(2).normal(size=(7, 3)), np.full((7, 1), 0.6)
    curves = WeibullCurves(f, spread)
    for q in (0.05, 0.5, 0.9):
        time = quantile_times(curves, q)
        upto = stats.weibull_min(1 / 0.6, scale=np.exp(f)).cdf(time).mean(axis=0)
        np.testing.assert_allclose(upto, q, rtol=1e-8)


def test_curves_bands_and_medians(fitted):
    post, X, _ = fitted
    few = X.iloc[:5]
    table = post.survival(few, [0.0, 1.0, 3.0], level=0.8)
    assert list(table.columns) == ["row", "time", "survival", "low", "high"]
    assert len(table) == 15
    assert np.all(table["survival"][table["time"] == 0.0] == 1.0)
    assert np.all((table["low"] <= table["survival"]) & (table["survival"] <= table["high"]))
    curves = post.survival_curves(few, [0.0, 1.0, 3.0])
    np.testing.assert_allclose(curves.ravel(), table["survival"])
    assert np.all(np.diff(curves, axis=1) < 0.0)
    median = post.predict(few)
    at_median = np.diag(post.survival_curves(few, median))
    np.testing.assert_allclose(at_median, 0.5, rtol=1e-6)
    low, high = post.interval(few, level=0.8).T
    assert np.all((low < median) & (median < high))
    # A larger dose, an earlier event.
    ends = pd.DataFrame({"dose": [0.05, 0.95], "noise": 0.5})
    early, late = post.predict(ends)[::-1]
    assert early < 0.5 * late
    assert post.risk(ends)[1] > post.risk(ends)[0]


def test_the_density_of_training_rows_is_that_of_their_curves(fitted):
    """Rows of intervals, put together by person, are what the curves say in the units of time."""
    post, X, times = fitted
    np.testing.assert_allclose(post.times, times)
    density = np.concatenate([part for _, part in post.training_densities()], axis=1)
    together = logsumexp(density, axis=0) - np.log(len(density))
    np.testing.assert_allclose(together, post.log_density(X, times), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        density.sum(axis=1) - post.draws.loglik, density[0].sum() - post.draws.loglik[0], rtol=1e-4, atol=1e-3
    )
    loo = post.loo()
    assert len(loo.rows) == len(times)
    assert loo.elpd < together.sum()


def test_rows_not_seen_are_predicted_better_than_by_chance(fitted):
    post, _, _ = fitted
    X, times = persons(seed=5)
    found = score(post, X, structured(times))
    assert set(found) == {"nll", "concordance", "uno", "brier"}
    assert found["concordance"] > 0.6
    assert abs(found["concordance"] - found["uno"]) < 0.1
    assert found["brier"] < 0.22


def test_predictions_are_calibrated():
    """Among new persons, P(T <= t) at their times is uniform; a wrong time scale would show."""
    X, times = persons(n=600, late=50.0)
    new, seen = persons(n=400, seed=8, late=50.0)
    for law in LAWS:
        post = raytpnn.sample(X, times, family=law, **SHORT | {"warmup": 300, "draws": 200})
        upto = np.array([1.0 - post.survival_curves(new.iloc[[i]], [abs(seen[i])])[0, 0] for i in range(400)])
        upto = upto[seen > 0.0]
        assert stats.kstest(upto, "uniform").pvalue > 1e-3, law
        assert stats.kstest(1.0 - (1.0 - upto) ** 2.0, "uniform").pvalue < 1e-3


def test_events_come_when_expected_and_a_wrong_clock_is_seen(fitted):
    post, _, _ = fitted
    table = post.predictive_check()
    assert list(table.columns) == ["statistic", "observed", "replicated", "low", "high", "p_value"]
    assert table["observed"].sum() == np.sum(post.times > 0.0)
    assert np.all((table["p_value"] > 0.005) & (table["p_value"] < 0.995))
    wrong = post.thin(50)
    wrong.y = 2.5 * wrong.y
    assert np.any(wrong.predictive_check()["p_value"] > 0.99)


def test_weights_count_persons():
    X, times = persons(n=60)
    double = raytpnn.sample(X, times, family="survival", sample_weight=2.0 * np.ones(60), **SHORT)
    assert np.all(double.unit_weight == 2.0)
    assert len(double.unit_weight) == 60
    shifted = raytpnn.sample(X, times, family="survival", offset=1.0, **SHORT)
    assert np.all(shifted.offset == 1.0)
    # What the offset says the rest need not.
    plain = raytpnn.sample(X, times, family="survival", **SHORT)
    assert shifted.draws.intercept.mean() == pytest.approx(plain.draws.intercept.mean() - 1.0, abs=0.4)


def test_a_run_is_kept_and_gone_on_with(tmp_path, fitted):
    post, X, times = fitted
    post.save(tmp_path / "run")
    again = raytpnn.load(tmp_path / "run")
    np.testing.assert_array_equal(again.predict(X[:5]), post.predict(X[:5]))
    np.testing.assert_array_equal(again.times, post.times)
    whole = raytpnn.sample(X, times, family=post.family.name, out=tmp_path / "kept", **SHORT)
    for path in (tmp_path / "kept" / "checkpoint").rglob("chain=1/block=*"):
        path.unlink()
    resumed = raytpnn.resume(tmp_path / "kept", executor="threads")
    np.testing.assert_array_equal(resumed.draws.loglik, whole.draws.loglik)
    np.testing.assert_array_equal(resumed.predict(X[:5]), whole.predict(X[:5]))


@pytest.mark.parametrize("law", LAWS)
def test_estimator_by_the_conventions_of_scikit_survival(law):
    from sklearn.model_selection import cross_val_score

    X, times = persons()
    y = structured(times)
    model = raytpnn.BayesianTPNNSurvival(family=law, chains=1, warmup=80, draws=60, random_state=0)
    fitted = model.fit(X, y)
    functions = fitted.predict_survival_function(X.iloc[:3])
    array = fitted.predict_survival_function(X.iloc[:3], return_array=True)
    assert array.shape == (3, len(fitted.unique_times_))
    assert functions[1](fitted.unique_times_[4]) == array[1, 4]
    hazard = fitted.predict_cumulative_hazard_function(X.iloc[:3], return_array=True)
    np.testing.assert_allclose(np.exp(-hazard), array)
    assert fitted.score(X, y) > 0.6
    assert np.argmax(fitted.feature_importances_) == 0
    assert fitted.feature_importances_.shape == (2,)
    assert cross_val_score(model, X.to_numpy(), y, cv=2).min() > 0.55


def test_cross_validation_and_report(tmp_path, fitted):
    post, X, times = fitted
    table = raytpnn.cross_validate(
        X, times, family=post.family.name, cv=2, chains=1, warmup=60, draws=60, executor="threads"
    ).scores()
    assert list(table.index) == ["concordance", "nll"]
    assert table["pooled"]["concordance"] > 0.55
    page = raytpnn.write_report(post, tmp_path / "page.html").read_text()
    assert "Harrell" in page
    assert "Events in time" in page
    new = persons(seed=4)
    raytpnn.write_report(post, tmp_path / "page.html", X=new[0], y=new[1])


def test_fit_and_predict_on_the_command_line(tmp_path):
    X, times = persons(n=80)
    data = X.assign(days=np.abs(times), died=times > 0)
    data.to_csv(tmp_path / "data.csv", index=False)
    raytpnn_command = [sys.executable, "-m", "raytpnn.cli"]
    fit = [*raytpnn_command, "fit", "data.csv", "--time", "days", "--event", "died", "--out", "run"]
    length = ["--chains", "1", "--warmup", "60", "--draws", "60", "--executor", "threads"]
    done = subprocess.run([*fit, *length], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "family survival: times until an event" in done.stderr
    predict = [*raytpnn_command, "predict", "run", "data.csv", "--out", "out.csv", "--level", "0.8"]
    done = subprocess.run(predict, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found.columns) == ["median", "low", "high"]
    post = raytpnn.load(tmp_path / "run")
    np.testing.assert_allclose(found[["low", "high"]], post.interval(X, 0.8), rtol=1e-6)
    done = subprocess.run([*fit[:-4], *fit[-2:], *length], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "--time and --event go together" in done.stderr
