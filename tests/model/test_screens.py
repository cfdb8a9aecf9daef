"""Screens find what is planted, and their statistics are those of a score test."""

from __future__ import annotations

from itertools import combinations
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from support.chain_cases import random_bins

from raytpnn.data.encoding.bins import Bins
from raytpnn.model.feature_weights import is_screened
from raytpnn.model.screens import set_table
from raytpnn.model.screens.pairs import BLOCK, screen_pairs
from raytpnn.model.screens.parities import search_triples
from raytpnn.model.screens.set_table import learn_proposals, screening_pays
from raytpnn.model.screens.shapes import EVEN, LINEAR, Shapes
from raytpnn.model.screens.singles import exact_statistics, screen_singles
from raytpnn.model.screens.top_list import TopList
from raytpnn.model.screens.triples import extend_sets, screen_all_triples


def ranks(n, p, seed=0):
    """Bins of independent features without ties, and their centred ranks, (p, n), of variance 1."""
    rng = np.random.default_rng(seed)
    codes = np.array([rng.permutation(n) * 200 // n for _ in range(p)], np.uint8)
    first = np.array([0, 200])
    value = (np.arange(200) + 0.5) / 200
    names = tuple(f"x{j}" for j in range(p))
    bins = Bins(codes, names, np.zeros(p, np.int32), first, value, np.full(200, 1 / 200))
    return bins, np.sqrt(12.0) * (value[codes] - 0.5)


def residual(signal, noise, seed=1):
    """Score and curvature of a gaussian response at its mean."""
    y = signal + noise * np.random.default_rng(seed).normal(size=len(signal))
    y = y - y.mean()
    return y / y.var(), np.full(len(y), 1 / y.var())


def test_shapes_are_centred_scaled_and_uncorrelated():
    bins = random_bins(500, 6, missing=0.1)
    shapes = Shapes.of(bins)
    linear, even = (shapes.values(slice(0, 6), shape).astype(float) for shape in (LINEAR, EVEN))
    known = bins.codes != bins.missing_code
    assert np.all(linear[~known] == 0.0)
    for j in range(6):
        assert linear[j][known[j]].mean() == pytest.approx(0.0, abs=1e-5)
        assert linear[j][known[j]].std() == pytest.approx(1.0, abs=1e-5)
        assert np.mean(linear[j] * even[j]) == pytest.approx(0.0, abs=1e-5)
    assert not even[0].any(), "two values have no even shape"


@pytest.mark.parametrize("shape", ["linear", "even"])
def test_a_pair_without_main_effects_is_first_of_all(shape):
    bins, u = ranks(400, 60)
    signal = u[7] * u[41] if shape == "linear" else (u[7] ** 2 - 1) * (u[41] ** 2 - 1)
    score, curvature = residual(signal, 2.0)
    pairs, statistic = screen_pairs(Shapes.of(bins), score, curvature, 10)
    assert pairs[0].tolist() == [7, 41]
    assert statistic[0] > 2 * statistic[1]
    linear_only, _ = screen_pairs(Shapes.of(bins), score, curvature, 10, even=False)
    assert (linear_only[0].tolist() == [7, 41]) == (shape == "linear")


class OnDevice(np.ndarray):
    """An array that must be fetched, as those of CuPy."""

    def get(self):
        return np.asarray(self)


def test_products_on_a_device_find_the_same():
    """The calls that CuPy would get; it has not run on a GPU."""
    device = SimpleNamespace(
        asarray=lambda array: array.view(OnDevice),
        maximum=np.maximum,
        triu=lambda array, k: np.triu(array, k).view(OnDevice),
        flatnonzero=lambda array: np.flatnonzero(array).view(OnDevice),
        argpartition=np.argpartition,
    )
    bins, u = ranks(200, 30)
    score, curvature = residual(u[3] * u[20], 1.0)
    here = screen_pairs(Shapes.of(bins), score, curvature, 20)
    there = screen_pairs(Shapes.of(bins), score, curvature, 20, arrays=device)
    assert np.array_equal(here[0], there[0])


def test_blocks_leave_no_pair_out_and_count_none_twice(monkeypatch):
    bins, u = ranks(100, 25)
    score, curvature = residual(u[3] * u[20], 1.0)
    whole = screen_pairs(Shapes.of(bins), score, curvature, comb(25, 2))
    monkeypatch.setattr("raytpnn.model.screens.pairs.BLOCK", 7)
    parts = screen_pairs(Shapes.of(bins), score, curvature, comb(25, 2))
    assert np.array_equal(whole[0], parts[0])
    assert {tuple(pair) for pair in whole[0].tolist()} == set(combinations(range(25), 2))
    assert np.array_equal(np.sort(whole[1])[::-1], whole[1])
    assert BLOCK % 2 == 0


def test_statistics_are_chi_squared_where_there_is_nothing():
    """The mean of the largest of four such numbers; features that go together make no false pair."""
    bins, u = ranks(2000, 40, seed=3)
    codes = bins.codes.copy()
    codes[1] = codes[0]
    bins = Bins(codes, bins.names, bins.marginal, bins.first, bins.value, bins.weight)
    score, curvature = residual(0.0 * u[0], 1.0)
    _, statistic = screen_pairs(Shapes.of(bins), score, curvature, comb(40, 2))
    rng = np.random.default_rng(0)
    expected = (rng.normal(size=(100_000, 4)) ** 2).max(axis=1).mean()
    assert statistic.mean() == pytest.approx(expected, rel=0.1)
    assert statistic[0] < 25.0


def test_singles_and_given_sets():
    bins, u = ranks(500, 12)
    score, curvature = residual(u[4] + 0.8 * (u[9] ** 2 - 1), 1.0)
    single = screen_singles(Shapes.of(bins), score, curvature)
    assert set(np.argsort(-single)[:2]) == {4, 9}
    phi = u[4] - u[4].mean()
    by_hand = (phi @ score) ** 2 / (curvature @ phi**2)
    found = exact_statistics(Shapes.of(bins), np.array([[4]]), score, curvature)
    assert found[0] == pytest.approx(by_hand, 1e-3)


def test_triples_are_found_by_extension_and_among_all():
    bins, u = ranks(400, 30)
    score, curvature = residual(u[2] * u[11] * u[25], 2.0)
    shapes = Shapes.of(bins)
    every, statistic = screen_all_triples(shapes, score, curvature, 20)
    assert every[0].tolist() == [2, 11, 25]
    assert statistic[0] > 1.5 * statistic[1]
    extended, _ = extend_sets(shapes, np.array([[0, 1], [2, 25]]), score, curvature, 20)
    assert extended[0].tolist() == [2, 11, 25]
    missed, _ = extend_sets(shapes, np.array([[0, 1], [3, 25]]), score, curvature, 20)
    assert [2, 11, 25] not in missed.tolist()


def test_an_effect_that_another_hid_is_found_by_extension(monkeypatch):
    """Where all pairs are looked at once only, later screens extend the features that chains hold."""
    monkeypatch.setattr(set_table, "QUICK_OPERATIONS", 0.0)
    bins, u = ranks(300, 60)
    score, curvature = residual(0.7 * u[7] * u[41], 0.5)
    earlier = np.array([[0, 1, -1]])
    without = learn_proposals(Shapes.of(bins), score, curvature, {(3,): 5}, 3, earlier)
    assert [7, 41, -1] not in without.sets.tolist()
    found = learn_proposals(Shapes.of(bins), score, curvature, {(3,): 5, (41,): 2}, 3, earlier)
    pairs = found.sets[:, 1:] >= 0
    pair = pairs[:, 0] & ~pairs[:, 1]
    assert found.sets[pair][np.argmax(found.weight[pair])].tolist() == [7, 41, -1]


def test_signs_find_a_pure_triple_among_many_features():
    """1.7e8 triples of 1,000 features, of which one matters; without it nothing is as large."""
    bins, u = ranks(300, 1000)
    score, curvature = residual(0.37 * u[100] * u[500] * u[900], 0.08)
    found, statistic = search_triples(Shapes.of(bins), score, curvature, 5, operations=2e7)
    assert found[0].tolist() == [100, 500, 900]
    score, curvature = residual(0.0 * u[0], 1.0)
    _, noise = search_triples(Shapes.of(bins), score, curvature, 5, operations=2e7)
    assert statistic[0] > 2.0 * noise.max(initial=0.0)


def test_a_list_of_the_best_does_not_depend_on_the_order_of_offers():
    rng = np.random.default_rng(0)
    sets = np.array(list(combinations(range(12), 2)))
    statistic = rng.integers(0, 9, len(sets)).astype(float)
    kept = []
    for order in (np.arange(len(sets)), rng.permutation(len(sets))):
        best = TopList(10, 2)
        for part in np.array_split(order, 5):
            best.offer(sets[part], statistic[part])
        best.offer(sets[:3], statistic[:3] - 1.0)
        kept.append([part.tolist() for part in best.best()])
    assert kept[0] == kept[1]
    assert min(kept[0][1]) >= np.sort(statistic)[-10]


def test_proposals_favour_what_is_found_and_what_is_used():
    bins, u = ranks(600, 20)
    score, curvature = residual(u[1] + u[5] * u[9], 1.0)
    found = learn_proposals(Shapes.of(bins), score, curvature, {(3,): 4, (2, 6): 1, (1, 2, 3, 4): 2}, 3)
    weight = dict(zip(map(tuple, found.sets.tolist()), found.weight, strict=True))
    assert weight[1, -1, -1] > 10 * weight[0, -1, -1]
    assert weight[5, 9, -1] > 10 * weight[0, 1, -1]
    assert weight[3, -1, -1] > weight[2, 6, -1] > 0.05
    assert found.weight.sum() == pytest.approx(1.0)
    assert found.feature_weight.sum() == pytest.approx(1.0)
    assert found.feature_weight.min() >= 0.99 * set_table.UNIFORM_SHARE / 20
    assert found.feature_weight[1] > 3 / 20
    small = learn_proposals(Shapes.of(bins), score, curvature, {(1, 2): 1}, 1)
    assert np.all(small.sets[:, 1] == -1), "terms of one feature need no pairs"


@pytest.mark.parametrize(
    ("n", "p", "pays"),
    [
        (10_000, 3, False),
        (10_000, 8, False),
        (506, 13, True),
        (5_000, 50, True),
        (2_000, 500, True),
        (20, 1_000, False),
        (62, 2_000, True),
        (22, 54_675, False),
        (200, 54_675, True),
    ],
)
def test_screens_are_used_where_they_pay(n, p, pays):
    assert screening_pays(n, p) == pays
    assert is_screened("auto", n, p) == pays
    assert is_screened("screen", n, p)
    assert not is_screened(None, n, p)
    assert not is_screened("adaptive", n, p)
