"""Numbers that a chain starts from."""

from __future__ import annotations

import numpy as np
import pytest

from raytpnn.families import get_family


@pytest.mark.parametrize("level", [-2000.0, -800.0, -5.0, 0.0, 5.0, 800.0, 2000.0])
def test_centre_of_counts_with_large_offsets(level):
    """The centre is log(sum y) - log(sum exp(offset)): a shift of all offsets shifts it back."""
    y, offset = np.array([0.0, 3.0, 5.0]), np.array([0.0, 0.5, -0.5])
    poisson = get_family("poisson")
    expected = np.log(8.0) - np.log(np.exp(offset).sum())
    assert np.isclose(poisson.start(y, offset + level), expected - level, rtol=1e-12)


def test_centre_of_binary_responses_is_finite_where_all_are_alike():
    bernoulli = get_family("bernoulli")
    for y in (np.zeros(10), np.ones(10)):
        assert np.isclose(abs(bernoulli.start(y, np.zeros(10))), np.log(0.95 / 0.05))
