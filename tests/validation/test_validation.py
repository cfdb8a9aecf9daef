"""Cross-validation: nothing leaks, results do not depend on where fits run, and chance is told apart."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy
from support.cli_cases import SHORT, call, frame, write

import raytpnn
from raytpnn.expression.expression import Expression
from raytpnn.model.feature_weights import resolve_feature_weights
from raytpnn.posterior.evaluate import scores
from raytpnn.validation import execute
from raytpnn.validation.cases import Cases
from raytpnn.validation.cross_validate import tasks_of
from raytpnn.validation.splits import Scheme
from raytpnn.validation.task import fit_one, permuted
from raytpnn.validation.text import to_markdown

SMALL = {"chains": 2, "warmup": 60, "draws": 60}


@pytest.fixture(scope="module")
def wide():
    """Forty rows, 200 features, of which one decides."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 200)), columns=[f"g{i}" for i in range(200)])
    return X, np.where(X["g7"] + 0.3 * rng.normal(size=40) > 0, "ill", "well")


@pytest.fixture(scope="module")
def result(wide, tmp_path_factory):
    out = tmp_path_factory.mktemp("validated")
    found = raytpnn.cross_validate(*wide, family="bernoulli", cv="4x2", permute=2, out=out, **SMALL)
    return found, out


def test_scores_are_those_of_the_predictions(result):
    found, _ = result
    rows = found.predictions()
    assert sorted(rows["row"]) == sorted([*range(40)] * 2)
    table = found.scores()
    assert table.loc["auroc", "pooled"] == pytest.approx(scores.auroc(rows["y"], rows["mean"]))
    likelihood = np.where(rows["y"] == 1, rows["mean"], 1 - rows["mean"])
    assert table.loc["nll", "pooled"] == pytest.approx(-np.mean(np.log(likelihood)))
    each = [scores.auroc(part["y"], part["mean"]) for _, part in rows.groupby(["repeat", "fold"])]
    assert table.loc["auroc", "mean"] == pytest.approx(np.mean(each))
    assert table.loc["auroc", "sd"] == pytest.approx(np.std(each, ddof=1))
    assert found.splits()["auroc"].tolist() == pytest.approx(each)


def test_what_matters_is_found_in_every_fit_and_not_by_chance(result):
    found, _ = result
    first = found.features().iloc[0]
    assert first["feature"] == "g7"
    assert first["confident"] >= 0.75
    assert first["share_of_draws_low"] <= first["share_of_draws"] <= first["share_of_draws_high"]
    assert first["by_chance"] < 0.5
    control = found.permutations()
    assert control["fits"].tolist() == [4, 4]
    assert table_of(found)["auroc"] > control["auroc"].max() + 0.2
    assert found.p_value() == pytest.approx(1 / 3)
    assert 0.0 <= found.overlap() <= 1.0


def table_of(found):
    return found.scores()["pooled"]


def test_it_is_shown_in_a_few_lines(result):
    found, _ = result
    assert str(found) == repr(found) == to_markdown(found)
    assert "log_density=[" not in str(found)


def test_files_of_the_summary(result):
    found, out = result
    assert (out / "cv" / "summary.md").read_text() == to_markdown(found)
    assert "AUROC" in to_markdown(found)
    assert pd.read_csv(out / "cv" / "features.csv")["feature"][0] == "g7"
    names = {path.stem for path in (out / "cv").glob("*.csv")}
    assert names == {"scores", "splits", "features", "predictions", "control"}


def test_finished_fits_are_not_done_again(result, wide, monkeypatch):
    found, out = result
    again = []
    plain = execute.fit_one
    monkeypatch.setattr(execute, "fit_one", lambda *args: (again.append(args[1].name), plain(*args))[1])
    (out / "cv" / "fit-000-001-002.json").unlink()
    (out / "cv" / "fit-001-000-003.json").write_text("{broken")
    repeated = raytpnn.cross_validate(*wide, family="bernoulli", cv="4x2", permute=2, out=out, **SMALL)
    assert sorted(again) == ["fit-000-001-002.json", "fit-001-000-003.json"]
    assert repeated.fits == found.fits
    assert repeated.control == found.control
    with pytest.raises(ValueError, match="holds a cross-validation of other data or options"):
        raytpnn.cross_validate(*wide, family="bernoulli", cv="4x2", out=out, seed=1, **SMALL)
    X = wide[0].copy()
    X.iloc[0, 0] += 1.0
    with pytest.raises(ValueError, match="other data or options"):
        raytpnn.cross_validate(X, wide[1], family="bernoulli", cv="4x2", out=out, **SMALL)


class Leaky(Cases):
    """Takes feature weights from all rows: what must not be."""

    def training(self, rows, y):
        from raytpnn.data.encoding.encoder import Encoder
        from raytpnn.families import get_family

        given = super().training(rows, y)
        _, bins = Encoder.fit(self.table)
        weights = resolve_feature_weights("marginal", bins, y, get_family(self.family))
        return given | {"feature_weights": dict(zip(bins.names, weights, strict=True))}


@pytest.mark.parametrize("leaky", [False, True])
def test_labels_held_out_change_nothing_that_is_predicted(leaky):
    """With labels of the rows held out turned round, their predictions are the same to the last bit."""
    rng = np.random.default_rng(1)
    X = rng.lognormal(5.0, 1.0, size=(30, 60)).astype(np.float32)
    y = (X[:, 0] > np.median(X[:, 0])).astype(np.float64)
    samples = pd.DataFrame({"label": y}, index=[f"s{i}" for i in range(30)])
    table = Expression(X, tuple(f"p{i}" for i in range(60)), samples).as_table()
    response = raytpnn.data.response.Response
    cases = (Leaky if leaky else Cases)(
        table, response(y, (0, 1)), "bernoulli", preparation={"log2": "auto", "min_sd": 0.5}
    )
    task = tasks_of(cases, Scheme(5, 1), 0, 0)[0]
    turned = y.copy()
    turned[task.split.test] = 1.0 - turned[task.split.test]
    other = dataclasses.replace(cases, y=response(turned, (0, 1)))
    options = SMALL | ({} if leaky else {"feature_weights": "marginal"})
    means = [fit_one(c, task, options, 0).mean for c in (cases, other)]
    assert (means[0] == means[1]) is not leaky


