"""Which rows are held out."""

from __future__ import annotations

import numpy as np
import pytest

from raytpnn.validation.splits import Scheme, make_splits


@pytest.fixture
def labels():
    return np.random.default_rng(0).permutation(np.repeat([0.0, 1.0], [17, 40]))


def test_what_a_user_says():
    assert Scheme.of("5x3") == Scheme(5, 3)
    assert Scheme.of(4) == Scheme.of(" 4 ") == Scheme(4, 1)
    assert Scheme.of(None, 20) == Scheme(0, 20)
    assert str(Scheme(5, 3)) == "5 folds, 3 times"
    assert Scheme.of("10x10").control == Scheme(10, 1)
    assert Scheme.of(None, 20).control == Scheme(0, 5)


@pytest.mark.parametrize(
    ("cv", "splits", "message"),
    [
        ("5y3", None, "like '5x5'"),
        (True, None, "like '5x5'"),
        ("1", None, "2 folds or more, got 1"),
        ("5x0", None, "got 0"),
        (None, 0, "got 0"),
        (None, 2.5, "whole number"),
        ("5", 5, "one of the two"),
        (None, None, "one of the two"),
    ],
)
def test_what_cannot_be_meant_is_refused(cv, splits, message):
    with pytest.raises(ValueError, match=message):
        Scheme.of(cv, splits)


def test_folds_hold_out_every_row_once_and_keep_the_shares(labels):
    splits = make_splits(Scheme(5, 3), labels, True, seed=1)
    assert [(s.repeat, s.fold) for s in splits] == [(r, f) for r in range(3) for f in range(5)]
    for repeat in range(3):
        parts = [s for s in splits if s.repeat == repeat]
        assert np.array_equal(np.sort(np.concatenate([s.test for s in parts])), np.arange(57))
        sizes = [len(s.test) for s in parts]
        assert max(sizes) - min(sizes) <= 1
        ones = [int(labels[s.test].sum()) for s in parts]
        assert max(ones) - min(ones) <= 1
    for s in splits:
        assert np.array_equal(np.sort(np.concatenate([s.train, s.test])), np.arange(57))
    assert not np.array_equal(splits[0].test, splits[5].test)


def test_random_splits_keep_the_shares(labels):
    for s in make_splits(Scheme(0, 20, 0.2), labels, True, seed=0):
        assert labels[s.test].sum() == 8
        assert len(s.test) == 8 + 3
        assert not set(s.test) & set(s.train)


def test_a_repeat_does_not_depend_on_their_number(labels):
    few, many = (make_splits(Scheme(5, r), labels, True, seed=3) for r in (1, 4))
    assert all(np.array_equal(a.test, b.test) for a, b in zip(few, many, strict=False))
    other = make_splits(Scheme(5, 1), labels, True, seed=4)
    assert not all(np.array_equal(a.test, b.test) for a, b in zip(few, other, strict=True))


def test_too_few_rows_of_a_class():
    with pytest.raises(ValueError, match=r"one class there are 3 rows: too few for 5 folds"):
        make_splits(Scheme(5, 1), np.array([0.0] * 9 + [1.0] * 3), True, 0)
    with pytest.raises(ValueError, match="there are 4 rows: too few"):
        make_splits(Scheme(5, 1), np.arange(4.0), False, 0)
