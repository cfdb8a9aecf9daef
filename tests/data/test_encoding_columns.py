"""Which features a column gives, which columns are refused, and how columns are found at prediction time."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.encoding_cases import mixed_frame

from raytpnn.data.encoding.encoder import Encoder

NAN = float("nan")


# Categories


def test_levels_become_features():
    frame = pd.DataFrame({"motor": ["B", "A", None, "C", "A"], "z": range(5)})
    encoder, bins = Encoder.fit(frame)
    assert encoder.names == ("motor=A", "motor=B", "motor=C", "z")
    assert [encoder.source(name) for name in encoder.names] == ["motor", "motor", "motor", "z"]
    assert bins.codes[:3].tolist() == [[0, 1, 255, 0, 1], [1, 0, 255, 0, 0], [0, 0, 255, 1, 0]]
    np.testing.assert_array_equal(bins.values_of(0), [0, 1])
    np.testing.assert_allclose(bins.weights_of(0), [0.5, 0.5])
    np.testing.assert_allclose(bins.weights_of(1), [0.75, 0.25])


def test_two_levels_give_one_feature():
    encoder, bins = Encoder.fit(pd.DataFrame({"sex": ["m", "f", None, "m"]}))
    assert encoder.names == ("sex=m",)
    assert bins.codes.tolist() == [[1, 0, 255, 1]]


def test_number_levels_are_sorted_as_numbers():
    encoder, _ = Encoder.fit(pd.DataFrame({"c": pd.Categorical([10, 2, 33, 2])}))
    assert encoder.names == ("c=2", "c=10", "c=33")
    assert encoder.transform(pd.DataFrame({"c": [33.0, NAN]})).tolist() == [[0, 255], [0, 255], [1, 255]]


def test_unseen_levels_warn_and_are_zero():
    encoder, _ = Encoder.fit(pd.DataFrame({"motor": ["A", "B", "C"], "pair": ["u", "v", "u"]}))
    new = pd.DataFrame({"motor": ["D", "A", None], "pair": ["u", "v", "u"]})
    with pytest.warns(
        UserWarning, match="column 'motor' holds levels that training did not have.* 0 in every.*'D'"
    ):
        codes = encoder.transform(new)
    assert codes[:3].tolist() == [[0, 1, 255], [0, 0, 255], [0, 0, 255]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(new, [3])
    with pytest.warns(UserWarning, match="column 'pair' .*encoded as missing: 'w'"):
        codes = encoder.transform(pd.DataFrame({"pair": ["w", "v"]}), [3])
    assert codes.tolist() == [[255, 1]]


def test_identifiers_are_refused():
    names = [f"id{i}" for i in range(300)]
    with pytest.raises(
        ValueError, match=r"column 'name' is text with 300 different values in 300 rows.*Drop it"
    ):
        Encoder.fit(pd.DataFrame({"name": names, "x": range(300)}))
    with pytest.raises(ValueError, match="column 'name' is text with 30 different values in 30 rows"):
        Encoder.fit(pd.DataFrame({"name": names[:30], "x": range(30)}))
    with pytest.raises(ValueError, match="column 'name' is text with 300 different values in 600 rows"):
        Encoder.fit(pd.DataFrame({"name": names * 2}))
    _, bins = Encoder.fit(pd.DataFrame({"name": names[:30] * 2}))
    assert bins.n_features == 30
    _, bins = Encoder.fit(pd.DataFrame({"name": names[:5]}))
    assert bins.n_features == 5


def test_numbers_spoilt_by_a_mark_for_missing():
    column = [str(i / 7) for i in range(400)]
    column[17] = "?"
    with pytest.raises(ValueError, match=r"column 'x' holds numbers, but row 17 holds '\?'"):
        Encoder.fit(pd.DataFrame({"x": column}))


def test_mixed_columns_are_refused():
    with pytest.raises(ValueError, match="column 'g' mixes numbers and text: 1 in row 0, 'a' in row 1"):
        Encoder.fit(pd.DataFrame({"g": [1, "a", None]}, dtype=object))
    with pytest.raises(TypeError, match="argument must be a string or a number"):
        Encoder.fit(np.array([[1.0, {"foo": "bar"}], [2.0, 1.0]], dtype=object))


def test_features_may_not_share_a_name():
    with pytest.raises(ValueError, match="columns 'a', 'a=y' would both give a feature called 'a=y'"):
        Encoder.fit(pd.DataFrame({"a": ["x", "y"], "a=y": [1, 2]}))


# Constant, empty and infinite columns


def test_constant_columns_are_dropped_with_one_warning():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    for i in range(8):
        frame[f"c{i}"] = 5.0
    frame["empty"] = NAN
    frame["one"] = [NAN, 4.0, NAN]
    frame["word"] = ["same", None, "same"]
    frame["flag"] = True
    with pytest.warns(UserWarning, match="dropped") as caught:
        encoder, bins = Encoder.fit(frame)
    assert len(caught) == 1
    assert "dropped 12 constant or empty column(s): 'c0', 'c1', 'c2', 'c3', 'c4' and 7 more" in str(
        caught[0].message
    )
    assert caught[0].filename == __file__
    assert encoder.names == ("x",)
    assert encoder.dropped[-4:] == ("empty", "one", "word", "flag")
    np.testing.assert_array_equal(encoder.transform(frame), bins.codes)


def test_indicators_outlive_their_columns():
    frame = pd.DataFrame({"one": [NAN, 4.0, NAN], "word": ["same", None, "same"], "x": [1.0, NAN, 3.0]})
    with pytest.warns(UserWarning, match=r"dropped 2 constant or empty column\(s\): 'one', 'word'"):
        encoder, bins = Encoder.fit(frame, missing_indicators=True)
    assert encoder.names == ("one is missing", "word is missing", "x", "x is missing")
    assert bins.codes.tolist() == [[1, 0, 1], [0, 1, 0], [0, 255, 1], [0, 1, 0]]
    np.testing.assert_array_equal(bins.values_of(0), [0, 1])
    np.testing.assert_array_equal(encoder.transform(frame), bins.codes)
    np.testing.assert_array_equal(encoder.transform(frame.astype(object)), bins.codes)


def test_no_usable_feature():
    for given in (np.ones((5, 2)), np.full((5, 2), NAN), pd.DataFrame({"a": ["x"] * 3})):
        with pytest.raises(ValueError, match="no usable feature: every column of X is constant or empty"):
            Encoder.fit(given)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_cells_are_named(value):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, value]})
    message = rf"column 'b' is {value} in row 2; X must be finite"
    for given in (frame, frame.astype(object), pa.Table.from_pandas(frame)):
        with pytest.raises(ValueError, match=message):
            Encoder.fit(given)
    encoder, _ = Encoder.fit(frame.assign(b=[1.0, 2.0, 3.0]))
    for given in (frame, frame.astype(object)):
        with pytest.raises(ValueError, match=message):
            encoder.transform(given)
    assert encoder.transform(frame, [0]).shape == (1, 3)


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows(rows):
    with pytest.raises(ValueError, match=rf"n_samples={rows} row"):
        Encoder.fit(np.ones((rows, 2)))


@pytest.mark.parametrize(
    ("max_bins", "error"), [(1, ValueError), (65_536, ValueError), (2.5, TypeError), ("9", TypeError)]
)
def test_max_bins_is_checked(max_bins, error):
    with pytest.raises(error, match=f"max_bins must be .*not .*{max_bins}"):
        Encoder.fit(np.eye(3), max_bins=max_bins)


# Columns at prediction time


def test_columns_are_matched_by_name():
    frame = mixed_frame(13)
    encoder, bins = Encoder.fit(frame)
    extra = frame.assign(when=pd.Timestamp("2020-01-01"), another=1.0)[
        ["when", *frame.columns[::-1], "another"]
    ]
    np.testing.assert_array_equal(encoder.transform(extra), bins.codes)
    with pytest.raises(ValueError, match=r"X lacks 2 column\(s\) of the training data: 'normal', 'flag'"):
        encoder.transform(frame.drop(columns=["normal", "flag"]))


def test_arrays_are_matched_by_position():
    X = np.random.default_rng(14).normal(size=(20, 3))
    encoder, bins = Encoder.fit(X)
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame(X, columns=list("abc"))), bins.codes)
    with pytest.raises(ValueError, match="X has 2 features, but Encoder is expecting 3 features as input"):
        encoder.transform(X[:, :2])
    named, _ = Encoder.fit(pd.DataFrame(X, columns=list("abc")))
    np.testing.assert_array_equal(named.transform(X), bins.codes)
    with pytest.raises(ValueError, match="X has 4 features, but Encoder is expecting 3"):
        named.transform(np.ones((2, 4)))


def test_text_where_training_had_numbers():
    encoder, _ = Encoder.fit(pd.DataFrame({"age": [1.0, 2.0]}))
    with pytest.raises(
        ValueError, match="column 'age' held numbers in training; here row 1 holds the text 'old'"
    ):
        encoder.transform(pd.DataFrame({"age": [None, "old"]}))


def test_features_are_checked():
    encoder, _ = Encoder.fit(np.eye(3))
    for features in ([3], [-1], [[0]]):
        with pytest.raises(ValueError, match="features must be positions from 0 to 2"):
            encoder.transform(np.eye(3), features)
    with pytest.raises(KeyError, match="no encoded feature 'y'; there are 'x0', 'x1', 'x2'"):
        encoder.source("y")
    with pytest.raises(KeyError, match="no encoded feature 5; there are 3"):
        encoder.bin_edges(5)
    assert encoder.source(-1) == "x2"
