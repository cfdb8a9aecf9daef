"""Mergeable summaries of columns: exact up to their size, and within their own bound beyond."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from raytpnn.data.encoding import summary as module
from raytpnn.data.encoding.summary import EXACT_VALUES, Gatherer, Levels, Numbers, summary_size

N = 60_000
SIZE = 512


def shapes():
    """Numbers of many kinds, in the order in which they come."""
    rng = np.random.default_rng(81)
    normal = rng.normal(size=N)
    return {
        "normal": normal,
        "sorted": np.sort(normal),
        "reversed": np.sort(normal)[::-1],
        "heavy": rng.standard_cauchy(size=N) ** 3,
        "inflated": np.where(rng.random(N) < 0.4, 0.0, normal),
        "two atoms": np.where(rng.random(N) < 0.3, -1.0, np.where(rng.random(N) < 0.3, 2.0, normal)),
        "counts": rng.poisson(10_000, size=N) * 1.0,
        "zipf": rng.zipf(1.2, size=N).clip(max=10**9) * 1.0,
        "zigzag": np.where(np.arange(N) % 2, np.arange(N), -np.arange(N)) * 1.0,
        "holes": np.where(rng.random(N) < 0.5, np.nan, normal),
        "first half missing": np.where(np.arange(N) < N // 2, np.nan, normal),
    }


SHAPES = shapes()


def gathered(x, parts, size=SIZE):
    """Summary of numbers that come in so many parts."""
    gatherer = Gatherer(size)
    for part in np.array_split(x, parts):
        gatherer.add(Numbers.of(part, size))
    return gatherer.result()


def worst_rank(x, found):
    """Largest difference between a number of rows below, or not above, any number and what a summary says."""
    known = np.sort(x[~np.isnan(x)])
    ends = np.concatenate([[0], np.cumsum(found.counts)])
    apart = 0
    for side in ("left", "right"):
        told = ends[np.searchsorted(found.values, known, side=side)]
        apart = max(apart, int(np.abs(told - np.searchsorted(known, known, side=side)).max()))
    return apart


@pytest.mark.parametrize("parts", [1, 2, 7, 100])
@pytest.mark.parametrize("name", SHAPES)
def test_ranks_keep_to_the_bound(name, parts):
    x = SHAPES[name]
    found = gathered(x, parts)
    assert len(found.values) <= SIZE
    assert found.missing == np.isnan(x).sum()
    assert found.total == N - found.missing
    assert np.all(np.diff(found.values) > 0)
    assert np.isin(found.values, x).all()
    assert worst_rank(x, found) <= found.error
    # A level of the tree costs about half a stretch of rows; heavy values cost more, by a factor below 3.
    levels = 2 + int(np.ceil(np.log2(parts)))
    assert found.error <= 1.5 * levels * N / SIZE


@pytest.mark.parametrize("name", ["normal", "sorted", "inflated", "zigzag"])
def test_a_summary_that_forgets_its_weights_fails(name, monkeypatch):
    def forgetful(self, later, size):
        light = [replace(one, counts=np.minimum(one.counts, 1)) for one in (self, later)]
        return merged(*light, size)

    merged = Numbers.merged
    monkeypatch.setattr(Numbers, "merged", forgetful)
    found = gathered(SHAPES[name], 7)
    assert found.total != N
    scaled = replace(found, counts=found.counts * N // found.total)
    assert worst_rank(SHAPES[name], scaled) > found.error or found.total < N // 2


@pytest.mark.parametrize("name", ["normal", "sorted"])
def test_thinning_without_medians_fails(name, monkeypatch):
    """Every second value with its own count only, instead of one for all rows of a stretch."""

    def careless(self, size):
        if len(self.values) <= size:
            return self
        kept = slice(None, None, int(np.ceil(len(self.values) / size)))
        return Numbers(self.values[kept], self.counts[kept], self.missing, self.error + 1)

    monkeypatch.setattr(Numbers, "thinned", careless)
    found = gathered(SHAPES[name], 7)
    assert worst_rank(SHAPES[name], found) > 10 * found.error


def test_few_distinct_values_are_exact():
    rng = np.random.default_rng(82)
    x = rng.integers(0, SIZE, size=N) * 0.5
    x[rng.random(N) < 0.1] = np.nan
    values, counts = np.unique(x[~np.isnan(x)], return_counts=True)
    for parts in (1, 3, 64):
        found = gathered(x, parts)
        assert found.error == 0
        np.testing.assert_array_equal(found.values, values)
        np.testing.assert_array_equal(found.counts, counts)


def test_one_value_too_many_is_told():
    assert gathered(np.arange(SIZE) * 1.0, 3).error == 0
    assert gathered(np.arange(SIZE + 1) * 1.0, 3).error > 0


def test_values_with_many_rows_keep_their_counts():
    x = SHAPES["two atoms"]
    found = gathered(x, 7)
    for atom in (-1.0, 2.0):
        # The rows of an atom are never given to another value; those close to it may be given to it.
        told = found.counts[found.values == atom].sum()
        assert 0 <= told - np.sum(x == atom) <= found.error


def test_parts_without_values():
    found = gathered(np.full(10, np.nan), 3)
    assert (len(found.values), found.missing, found.error) == (0, 10, 0)
    both = found.merged(Numbers.of(np.array([1.0, -0.0, 0.0]), SIZE), SIZE)
    np.testing.assert_array_equal(both.values, [0.0, 1.0])
    np.testing.assert_array_equal(both.counts, [2, 1])
    assert not np.signbit(both.values[0])


def test_size_grows_with_the_bins():
    assert summary_size(2) == summary_size(255) == EXACT_VALUES
    assert summary_size(65_535) == 16 * 65_535


def test_levels_are_counted_in_the_order_they_are_met():
    first = Levels.of(["b", None, "a", "b"], [2, 3, 1, 4])
    assert (first.counts, first.missing, first.present) == ({"b": 6, "a": 1}, 3, 7)
    both = first.merged(Levels.of(["c", "a"], [1, 1]))
    assert list(both.counts.items()) == [("b", 6), ("a", 2), ("c", 1)]
    assert (both.missing, both.present, both.more) == (3, 9, False)


def test_texts_beyond_number_are_not_kept(monkeypatch):
    monkeypatch.setattr(module, "MOST_TEXTS", 3)
    found = Levels.of("abcd", [1, 1, 1, 1])
    assert found.more
    assert len(found.counts) == 3
    both = Levels.of("ab", [1, 1]).merged(Levels.of("cd", [1, 1]))
    assert both.more
    assert (len(both.counts), both.present) == (3, 4)
