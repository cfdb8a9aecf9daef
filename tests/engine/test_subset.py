"""Which rows a subset takes, and what it keeps of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from support.chain_cases import make_case

from raytpnn.engine.records import DELAYED, EXACT_ONLY, PROBLEM, WORK
from raytpnn.engine.reference.execution import view
from raytpnn.engine.reference.subset import permutation, strata
from raytpnn.engine.rows.factor_tables import factor_table
from raytpnn.engine.rows.subset import permuted, strata_of, stratum_start, take_subset
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

KEYS = (123456789, 4000000000, 77, 2**31 + 5)


@njit
def images(size, k0, k1, k2, k3):
    out = np.empty(size, np.int64)
    for i in range(size):
        out[i] = permuted(i, size, k0, k1, k2, k3)
    return out


@njit
def bounds(n, m):
    strata = strata_of(n, m)
    return [stratum_start(n, strata, s) for s in range(strata + 1)]


@njit
def draw_subset(problem, state, work):
    take_subset(problem, state, work)


@njit
def mean_of_sigmoid(problem, work, feature, b, gamma):
    return factor_table(problem, work, 0, feature, b, gamma)


def keys_of(*words):
    return tuple(np.uint64(word) for word in words)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12, 64, 65, 1000, 4096, 70_001])
def test_the_permutation_is_a_bijection(size):
    found = images(size, *keys_of(*KEYS))
    assert np.array_equal(np.sort(found), np.arange(size))
    if size <= 4096:
        assert np.array_equal(found, permutation(size, KEYS))


def test_every_row_is_as_likely_as_any_other():
    """Inclusion counts of 12 rows over 6,000 keys: chi-square of 11 degrees, above 40 once in 30,000."""
    rng = np.random.default_rng(0)
    counts, pairs = np.zeros(12), np.zeros((12, 12))
    for _ in range(6000):
        rows = images(12, *keys_of(*rng.integers(0, 2**32, 4)))[:5]
        counts[rows] += 1
        pairs[np.ix_(rows, rows)] += 1
    expected = 6000 * 5 / 12
    assert np.sum((counts - expected) ** 2 / (expected * 7 / 12)) * 11 / 12 < 40
    together = pairs[~np.eye(12, dtype=bool)]
    expected = 6000 * (5 * 4) / (12 * 11)
    # 66 pairs, each within 4.5 standard errors.
    assert np.abs(together - expected).max() < 4.5 * np.sqrt(expected)


@pytest.mark.parametrize("n", [5, 4096, 4097, 9000, 70_000, 1_000_003])
@pytest.mark.parametrize("m", [1, 4, 700, 3000, 8200, 60_000])
def test_strata_are_whole_row_blocks_and_none_is_empty(n, m):
    if m >= n:
        pytest.skip("no subset")
    found = list(bounds(n, m))
    assert found == strata(n, m)
    assert found[0] == 0
    assert found[-1] == n
    assert all(start % 4096 == 0 for start in found[:-1])
    assert len(found) - 1 in (1, 2, 4, 8, 16)
    shares = np.diff([m * bound // n for bound in found])
    assert shares.min() > 0
    assert np.all(shares <= np.diff(found))


def held(chain, size):
    """Whole numbers that a chain holds of some size."""
    return next(
        array
        for array in chain._arrays
        if isinstance(array, np.ndarray) and array.shape == (size,) and array.dtype == np.int64
    )


def subset_of(case, sweep):
    """Rows, responses, weights and stripes of the subset of a sweep."""
    chain = case.chain
    chain.state.stream[3] = sweep
    draw_subset(case.problem.record, chain.state, chain.work)
    part = view(chain.work.batch, (1,), PROBLEM).view(np.recarray)[0]
    arrays = {name: view(part[name], (int(part.n),), np.float64).copy() for name in ("y", "w", "offset")}
    rows = held(chain, int(part.n))
    return rows.copy(), arrays, part


def test_a_subset_holds_its_rows_without_repetition_and_unbiased_weights():
    case = make_case(n=9000, p=3, prior=Prior(K_max=3), subsets=SubsetUse(1100), random_weights=True)
    total = np.zeros(9000)
    for sweep in range(200):
        rows, arrays, part = subset_of(case, sweep)
        assert len(np.unique(rows)) == 1100
        assert np.array_equal(arrays["y"], case.problem.y[rows])
        assert np.array_equal(arrays["offset"], case.problem.offset[rows])
        np.add.at(total, rows, arrays["w"])
    # Two strata: 4,096 and 4,904 rows; each row's weight is that of the rows it stands for.
    assert list(strata(9000, 1100)) == [0, 4096, 9000]
    assert list(np.unique(part.stripe)) == [0, 1100 * 4096 // 9000, 1100]
    ratio = arrays["w"] / case.problem.w[rows]
    assert np.allclose(ratio[:500], 4096 / 500)
    assert np.allclose(ratio[500:], 4904 / 600)
    # A row is taken 24.4 times on average: the sum over 200 sweeps has a relative error of 0.02.
    assert abs(total.sum() / 200 / case.problem.w.sum() - 1.0) < 0.01
    spread = total / 200 / case.problem.w
    assert abs(spread.mean() - 1.0) < 0.01
    assert 0.15 < spread.std() < 0.25


def test_subsets_differ_by_sweep_and_chain_and_seed():
    case = make_case(n=300, p=3, subsets=SubsetUse(50))
    seen = []
    for seed, chain, sweep in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)):
        case.chain.state.stream[:3] = [seed, 0, chain]
        seen.append(tuple(subset_of(case, sweep)[0]))
    assert len(set(seen)) == 4


def test_the_mean_of_a_factor_is_that_of_all_rows():
    case = make_case(n=400, p=3, prior=Prior(K_max=3), subsets=SubsetUse(20), missing=0.1)
    _, _, part = subset_of(case, 3)
    whole = make_case(n=400, p=3, prior=Prior(K_max=3), missing=0.1)
    for feature, b, gamma in ((0, 0.5, 0.1), (1, 0.3, 0.02), (2, 0.9, 1.0)):
        mine = mean_of_sigmoid(part, case.chain.work, feature, b, gamma)
        assert mine == mean_of_sigmoid(whole.problem.record, whole.chain.work, feature, b, gamma)
        # Were it that of the subset, it would be another number: most bins hold no row of it.
        value, weight = (
            view(whole.problem.record[name], (int(whole.problem.record.n_values),), np.float64)
            for name in ("bin_value", "bin_weight")
        )
        first = view(whole.problem.record.first_bin, (3,), np.int64)[feature]
        size = view(whole.problem.record.n_bins, (3,), np.int64)[feature]
        s = 1.0 / (1.0 + np.exp((b - value[first : first + size]) / gamma))
        assert np.isclose(mine, weight[first : first + size] @ s, rtol=1e-12)


def test_codes_are_gathered_for_features_in_use_alone():
    case = make_case(n=60, p=40, prior=Prior(K_max=3), subsets=SubsetUse(20, EXACT_ONLY))
    case.chain.run(0, 1, 1, 1)
    stamps = held(case.chain, 40)
    assert 0 < np.sum(stamps > 0) < 40


@pytest.mark.parametrize("way", [EXACT_ONLY, DELAYED])
def test_codes_of_a_subset_take_no_more_room_with_more_features(way):
    """(p, m) bytes would be 1.6 GB a chain with 50,000 features and subsets of 32,768 rows."""
    sizes = []
    for p in (300, 1200):
        case = make_case(n=150, p=p, prior=Prior(K_max=3), subsets=SubsetUse(100, way))
        codes = [array for array in case.chain._arrays if getattr(array, "dtype", None) == np.uint8]
        sizes.append(sum(array.nbytes for array in codes))
    assert sizes[0] == sizes[1] == 256 * 100


def test_a_minibatch_chain_needs_no_room_for_all_rows():
    case = make_case(n=5000, p=3, prior=Prior(K_max=3), subsets=SubsetUse(100))
    long = [array for array in case.chain._arrays if isinstance(array, np.ndarray) and 5000 in array.shape]
    assert long == []
    assert WORK.itemsize < 400_000
