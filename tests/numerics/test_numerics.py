"""Elementary functions, random numbers and sums: right, and the same in both executions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from raytpnn.numerics import elementary, elementary_numpy
from raytpnn.numerics.lanes import BLOCK, block_dot, block_moments, block_sum
from raytpnn.numerics.lanes_numpy import block_sum as block_sum_numpy
from raytpnn.numerics.philox import philox, philox_numpy

KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(counter, key, answer):
    assert philox_numpy(counter, key) == answer
    assert philox(*(np.uint64(word) for word in counter + key)) == answer


def points(low, high, size=4000):
    return np.random.default_rng(0).uniform(low, high, size)


@pytest.mark.parametrize(
    ("name", "x", "exact", "tolerance"),
    [
        ("exp", points(-700, 700), np.exp, 1e-13),
        ("log", np.exp(points(-600, 600)), np.log, 1e-15),
        ("log1p_unit", points(0, 1), np.log1p, 1e-15),
        ("normal_quantile", points(0, 1), ndtri, 1e-14),
        ("normal_quantile", 10.0 ** -np.arange(1.0, 16.0), ndtri, 1e-14),
    ],
)
def test_functions_are_accurate_and_alike_bit_by_bit(name, x, exact, tolerance):
    compiled = np.array([getattr(elementary, name)(value) for value in x])
    vectorised = getattr(elementary_numpy, name)
    numpy = np.array([vectorised(value) for value in x])
    assert np.array_equal(compiled, numpy)
    np.testing.assert_allclose(compiled, exact(x), rtol=tolerance, atol=tolerance)


def test_functions_at_the_edges():
    for module in (elementary, elementary_numpy):
        assert module.exp(-1e9) == pytest.approx(np.exp(-708.0))
        assert module.exp(1e9) == pytest.approx(np.exp(709.0))
        assert module.log(0.0) == -np.inf
        assert module.log(np.inf) == np.inf
        assert np.isnan(module.log(-1.0))
        assert module.log1p_unit(0.0) == 0.0


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 404, 1000, BLOCK])
def test_sums_are_alike_bit_by_bit(n):
    rng = np.random.default_rng(n)
    x, w = rng.normal(size=n), rng.random(n)
    v = rng.normal(size=n).astype(np.float32)
    lanes = np.full((2, 256), np.nan)
    wide = v.astype(np.float64)
    assert block_sum(x, lanes[0]) == block_sum_numpy(x)
    assert block_dot(x, v, lanes[0]) == block_sum_numpy(x * wide)
    assert block_moments(x, w, v, lanes) == (block_sum_numpy(x * wide), block_sum_numpy((w * wide) * wide))
    assert block_sum(x, lanes[0]) == pytest.approx(x.sum(), rel=1e-12, abs=1e-12)
