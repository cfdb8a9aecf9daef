"""Feature weights learned in warm-up: shared by chains, frozen after, without effect on the posterior."""

from __future__ import annotations

import numpy as np
import pytest
from support.posterior_differences import largest_difference
from support.run_cases import assert_same_draws

import raytpnn
from raytpnn.chains.plan import Length
from raytpnn.chains.work.adaptive_weights import UNIFORM_SHARE, changes, learned_weights, round_of_weights
from raytpnn.engine.problem import with_feature_weights


def wide_data(n=120, p=60):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, p))
    return X, np.where(X[:, 3] > 0, 2.0, -2.0) * X[:, 7] + rng.normal(size=n)


def fit(out=None, **options):
    X, y = wide_data()
    size = {"chains": 3, "warmup": 800, "draws": 250, "seed": 2, "feature_weights": "adaptive"}
    return raytpnn.sample(X, y, out=out, executor="threads", **{**size, **options})


def test_weights_change_within_warm_up_only():
    assert changes(Length(4, 1000, 1000)) == [1, 2, 3, 4, 6, 9]
    assert changes(Length(4, 150, 1000)) == []
    assert changes(Length(4, 0, 10)) == []
    length = Length(4, 1000, 1000)
    assert [round_of_weights(length, block) for block in (0, 1, 5, 6, 19)] == [None, 1, 4, 6, 9]


def test_learned_weights_favour_what_is_used_and_reach_everything():
    weights = learned_weights([{2: 4}, {2: 5, 0: 1}], p=10)
    assert weights.sum() == pytest.approx(1.0)
    assert np.all(weights >= UNIFORM_SHARE / 10)
    assert weights[2] > weights[0] > weights[1] == weights[9]
    assert np.array_equal(learned_weights([{}], p=4), np.full(4, 0.25))


def test_same_draws_for_any_number_of_workers_and_after_a_stop(tmp_path, monkeypatch):
    monkeypatch.setenv("RAYTPNN_THREADS", "1")
    fit(tmp_path / "one")
    monkeypatch.setenv("RAYTPNN_THREADS", "3")
    fit(tmp_path / "three")
    assert_same_draws(tmp_path / "one", tmp_path / "three")
    with pytest.raises(ValueError, match="time limit"):
        fit(tmp_path / "stopped", time_limit=1e-9)
    raytpnn.resume(tmp_path / "stopped")
    assert_same_draws(tmp_path / "one", tmp_path / "stopped")
    weights = tmp_path / "one" / "checkpoint" / "weights=6"
    assert weights.read_bytes() == (tmp_path / "stopped" / "checkpoint" / "weights=6").read_bytes()


def test_damaged_weights_are_learned_again(tmp_path):
    fit(tmp_path / "run")
    name = tmp_path / "run" / "checkpoint" / "weights=4"
    whole = name.read_bytes()
    name.write_bytes(whole[:-1] + b"x")
    raytpnn.resume(tmp_path / "run", draws=300)
    assert name.read_bytes() == whole
    with pytest.raises(ValueError, match=r"learned its feature weights from 3 chains.*not more chains"):
        raytpnn.resume(tmp_path / "run", chains=5)


def test_proposals_favour_the_features_that_matter(tmp_path):
    post = fit(tmp_path / "run")
    assert post.components()["component"].iloc[0] == ("x3", "x7")
    content = (tmp_path / "run" / "checkpoint" / "weights=6").read_bytes()
    weights = np.frombuffer(content[32:])
    assert set(np.argsort(-weights)[:4]) >= {3, 7}
    assert weights[[3, 7]].min() > 2.0 / 60


def test_weights_do_not_change_the_posterior():
    """On a target small enough to converge. One of 13 exceeds 5 once in 100,000 choices of seeds."""
    assert largest_difference("adaptive") < 5.0


def test_weights_that_ratios_do_not_know_of_are_seen(monkeypatch):
    """A twin: variables are drawn by the learned weights, and judged by the old ones."""

    def half(problem, weights):
        made = with_feature_weights(problem, weights)
        made.record["feature_weight"] = problem.record["feature_weight"]
        return made

    monkeypatch.setattr("raytpnn.chains.work.worker.with_feature_weights", half)
    assert largest_difference("adaptive") > 5.0
