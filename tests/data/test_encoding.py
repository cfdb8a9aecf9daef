"""The encoding of numbers: bins, cuts, codes, and what they cost."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import expit
from scipy.stats import rankdata
from support.encoding_cases import mixed_frame

from raytpnn.data.encoding.binning import bin_sorted, encode_rows
from raytpnn.data.encoding.encoder import Encoder

NAN = float("nan")


def decode(bins, feature):
    """Bin values of every row, NaN for missing."""
    codes = bins.codes[feature]
    return np.append(bins.values_of(feature), NAN)[np.where(codes == bins.missing_code, -1, codes)]


# Values and weights of bins


def test_up_to_255_distinct_values_are_mid_ranks():
    rng = np.random.default_rng(1)
    for column in (rng.normal(size=200), rng.integers(0, 9, size=500).astype(float), np.arange(3.0)):
        _, bins = Encoder.fit(column[:, None])
        expected = (rankdata(column) - 0.5) / len(column)
        np.testing.assert_allclose(decode(bins, 0), expected, rtol=0, atol=1e-15)


def test_mid_ranks_count_only_rows_that_are_there():
    column = np.array([5.0, NAN, 1.0, 1.0, NAN, 2.0])
    _, bins = Encoder.fit(column[:, None])
    np.testing.assert_allclose(bins.values_of(0), [0.25, 0.625, 0.875])
    np.testing.assert_allclose(bins.weights_of(0), [0.5, 0.25, 0.25])
    assert bins.codes[0].tolist() == [2, 255, 0, 0, 255, 1]


@pytest.mark.parametrize("max_bins", [2, 7, 100, 255, 256, 1000])
@pytest.mark.parametrize("kind", ["normal", "counts", "inflated"])
def test_quantile_bins(kind, max_bins):
    rng = np.random.default_rng(2)
    n = 5000
    column = {
        "normal": rng.normal(size=n),
        "counts": rng.poisson(2000, size=n).astype(float),
        "inflated": np.where(rng.random(n) < 0.3, 0.0, rng.exponential(size=n)),
    }[kind]
    encoder, bins = Encoder.fit(column[:, None], max_bins=max_bins)
    codes, values, weights = bins.codes[0], bins.values_of(0), bins.weights_of(0)
    assert 2 <= len(values) <= max_bins
    assert bins.codes.dtype == (np.uint8 if max_bins <= 255 else np.uint16)
    assert set(codes) == set(range(len(values)))
    order = np.argsort(column)
    assert (np.diff(codes[order].astype(int)) >= 0).all()
    assert len(set(zip(column, codes, strict=True))) == len(set(column)), "equal values share a bin"
    np.testing.assert_allclose(weights, np.bincount(codes) / n, rtol=1e-15)
    if len(values) > 2:
        below = np.array([np.mean(codes < b) + np.mean(codes == b) / 2 for b in range(len(values))])
        np.testing.assert_allclose(values, below, atol=1e-12)
    # No bin is larger than its share unless one value alone fills it.
    for b in np.flatnonzero(weights > 2 / max_bins):
        assert len(set(column[codes == b])) == 1
    assert len(encoder.bin_edges(0)) == len(values) - 1


def test_quantile_bins_follow_mid_ranks():
    rng = np.random.default_rng(18)
    column = rng.poisson(rng.exponential(300, size=2000)).astype(float)
    _, bins = Encoder.fit(column[:, None], max_bins=50)
    target = np.floor((rankdata(column) - 0.5) / len(column) * 50)
    np.testing.assert_array_equal(bins.codes[0], np.searchsorted(np.unique(target), target))


def test_quantile_bins_of_distinct_values_are_even():
    _, bins = Encoder.fit(np.random.default_rng(3).normal(size=(1000, 1)))
    counts = np.bincount(bins.codes[0])
    assert len(counts) == 255
    assert set(counts) == {3, 4}


def test_columns_without_ties_share_one_marginal():
    rng = np.random.default_rng(4)
    for n in (50, 1000):
        _, bins = Encoder.fit(rng.normal(size=(n, 40)))
        assert len(bins.first) == 2
        assert not bins.marginal.any()
    _, bins = Encoder.fit(np.column_stack([rng.normal(size=50), rng.integers(0, 4, 50), rng.normal(size=50)]))
    assert bins.marginal.tolist() == [0, 1, 0]
    assert bins.first.tolist() == [0, 50, 54]


def test_two_numbers_are_binary_and_split_in_the_middle():
    encoder, bins = Encoder.fit(np.array([[3.0], [7.0], [7.0], [NAN]]))
    np.testing.assert_array_equal(bins.values_of(0), [0.0, 1.0])
    np.testing.assert_allclose(bins.weights_of(0), [1 / 3, 2 / 3])
    new = encoder.transform(np.array([[-100.0], [4.9], [5.0], [9.0], [NAN]]))
    assert new[0].tolist() == [0, 0, 1, 1, 255]


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_of_every_basis_factor_is_zero(seed):
    _, bins = Encoder.fit(mixed_frame(seed), missing_indicators=True)
    rng = np.random.default_rng(seed)
    for feature in range(bins.n_features):
        x, w = bins.values_of(feature), bins.weights_of(feature)
        assert abs(w.sum() - 1) < 1e-12
        s = expit((x - rng.random()) / max(rng.gamma(1, 0.1), 0.01))
        assert abs(np.sum(w * (1 - s / np.sum(w * s)))) < 1e-12
        codes = bins.codes[feature]
        there = codes[codes != bins.missing_code]
        # The same over rows: the weights are the marginal of the training data.
        assert abs(np.mean(1 - s[there] / np.mean(s[there]))) < 1e-12


# Cuts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_floats_are_told_apart(dtype):
    one = dtype(1)
    ladder = [one]
    for _ in range(9):
        ladder.append(np.nextafter(ladder[-1], dtype(2)))
    tiny = np.finfo(dtype).smallest_subnormal
    extremes = [-np.finfo(dtype).max, -tiny, dtype(0), tiny, 2 * tiny, np.finfo(dtype).max]
    X = np.array([*ladder, *extremes], dtype=dtype)[:, None]
    encoder, bins = Encoder.fit(X)
    assert len(set(bins.codes[0])) == len(X)
    np.testing.assert_array_equal(encoder.transform(X), bins.codes)
    values, cuts = np.sort(X[:, 0].astype(np.float64)), encoder.bin_edges(0)
    assert (values[:-1] < cuts).all()
    assert (cuts <= values[1:]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_floats_are_told_apart_in_quantile_bins(dtype):
    bits = np.arange(3000, dtype=np.int32 if dtype == np.float32 else np.int64)
    X = (np.array(1, dtype).view(bits.dtype) + bits).view(dtype)[:, None]
    encoder, bins = Encoder.fit(X)
    assert not encoder.exact[0]
    assert len(encoder.wide if dtype == np.float64 else encoder.narrow) == 256
    np.testing.assert_array_equal(encoder.transform(X), bins.codes)


def test_float64_cuts_are_stored_narrow_where_they_still_separate():
    X = np.random.default_rng(5).normal(size=(2000, 3))
    encoder, bins = Encoder.fit(X)
    assert len(encoder.wide) == 0
    np.testing.assert_array_equal(encoder.transform(X), bins.codes)
    for feature in range(3):
        for b, cut in enumerate(encoder.bin_edges(feature)):
            x = X[:, feature]
            assert x[bins.codes[feature] <= b].max() < cut <= x[bins.codes[feature] > b].min()


def test_zero_and_minus_zero_are_one_value():
    _, bins = Encoder.fit(np.array([[0.0], [-0.0], [1.0], [2.0]]))
    assert bins.codes[0].tolist() == [0, 0, 1, 2]


def test_codes_count_cuts_and_go_to_the_ends_outside():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(3000, 1))
    encoder, _ = Encoder.fit(X)
    new = np.append(rng.normal(size=500) * 3, [-1e300, 1e300])
    expected = np.searchsorted(encoder.bin_edges(0), new, side="right")
    np.testing.assert_array_equal(encoder.transform(new[:, None])[0], expected)
    assert expected.min() == 0
    assert expected.max() == 254


@pytest.mark.parametrize("n", [40, 3000])
def test_representatives_lie_in_their_bins(n):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {"a": rng.normal(size=n), "b": rng.poisson(800, size=n), "c": rng.choice(list("xyz"), n)}
    )
    encoder, bins = Encoder.fit(frame)
    for feature, column in enumerate(["a", "b"]):
        typical = encoder.representatives(feature)
        codes = np.searchsorted(encoder.bin_edges(feature), typical, side="right")
        np.testing.assert_array_equal(codes, np.arange(len(bins.values_of(feature))))
        for b in (0, len(typical) - 1):
            inside = frame[column][bins.codes[feature] == b]
            assert inside.min() <= typical[b] <= inside.max()
    if n == 40:
        np.testing.assert_array_equal(encoder.representatives("a"), np.sort(frame["a"]))
    np.testing.assert_array_equal(encoder.representatives("c=y"), [0, 1])
    np.testing.assert_array_equal(encoder.bin_edges("c=y"), [0.5])


# Round trips


@pytest.mark.parametrize("indicators", [False, True])
@pytest.mark.parametrize("max_bins", [2, 40, 255, 300])
def test_training_rows_get_their_codes_back(max_bins, indicators):
    frame = mixed_frame(8)
    encoder, bins = Encoder.fit(frame, max_bins=max_bins, missing_indicators=indicators)
    assert bins.names == encoder.names
    assert ("holes is missing" in bins.names) == indicators
    np.testing.assert_array_equal(encoder.transform(frame), bins.codes)
    np.testing.assert_array_equal(encoder.transform(pa.Table.from_pandas(frame)), bins.codes)
    rows = np.random.default_rng(9).permutation(len(frame))[:50]
    np.testing.assert_array_equal(encoder.transform(frame.iloc[rows]), bins.codes[:, rows])


@pytest.mark.parametrize("seed", range(5))
def test_any_features_in_any_order(seed):
    rng = np.random.default_rng(seed)
    frame = mixed_frame(seed)
    encoder, bins = Encoder.fit(frame, missing_indicators=True)
    features = rng.integers(0, bins.n_features, size=9)
    shuffled = frame[rng.permutation(frame.columns)]
    np.testing.assert_array_equal(encoder.transform(shuffled, features), bins.codes[features])
    needed = sorted({encoder.source(int(feature)) for feature in features})
    np.testing.assert_array_equal(encoder.transform(frame[needed], features), bins.codes[features])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_files_encode_like_frames(suffix, tmp_path):
    frame = mixed_frame(10).drop(columns=["category", "narrow"])
    path = tmp_path / f"t.{suffix}"
    {"csv": lambda p: frame.to_csv(p, index=False), "parquet": frame.to_parquet, "feather": frame.to_feather}[
        suffix
    ](path)
    encoder, bins = Encoder.fit(path)
    plain, expected = Encoder.fit(frame)
    assert encoder.names == plain.names
    np.testing.assert_array_equal(bins.codes, expected.codes)
    np.testing.assert_array_equal(encoder.transform(str(path), [3, 0]), expected.codes[[3, 0]])


def test_arrays_of_every_layout_encode_alike():
    X = np.random.default_rng(11).normal(size=(300, 30)).astype(np.float32)
    _, expected = Encoder.fit(X)
    read_only = X.copy()
    read_only.flags.writeable = False
    for given in (
        np.asfortranarray(X),
        X.astype(np.float64),
        X.astype(object),
        read_only,
        X[:, ::-1][:, ::-1],
    ):
        encoder, bins = Encoder.fit(given)
        np.testing.assert_array_equal(bins.codes, expected.codes)
        np.testing.assert_array_equal(encoder.transform(given), expected.codes)


def test_wide_tables_cross_block_borders():
    rng = np.random.default_rng(12)
    X = rng.integers(0, 6, size=(30, 5000)).astype(np.float32)
    X[:, ::7] = 1.0
    X[rng.random(X.shape) < 0.02] = NAN
    with pytest.warns(UserWarning, match=r"dropped \d+ constant"):
        encoder, bins = Encoder.fit(X, missing_indicators=True)
    np.testing.assert_array_equal(encoder.transform(X), bins.codes)
    for feature in rng.choice(bins.n_features, size=200):
        column = X[:, int(encoder.source(feature)[1:])]
        if encoder.names[feature].endswith("is missing"):
            np.testing.assert_array_equal(bins.codes[feature], np.isnan(column))
        else:
            levels = np.unique(column[~np.isnan(column)])
            expected = np.where(np.isnan(column), 255, np.searchsorted(levels, column))
            np.testing.assert_array_equal(bins.codes[feature], expected)


def test_small_tables():
    encoder, bins = Encoder.fit(np.array([[1.0], [2.0]]))
    assert bins.codes.tolist() == [[0, 1]]
    np.testing.assert_array_equal(bins.values_of(0), [0, 1])
    _, bins = Encoder.fit(np.repeat([[1.0, 5.0], [2.0, 4.0]], 10, axis=0))
    assert bins.codes.shape == (2, 20)
    assert encoder.transform(np.empty((0, 1))).shape == (1, 0)
    assert encoder.transform(np.ones((4, 1)), []).shape == (0, 4)
    frame = mixed_frame(0)
    encoder, bins = Encoder.fit(frame)
    assert encoder.transform(frame.iloc[:0]).shape == (bins.n_features, 0)


# Cost


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_over_input_and_codes_is_a_byte_a_cell(dtype, order):
    X = np.asarray(np.random.default_rng(16).normal(size=(2000, 2000)), dtype=dtype, order=order)
    Encoder.fit(X[:50, :50])
    tracemalloc.start()
    try:
        encoder, bins = Encoder.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert bins.codes.nbytes == X.size
    assert encoder.narrow.nbytes < 0.6 * X.size
    assert peak - bins.codes.nbytes < X.size + 1_000_000


def test_one_compilation_serves_every_input():
    def count():
        return len(bin_sorted.signatures), len(encode_rows.signatures)

    Encoder.fit(np.eye(3))
    frame = mixed_frame(17)
    before = count()
    for given in (
        frame,
        pa.Table.from_pandas(frame),
        frame[["narrow"]],
        frame[["normal"]].to_numpy().T.copy().T,
    ):
        encoder, _ = Encoder.fit(given)
        encoder.transform(given)
    assert count() == before
