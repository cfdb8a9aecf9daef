"""Effects that single draws leave out are ranked by what the residual says."""

from __future__ import annotations

import numpy as np
import pytest

import raytpnn
from raytpnn.posterior.effects.unexplained import log_prior_odds


@pytest.fixture(scope="module")
def fitted():
    """A strong main effect, and a pair of half a standard deviation's size that short chains do not hold."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 12))
    y = 2.0 * X[:, 0] + 0.3 * X[:, 4] * X[:, 9] + rng.normal(size=600)
    # Terms of one feature: no draw can hold a pair.
    prior = raytpnn.Prior(max_order=1)
    size = {"chains": 2, "warmup": 200, "draws": 100, "executor": "threads"}
    return raytpnn.sample(X, y, prior=prior, **size)


def test_a_pair_that_no_draw_holds_is_first(fitted):
    table = fitted.unexplained(order=2)
    assert table["component"].iloc[0] == ("x4", "x9")
    assert (table["importance"] == 0.0).all()
    assert 0.15 < table["left"].iloc[0] < 0.45
    assert table["statistic"].iloc[0] > 1.5 * table["statistic"].iloc[1]
    assert len(table) == 50
    assert len(fitted.unexplained(order=2, top=None)) == 66


def test_what_is_explained_counts_by_its_importance(fitted):
    table = fitted.unexplained(order=1)
    assert table["component"].iloc[0] == ("x0",)
    held = fitted.components().set_index("component")["importance"]
    assert table["importance"].iloc[0] == pytest.approx(held["x0",])
    assert np.allclose(table["size"], np.hypot(table["importance"], table["left"]))


def test_features_that_matter_elsewhere_are_the_likelier_ones(fitted):
    """Of pairs that are as large, that of two active features is first; a large effect overrules it."""
    p = 40
    active = np.array([0.99, 0.99, *np.full(p - 2, 0.01)])
    pairs = np.array([[0, 1], [0, 2], [2, 3]])
    odds = log_prior_odds(pairs, active)
    assert odds[0] > odds[1] + 2.0 > odds[2] + 4.0
    assert odds[0] - odds[2] < 2 * np.log(p), "no more than what chance makes of so many sets"
    assert np.ptp(log_prior_odds(np.arange(p)[:, None], active)) == 0.0
    table = fitted.unexplained(order=2, top=None)
    assert (np.diff(table["log_odds"]) <= 0.0).all()
    noise = table[table["component"] != ("x4", "x9")]
    with_active = np.array(["x0" in component for component in noise["component"]])
    rank = np.arange(len(noise))
    assert rank[with_active].mean() < rank[~with_active].mean() - 15
    by_size = noise["size"].rank(ascending=False)
    assert abs(by_size[with_active].mean() - by_size[~with_active].mean()) < 15


def test_many_sets_are_screened(fitted, monkeypatch):
    whole = fitted.unexplained(order=2, top=5)
    monkeypatch.setattr("raytpnn.posterior.effects.unexplained.MOST_LISTED", 10)
    screened = fitted.unexplained(order=2, top=5)
    assert screened["component"].tolist() == whole["component"].tolist()
    triples = fitted.unexplained(order=3, top=500)["component"]
    assert len(set(triples)) == len(triples) > 100


def test_wrong_questions_are_refused(fitted):
    with pytest.raises(ValueError, match="order must be 1, 2 or 3, got 4"):
        fitted.unexplained(order=4)
    with pytest.raises(ValueError, match="top must be"):
        fitted.unexplained(top=0)
