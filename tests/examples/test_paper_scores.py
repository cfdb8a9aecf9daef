"""Scores that the paper's tables add to those of the package, against definitions and against the package."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support import paper_cases  # noqa: F401

import raytpnn
from examples.paper.models.base import Size, Task, choose
from examples.paper.models.linear import Linear
from examples.paper.models.ours import forecast_of, sample
from examples.paper.scores import Forecast, detection_auroc, normal_crps, score
from raytpnn.posterior.evaluate import out_of_distribution as novelty
from raytpnn.posterior.evaluate.scores import score as score_of_posterior


def test_crps_of_a_normal_is_the_expectation_over_its_draws():
    rng = np.random.default_rng(0)
    draws = rng.normal(1.0, 2.0, size=400_000)
    for y in (-3.0, 1.0, 4.0):
        expected = np.mean(np.abs(draws - y)) - 0.5 * np.mean(np.abs(draws - rng.permutation(draws)))
        assert normal_crps(np.array([y]), np.array([1.0]), 2.0)[0] == pytest.approx(expected, abs=0.01)


def test_a_mixture_of_equal_draws_is_one_normal():
    y, mean = np.array([0.3, -1.0, 2.5]), np.array([0.0, 0.1, 2.0])
    one = score(y, Forecast(mean, variance=0.49), False)
    many = score(y, Forecast(mean, np.tile(mean, (7, 1)), np.full(7, 0.49)), False)
    for name in ("rmse", "mae", "crps", "nll"):
        assert many[name] == pytest.approx(one[name], abs=1e-6)
    # A wrong variance is seen.
    assert score(y, Forecast(mean, variance=4.0), False)["nll"] > one["nll"] + 0.1


def test_scores_of_a_posterior_are_those_of_the_package():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    for binary in (False, True):
        f = X["a"].to_numpy() + 0.5 * rng.normal(size=120)
        y = (f > 0).astype(float) if binary else f
        task = Task(X[:90], y[:90], X[90:], binary, 0, Size(2, 50, 50))
        post = sample(task)
        mine = score(y[90:], forecast_of(post, task.X_new), binary)
        theirs = score_of_posterior(post, task.X_new, y[90:])
        for name in ("nll", "auroc", "ece") if binary else ("rmse", "crps", "nll"):
            assert mine[name] == pytest.approx(theirs[name], rel=1e-6), name
        if binary:
            inside, outside = X[90:], X[:30] * 3
            found = detection_auroc(post.predict(inside), post.predict(outside))
            assert found == pytest.approx(novelty.detection_auroc(post, inside, outside))
            assert isinstance(post, raytpnn.Posterior)


def test_tuning_picks_the_setting_that_predicts_best():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("abcde"))
    strong = X.to_numpy() @ np.array([3.0, -2.0, 1.0, 2.0, -1.0]) + 0.1 * rng.normal(size=200)
    weak = 0.05 * X["a"].to_numpy() + rng.normal(size=200)
    chosen, error = choose(Linear(), X, strong, False, Size())
    assert chosen["penalty"] == 0.1
    assert error == pytest.approx(0.01, rel=0.5)
    assert choose(Linear(), X, weak, False, Size())[0]["penalty"] == 100.0


def test_a_fit_that_was_interrupted_is_no_result():
    X = pd.DataFrame({"a": np.arange(40.0)})
    task = Task(X, np.arange(40.0), X, False, 0, Size(2, 50, 100_000))
    with pytest.warns(UserWarning, match="time limit"), pytest.raises(KeyboardInterrupt, match="interrupted"):
        sample(task, time_limit=0.5)
