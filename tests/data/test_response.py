"""Responses, weights and offsets: what is accepted, and how the rest is refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from raytpnn.data.response import Response, as_offset, as_response, as_weights
from raytpnn.families import get_family

NAN = float("nan")
GAUSSIAN, BERNOULLI, POISSON = (get_family(name) for name in ("gaussian", "bernoulli", "poisson"))

HOLDERS = {
    "list": [1, 2, 3],
    "tuple": (1.0, 2.0, 3.0),
    "array": np.array([1.0, 2.0, 3.0]),
    "float32": np.array([1, 2, 3], dtype=np.float32),
    "objects": np.array([1, 2.0, np.int8(3)], dtype=object),
    "column": np.array([[1], [2], [3]]),
    "series": pd.Series([1, 2, 3], index=[9, 8, 7]),
    "nullable": pd.Series([1, 2, 3], dtype="Int64"),
    "extension array": pd.array([1, 2, 3]),
    "index": pd.Index([1, 2, 3]),
    "frame": pd.DataFrame({"y": [1.0, 2.0, 3.0]}),
    "arrow": pa.array([1, 2, 3]),
    "chunked": pa.chunked_array([[1], [2, 3]]),
    "arrow table": pa.table({"y": [1, 2, 3]}),
}


@pytest.mark.parametrize("case", HOLDERS)
@pytest.mark.parametrize("family", [GAUSSIAN, POISSON], ids=lambda family: family.name)
def test_holders_of_one_column(case, family):
    response = as_response(HOLDERS[case], family, 3)
    assert response.classes is None
    assert response.values.dtype == np.float64
    np.testing.assert_array_equal(response.values, [1, 2, 3])


def test_truth_values_are_numbers_where_numbers_are_needed():
    np.testing.assert_array_equal(as_response([True, False], GAUSSIAN, 2).values, [1, 0])


CLASSES = {
    "0/1": ([0, 1, 1], (0, 1), [0, 1, 1]),
    "floats": ([0.0, 1.0, 0.0], (0, 1), [0, 1, 0]),
    "-1/1": ([1, -1, 1], (-1, 1), [1, 0, 1]),
    "fractions": ([0.5, 2.5, 0.5], (0.5, 2.5), [0, 1, 0]),
    "bool": ([True, False, True], (False, True), [1, 0, 1]),
    "object bool": (pd.Series([True, False], dtype=object), (False, True), [1, 0]),
    "nullable bool": (pd.Series([True, False], dtype="boolean"), (0, 1), [1, 0]),
    "strings": (["good", "bad", "bad"], ("bad", "good"), [1, 0, 0]),
    "string array": (np.array(["b", "a"]), ("a", "b"), [1, 0]),
    "object strings": (np.array(["b", "a"], dtype=object), ("a", "b"), [1, 0]),
    "pandas strings": (pd.Series(["b", "a"]), ("a", "b"), [1, 0]),
    "categories": (pd.Series(["b", "a"], dtype="category"), ("a", "b"), [1, 0]),
    "arrow strings": (pa.array(["b", "a"]), ("a", "b"), [1, 0]),
}


@pytest.mark.parametrize("case", CLASSES)
def test_two_classes(case):
    y, classes, values = CLASSES[case]
    response = as_response(y, BERNOULLI, len(values))
    assert response.classes == classes
    assert [type(c) for c in response.classes] == [type(c) for c in classes]
    np.testing.assert_array_equal(response.values, values)
    assert BERNOULLI.problem(response.values) is None


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1], "needs exactly two classes in y; found 1 class: 1"),
        (["a", "b", "c"], "found 3 classes: 'a', 'b', 'c'"),
        (np.arange(20) / 4, "found 20 classes: 0, 0.25, 0.5, 0.75, 1 and 15 more"),
        ([1, "a"], "mixes numbers and text: 1 in row 0, 'a' in row 1"),
        (["a", None], "y is missing in row 1"),
    ],
)
def test_not_two_classes(y, message):
    with pytest.raises(ValueError, match=message):
        as_response(y, BERNOULLI, len(y))


@pytest.mark.parametrize("family", [GAUSSIAN, BERNOULLI, POISSON], ids=lambda family: family.name)
def test_bad_rows_are_named(family):
    with pytest.raises(ValueError, match="X has 10 rows, y has 9"):
        as_response(np.arange(9), family, 10)
    with pytest.raises(ValueError, match=r"y is missing in row 1 \(NaN; 2 rows in all\)"):
        as_response([1.0, NAN, NAN], family, 3)
    for value in (np.inf, -np.inf):
        with pytest.raises(ValueError, match=f"y is {value} in row 2; it must be finite"):
            as_response([1.0, 0.0, value], family, 3)
    with pytest.raises(ValueError, match=r"y must be one column; its shape is \(2, 2\)"):
        as_response(np.eye(2), family, 2)
    with pytest.raises(ValueError, match=r"y must be one column; its shape is \(2, 2\)"):
        as_response(pd.DataFrame(np.eye(2)), family, 2)
    with pytest.raises(ValueError, match="y must be one column of values, not int 3"):
        as_response(3, family, 1)


@pytest.mark.parametrize("family", [GAUSSIAN, POISSON], ids=lambda family: family.name)
def test_text_is_no_number(family):
    with pytest.raises(
        ValueError, match=f"y holds the text 'a' in row 0; family '{family.name}' needs numbers"
    ):
        as_response(["a", "b"], family, 2)


def test_dates_are_no_response():
    with pytest.raises(TypeError, match="'y' holds dates"):
        as_response(pd.Series(pd.to_datetime(["2020-01-01"])), GAUSSIAN, 1)


@pytest.mark.parametrize("value", [-1, 2.5])
def test_counts_are_whole(value):
    with pytest.raises(ValueError, match=f"y does not suit family 'poisson': row 1 is {value}"):
        as_response([3, value], POISSON, 2)


def test_weights():
    np.testing.assert_array_equal(as_weights(None, 3), [1, 1, 1])
    np.testing.assert_array_equal(as_weights(pd.Series([0, 0.5]), 2), [0, 0.5])
    np.testing.assert_array_equal(as_weights(2, 2), [2, 2])
    np.testing.assert_array_equal(as_weights([0, 0], 2), [0, 0])
    with pytest.raises(ValueError, match="sample_weight is -1 in row 1; weights must be 0 or more"):
        as_weights([0, -1], 2)
    with pytest.raises(ValueError, match=r"sample_weight is missing \(NaN\) in row 0"):
        as_weights([NAN, 1], 2)
    with pytest.raises(ValueError, match="sample_weight is inf in row 1"):
        as_weights([1, np.inf], 2)
    with pytest.raises(ValueError, match="X has 3 rows, sample_weight has 2"):
        as_weights([1, 1], 3)
    with pytest.raises(ValueError, match="sample_weight holds the text 'a'"):
        as_weights(["a", "b"], 2)


def test_offsets():
    np.testing.assert_array_equal(as_offset(None, 2), [0, 0])
    np.testing.assert_array_equal(as_offset([-1.5, 2], 2), [-1.5, 2])
    assert as_offset(np.float32(0.5), 3).dtype == np.float64
    with pytest.raises(ValueError, match="offset is -inf in row 0; it must be finite"):
        as_offset([-np.inf, 0], 2)
    with pytest.raises(ValueError, match="X has 1 rows, offset has 2"):
        as_offset([1, 2], 1)


def test_a_checked_response_is_taken_as_it_is():
    turned = Response(np.array([1.0, 0.0]), ("yes", "no"))
    assert as_response(turned, BERNOULLI, 2) is turned
    with pytest.raises(ValueError, match="X has 3 rows, y has 2"):
        as_response(turned, BERNOULLI, 3)
