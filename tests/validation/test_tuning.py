"""The search on a real Ray: it finds the better prior, stops bad ones early, and is the same anywhere."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import psutil
import pytest
from support.ray_cases import local_ray

import raytpnn
from raytpnn.chains.observe.progress import Reporter
from raytpnn.tuning.on_ray import FitError, run_race
from raytpnn.tuning.outcome import ORIENTATION
from raytpnn.tuning.race import Race
from raytpnn.tuning.saved_steps import SavedSteps
from raytpnn.tuning.settings import Setting

QUICK = {"chains": 1, "warmup": 80, "draws": 80}
# The base has one term and is mediocre; coefficients so small are no fit at all.
BASE = raytpnn.Prior(K_max=1)
GOOD, BAD = {"K_max": 60}, {"sigma_beta2": 1e-8}
MANY = [GOOD, BAD, {"sigma_beta2": 1e-7}, {"sigma_beta2": 1e-6}, {"K_max": 40}, {"K_max": 2}]


def data(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, np.sin(6.0 * X[:, 0]) + 2.0 * X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def search(space=MANY, folds=3, **more):
    return raytpnn.tune(*data(), space=space, folds=folds, prior=BASE, **QUICK | more)


def figures(found):
    """The table without how long it took."""
    return found.table.drop(columns="seconds")


@pytest.fixture(scope="module")
def two_workers():
    with local_ray(2):
        yield


@pytest.fixture(scope="module")
def found(two_workers, tmp_path_factory):
    """A search that was not disturbed, and its folder."""
    out = tmp_path_factory.mktemp("search") / "out"
    return search(out=out), out


@pytest.fixture(scope="module")
def good_and_bad(two_workers, tmp_path_factory):
    """Folder with all fits of a good and a bad prior beside the base."""
    out = tmp_path_factory.mktemp("good_and_bad") / "out"
    search([GOOD, BAD], keep=1.0, out=out)
    return out


@pytest.mark.parametrize("broken", [False, True])
def test_the_better_prior_is_found(good_and_bad, monkeypatch, broken):
    """Broken twin: with the sign of the criterion turned round, the bad prior wins."""
    if broken:
        monkeypatch.setitem(ORIENTATION, "nll", -1.0)
    result = search([GOOD, BAD], keep=1.0, out=good_and_bad)
    assert result.best.changes(result.settings[0]) == (BAD if broken else GOOD)
    assert result.stopped == "complete"
    if not broken:
        assert result.ties() == []
        gain, error = result.lead(result.best_number, 0)
        assert gain > 2.0 * error > 0.0
        assert "by more than twice the error" in result.sentences()[1]
        assert result.prior.K_max == 60


def test_bad_settings_are_stopped_early(found):
    result, out = found
    table = result.table.set_index("setting")
    assert table.loc[[2, 3, 4], "steps"].tolist() == [1, 1, 1]
    assert table.loc[[2, 3, 4], "status"].tolist() == ["stopped early"] * 3
    assert table.loc[0, "steps"] == 3, "the base runs to the end"
    assert result.best_number in (1, 5)
    assert table["status"].iloc[0] == "best"
    # Nothing was done that the table does not show.
    assert len(list((out / "steps").iterdir())) == table["steps"].sum() < 7 * 3
    assert table["seconds"].min() > 0.0


def test_the_table_has_means_errors_and_gains_of_the_folds(found):
    result, _ = found
    best = result.best_number
    values = np.array([result.outcomes[best, step].scores["nll"] for step in range(3)])
    base = np.array([result.outcomes[0, step].scores["nll"] for step in range(3)])
    row = result.table.iloc[0]
    assert row["nll"] == pytest.approx(values.mean())
    assert row["se"] == pytest.approx(values.std(ddof=1) / np.sqrt(3))
    assert row["gain"] == pytest.approx((base - values).mean())
    assert row["gain_se"] == pytest.approx((base - values).std(ddof=1) / np.sqrt(3))


def test_a_fold_is_that_of_cross_validation(found):
    """Splits, seeds and scores are those of `raytpnn.cross_validate`."""
    result, _ = found
    same = raytpnn.cross_validate(*data(), cv=3, prior=BASE, executor="threads", **QUICK).splits()
    for step in range(3):
        assert result.outcomes[0, step].scores["nll"] == same["nll"][step]


def test_only_what_is_missing_is_done_again(found, monkeypatch):
    result, out = found
    done = []
    plain = SavedSteps.add
    monkeypatch.setattr(SavedSteps, "add", lambda self, *args: (done.append(args[:2]), plain(self, *args))[1])
    pd.testing.assert_frame_equal(figures(search(out=out)), figures(result))
    assert done == []
    best, worst = result.settings[result.best_number].name, result.settings[2].name
    (out / "steps" / f"{best}-001.json").unlink()
    (out / "steps" / f"{best}-002.json").unlink()
    (out / "steps" / f"{worst}-000.json").write_text("{broken")
    pd.testing.assert_frame_equal(figures(search(out=out)), figures(result))
    assert sorted(done) == sorted([(result.best_number, 1), (result.best_number, 2), (2, 0)])
    with pytest.raises(ValueError, match="holds a search of other data or options"):
        search(out=out, seed=1)
    done.clear()
    by_rmse = search(out=out, metric="rmse", keep=1.0)
    assert len(done) == 7 * 3 - result.table["steps"].sum(), "another metric takes over what is known"
    assert by_rmse.table["rmse"].notna().all()


class Disturber(Reporter):
    """Does something once, when the first fold is complete."""

    def __init__(self, act):
        super().__init__()
        self.act, self.lines = act, []

    def say(self, text):
        self.lines.append(text)
        if "fold 1 of 3 complete" in text:
            self.act()


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done_and_the_rest_is_done_later(found, tmp_path):
    result, _ = found
    reporter = Disturber(lambda: os.kill(os.getpid(), signal.SIGINT))
    cut = search(out=tmp_path / "cut", progress=reporter)
    assert cut.stopped == "interrupt"
    assert any("finishing the fits at hand" in line for line in reporter.lines)
    assert cut.race.complete == 1
    assert set(cut.table["status"]) == {"best", "unfinished", "stopped early"}
    assert cut.best_number in (1, 5), "the best of what is complete"
    whole = search(out=tmp_path / "cut")
    pd.testing.assert_frame_equal(figures(whole), figures(result))


@pytest.mark.slow
def test_a_worker_that_dies_changes_nothing(found):
    result, _ = found
    killed = []

    def kill_one():
        """Kill a worker that is in the middle of a fit: between two folds none is."""
        deadline = time.monotonic() + 60.0
        while not killed and time.monotonic() < deadline:
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if not killed and process.name().startswith("ray::run_task"):
                        process.kill()
                        killed.append(process.pid)
            time.sleep(0.01)

    killer = threading.Thread(target=kill_one)
    pd.testing.assert_frame_equal(figures(search(progress=Disturber(killer.start))), figures(result))
    killer.join()
    assert killed


class Deadly:
    """Whoever unpickles it dies."""

    def __reduce__(self):
        return os._exit, (1,)


@pytest.mark.slow
def test_a_search_whose_workers_always_die_ends(two_workers):
    settings = [Setting(BASE, raytpnn.Moves()), Setting(raytpnn.Prior(), raytpnn.Moves())]
    with pytest.raises(FitError, match="its workers died 5 times in a row"):
        run_race(Race(2, 1, 1.0), Deadly(), settings, None, {}, 1, None, print)


def test_a_time_limit_begins_nothing_new(two_workers, tmp_path):
    cut = search(out=tmp_path / "cut", time_limit=1e-9)
    assert cut.stopped == "time limit"
    assert cut.race.complete == 0
    assert set(cut.table["status"]) == {"unfinished"}
    assert cut.sentences() == ["No step was done for all settings: nothing is known yet."]
    with pytest.raises(ValueError, match="nothing is known"):
        _ = cut.best


@pytest.mark.slow
@pytest.mark.parametrize("broken", [False, True])
def test_evidence_points_the_same_way(two_workers, monkeypatch, broken):
    """Broken twin: with the sign turned round, the bad prior has the day."""
    if broken:
        monkeypatch.setitem(ORIENTATION, "evidence", -ORIENTATION["evidence"])
    more = {"chains": 2, "warmup": 100, "draws": 100, "criterion": "evidence"}
    result = search([{"K_max": 5}, BAD], keep=1.0, **more)
    assert result.best.changes(result.settings[0]) == (BAD if broken else {"K_max": 5})
    if broken:
        return
    table = result.table
    assert table["steps"].tolist() == [2, 2, 2]
    assert (table["se"] > 0).all()
    assert result.ties() == []
    single = raytpnn.sample(
        *data(),
        prior=raytpnn.Prior(K_max=5),
        tempering=raytpnn.Tempering(replicas=20, t_min=0.0),
        chains=2,
        warmup=200,
        draws=200,
        executor="threads",
    )
    own = single.tempering().evidence
    difference = abs(own.log_evidence - table["evidence"].iloc[0])
    assert difference < 5.0 * math.hypot(own.error, table["se"].iloc[0]) + 0.5


@pytest.mark.slow
def test_evidence_that_cannot_tell_is_a_tie(two_workers):
    """M does not change the posterior, so the evidences are the same but for chance."""
    more = {"chains": 4, "warmup": 400, "draws": 400, "criterion": "evidence", "keep": 1.0}
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=30)
    result = raytpnn.tune(X, y, space={"M": [1.0, 20.0]}, prior=raytpnn.Prior(K_max=5), **more)
    assert len(result.ties()) == 2
    assert result.sentences()[1].startswith("A tie: setting")
    gap, error = result.lead(result.best_number, result.ties()[0])
    assert 0.0 <= gap <= 2.0 * error


def test_errors_of_fits_are_told(two_workers):
    with pytest.raises(
        ValueError, match=r"a fit of the search failed: ValueError: max_bins must be from 2 to .* not 70000"
    ):
        search([GOOD], max_bins=70_000)


def test_wrong_use_is_named():
    X, y = data(20)
    cases = {
        "there is no preset 'papr'": {"space": "papr"},
        "neither Prior nor Moves has a setting 'c0'": {"space": {"c0": [1.0]}},
        "no setting but the base": {"space": {"C0": [0.0]}},
        "unknown criterion 'waic'": {"criterion": "waic"},
        "family gaussian has no metric 'auroc'; choose one of nll, rmse, crps": {"metric": "auroc"},
        "'rmse' is one of cross-validation": {"metric": "rmse", "criterion": "evidence"},
        "keep must be above 0": {"keep": 0.0},
        "folds must be a whole number, 2 or more": {"folds": 1},
        "trials must be a whole number, 1 or more": {"trials": 0},
        "there are 20 rows: too few for 30 folds": {"folds": 30},
    }
    for message, options in cases.items():
        with pytest.raises(ValueError, match=message):
            raytpnn.tune(X, y, **options)
    with pytest.raises(TypeError, match="unexpected keyword argument 'chans'; did you mean 'chains'"):
        raytpnn.tune(X, y, chans=1)
    with pytest.raises(ValueError, match="class"):
        raytpnn.tune(X, np.ones(20), family="bernoulli")
    with pytest.raises(ValueError, match="of one class there are 1 rows: too few"):
        raytpnn.tune(X, np.arange(20) == 3, family="bernoulli")


@pytest.mark.slow
def test_one_worker_finds_the_same(found, request):
    """Last: it stops the Ray of two workers."""
    import ray

    ray.shutdown()
    with local_ray(1):
        alone = search()
    pd.testing.assert_frame_equal(figures(alone), figures(found[0]))


def test_the_race_is_what_the_search_ran(found):
    """Every setting did the steps that a race over all losses would have given it."""
    result, _ = found
    race = Race(len(result.settings), 3, 0.5)
    for step in range(3):
        for i in range(len(result.settings)):
            if race.wants(i) == step:
                race.add(i, step, result.outcomes[i, step].loss("nll"))
    assert race.dropped == result.race.dropped
    assert race.ranked() == result.race.ranked()
