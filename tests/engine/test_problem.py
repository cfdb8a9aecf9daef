"""Numbers that a chain starts from."""

from __future__ import annotations

import numpy as np
import pytest

from raytpnn.engine.problem import intercept_centre
from raytpnn.families import get_family
from raytpnn.families.poisson import Poisson


@pytest.mark.parametrize("level", [-2000.0, -800.0, -5.0, 0.0, 5.0, 800.0, 2000.0])
def test_centre_of_counts_with_large_offsets(level):
    """The centre is log(sum y) - log(sum exp(offset)): a shift of all offsets shifts it back."""
    y, offset = np.array([0.0, 3.0, 5.0]), np.array([0.0, 0.5, -0.5])
    poisson = get_family("poisson")
    expected = np.log(8.0) - np.log(np.exp(offset).sum())
    assert np.isclose(intercept_centre(poisson, y, offset + level), expected - level, rtol=1e-12)


def test_centre_of_binary_responses_is_finite_where_all_are_alike():
    bernoulli = get_family("bernoulli")
    for y in (np.zeros(10), np.ones(10)):
        assert np.isclose(abs(intercept_centre(bernoulli, y, np.zeros(10))), np.log(0.95 / 0.05))


def test_only_binary_responses_have_a_mean_below_one():
    """Another family with a log link: its mean is not held below 1 as a probability would be."""

    class Counts(Poisson):
        name = "other counts"
        code = 77

    y = np.array([2.0, 4.0, 9.0])
    assert np.isclose(intercept_centre(Counts(), y, np.full(3, 0.5)), np.log(5.0) - 0.5)
