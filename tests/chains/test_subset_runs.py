"""Minibatch and delayed acceptance through `raytpnn.sample`, runs on disk, the command line, estimators."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from support.cli_cases import SHORT, call
from support.run_cases import assert_same_draws, fit, small_data

import raytpnn
from raytpnn.engine.records import DELAYED_IF_IT_PAYS
from raytpnn.engine.rows.subset_options import LEAST_ROWS_TO_SCREEN, SubsetUse, resolve_subsets
from raytpnn.posterior.subset_words import subsets_in_words

WAYS = {
    "minibatch": {"minibatch": 30},
    "delayed": {"minibatch": 30, "delayed_acceptance": True},
}
SIZE = {"chains": 2, "warmup": 150, "draws": 150}


@pytest.mark.parametrize("way", WAYS)
def test_threads_and_resume_do_not_change_the_draws(way, tmp_path, monkeypatch):
    options = SIZE | WAYS[way]
    monkeypatch.setenv("RAYTPNN_THREADS", "2")
    whole = fit(tmp_path / "whole", **options)
    monkeypatch.setenv("RAYTPNN_THREADS", "1")
    fit(tmp_path / "one", **options)
    assert_same_draws(tmp_path / "whole", tmp_path / "one")
    shorter = SIZE | {"draws": 50} | WAYS[way]
    fit(tmp_path / "short", **shorter)
    more = raytpnn.resume(tmp_path / "short", draws=150, executor="threads")
    assert np.array_equal(more.draws.beta, whole.draws.beta)
    assert np.array_equal(more.draws.loglik, whole.draws.loglik)
    for name in ("minibatch", "delayed_acceptance", "subset_rows", "screening"):
        assert more.config[name] == whole.config[name]


def test_ways_give_different_draws_that_say_much_the_same():
    X, y = small_data(400)
    posts = [
        raytpnn.sample(X, y, chains=2, warmup=300, draws=300, executor="threads", **more)
        for more in ({}, {"minibatch": 200}, {"minibatch": 200, "delayed_acceptance": True})
    ]
    means = [post.predict(X) for post in posts]
    for mean in means[1:]:
        assert not np.array_equal(mean, means[0])
        assert np.sqrt(np.mean((mean - means[0]) ** 2)) < 0.2 * np.std(means[0])
    # What the watched rows said while sampling is what the draws say.
    assert posts[1].config["acceptance"][0]["factor"][0] > 0


def test_watched_rows_of_a_minibatch_chain_are_those_of_its_draws(tmp_path):
    post = fit(tmp_path / "run", chains=2, warmup=100, draws=100, minibatch=30)
    from raytpnn.chains.run.ledger import read_ledger
    from raytpnn.chains.run.run import Run
    from raytpnn.storage.places.place import Place

    run = Run.open(Place(tmp_path / "run"))
    ledger, _ = read_ledger(run)
    watched = ledger.reports[0][1].watched
    X, _ = small_data()
    rows = run.plan(run.rows()).watched
    f = post.predict_draws(X.iloc[rows])[post.draws.chain == 0]
    assert np.allclose(watched.f, f, atol=1e-4)


def test_batch_sizes():
    assert resolve_subsets(100) == SubsetUse()
    assert resolve_subsets(LEAST_ROWS_TO_SCREEN - 1, None, True) == SubsetUse()
    for n in (LEAST_ROWS_TO_SCREEN, 100_000, 10**6, 10**8):
        chosen = resolve_subsets(n, None, True)
        assert chosen.delayed == DELAYED_IF_IT_PAYS
        assert 2048 <= chosen.rows <= n / 8
    assert resolve_subsets(100, 40).approximate
    assert not resolve_subsets(100, 40, True).approximate


def test_off_for_few_rows_is_said():
    X, y = small_data()
    plain = raytpnn.sample(X, y, chains=1, warmup=30, draws=30, executor="threads")
    off = raytpnn.sample(X, y, chains=1, warmup=30, draws=30, executor="threads", delayed_acceptance=True)
    assert np.array_equal(plain.draws.beta, off.draws.beta)
    assert off.config["subset_rows"] == 0
    assert "is off" in subsets_in_words(off.config)
    assert subsets_in_words(plain.config) == ""


def test_command_line(tmp_path):
    X, y = small_data()
    pd.DataFrame(X).assign(y=y).to_csv(tmp_path / "data.csv", index=False)
    args = ("fit", tmp_path / "data.csv", "--target", "y", *SHORT, "--minibatch", 30)
    assert call(*args, "--out", tmp_path / "mini").returncode == 0
    done = call(*args, "--delayed-acceptance", "--out", tmp_path / "delayed")
    assert done.returncode == 0, done.stderr
    told = call("diagnose", tmp_path / "mini").stdout
    assert "Every sweep looked at 30 of the rows (minibatch)" in " ".join(told.split())
    told = json.loads(call("diagnose", tmp_path / "delayed", "--json").stdout)["subsets"]
    assert told.startswith("Delayed acceptance on 30 rows per sweep")
    assert "changing in 2 of 2 chains" in told
    (tmp_path / "fit.toml").write_text("minibatch = 30\ndelayed_acceptance = true\n")
    again = ("fit", tmp_path / "data.csv", "--target", "y", *SHORT, "--config", tmp_path / "fit.toml")
    assert call(*again, "--out", tmp_path / "config").returncode == 0
    assert_same_draws(tmp_path / "delayed", tmp_path / "config")
    bad = call(*args[:-1], 5000, "--out", tmp_path / "bad")
    assert bad.returncode != 0
    assert "minibatch=5000 is not smaller than the data" in " ".join((bad.stdout + bad.stderr).split())


def test_estimator_passes_them_on():
    X, y = small_data()
    model = raytpnn.BayesianTPNNRegressor(
        chains=1, warmup=30, draws=30, random_state=1, minibatch=30, delayed_acceptance=True
    )
    model.fit(X, y)
    assert model.posterior_.config["subset_rows"] == 30
    assert model.get_params()["minibatch"] == 30