def test_values_held_out_do_not_enter_the_encoding():
    """The first row of a split is far out; predictions of the others are as if it were not there."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 20))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    cases = Cases(raytpnn.data.tables.tables.as_table(X), raytpnn.data.response.Response(y), "gaussian")
    task = tasks_of(cases, Scheme(5, 1), 0, 0)[0]
    moved = X.copy()
    moved[task.split.test[0]] = 1e6
    other = dataclasses.replace(cases, table=raytpnn.data.tables.tables.as_table(moved))
    one, two = (fit_one(c, task, SMALL, 0) for c in (cases, other))
    assert one.mean[1:] == two.mean[1:]
    assert one.mean[0] != two.mean[0]


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_other_families(family):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 4))
    y = X[:, 0] + 0.1 * rng.normal(size=50) if family == "gaussian" else rng.poisson(np.exp(X[:, 0]))
    offset = np.full(50, 0.3) if family == "poisson" else None
    found = raytpnn.cross_validate(X, y, family=family, splits=3, offset=offset, **SMALL)
    rows, table = found.predictions(), found.scores()["pooled"]
    assert len(rows) == 30
    if family == "gaussian":
        assert table["rmse"] == pytest.approx(np.sqrt(np.mean((rows["y"] - rows["mean"]) ** 2)))
        assert table["rmse"] < np.std(y)
    else:
        y, mean = rows["y"], rows["mean"]
        assert table["deviance"] == pytest.approx(2.0 * np.mean(xlogy(y, y / mean) - (y - mean)))
    assert table["crps"] == pytest.approx(rows["crps"].mean())


def test_permutations_keep_the_values_and_differ():
    y = np.arange(20.0)
    assert permuted(y, 0, 5) is y
    one, two = permuted(y, 1, 5), permuted(y, 2, 5)
    assert sorted(one) == sorted(two) == y.tolist()
    assert not np.array_equal(one, two)
    assert np.array_equal(one, permuted(y, 1, 5))


def test_wrong_use_is_named(wide):
    with pytest.raises(TypeError, match="unexpected keyword argument 'chans'; did you mean 'chains'"):
        raytpnn.cross_validate(*wide, family="bernoulli", cv=3, chans=2)
    with pytest.raises(ValueError, match="permute must be a whole number, 0 or more, got -1"):
        raytpnn.cross_validate(*wide, family="bernoulli", cv=3, permute=-1)
    with pytest.raises(ValueError, match="cannot be matched to the features of every training part"):
        raytpnn.cross_validate(*wide, family="bernoulli", cv=3, feature_weights=np.ones(200))


@pytest.mark.parametrize("planted", [False, True])
def test_noise_yields_no_confident_gene(planted):
    """Labels without a cause: no component above 0.5 in any of six fits; a planted gene is found."""
    confident = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 3000))
        y = rng.permutation(np.repeat([0, 1], 20))
        if planted:
            X[:, 0] += 5.0 * y
        post = raytpnn.sample(
            X, y, family="bernoulli", warmup=300, draws=300, feature_weights="marginal", seed=seed
        )
        confident.append(float(post.components()["share_of_draws"].max()) > 0.5)
    assert sum(confident) == (6 if planted else 0)


def test_ray_gives_the_same_fits(result, wide, tmp_path):
    pytest.importorskip("ray")
    from support.ray_cases import local_ray

    with local_ray(3):
        found = raytpnn.cross_validate(*wide, family="bernoulli", cv="4x2", permute=2, **SMALL)
        with pytest.raises(ValueError, match="max_bins"):
            raytpnn.cross_validate(*wide, family="bernoulli", cv=2, max_bins=1, **SMALL)
    assert found.fits == result[0].fits
    assert found.control == result[0].control


def test_fit_with_cv_on_the_command_line(tmp_path):
    data, run = write(frame(60), tmp_path / "t.csv"), tmp_path / "run"
    line = ("fit", data, "--target", "sold", "--out", run, "--drop", "id", *SHORT)
    done = call(*line, "--cv", "3x1", "--permute", "1")
    assert done.returncode == 0, done.stderr
    assert "Rows held out" in done.stdout
    assert "cross-validation: 6 of 6 fits" in done.stderr
    assert (run / "cv" / "summary.md").is_file()
    again = call(*line, "--cv", "3x1", "--permute", "2")
    assert again.returncode == 0, again.stderr
    assert "6 of 9 fits are there already" in again.stderr
    written = call("report", run)
    assert written.returncode == 0, written.stderr
    assert "Does it hold on other rows?" in (run / "report.html").read_text()


def test_wrong_use_on_the_command_line(tmp_path):
    data = write(frame(30), tmp_path / "t.csv")
    line = ("fit", data, "--target", "sold", "--out", tmp_path / "run", *SHORT)
    assert "--permute 3 is a control" in call(*line, "--permute", "3").stderr
    assert "like '5x5'" in call(*line, "--cv", "five").stderr
    assert "one of the two" in call(*line, "--cv", "5", "--splits", "4").stderr
    assert not (tmp_path / "run").exists()
