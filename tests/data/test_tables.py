"""What a user may give as X, and what each cell becomes."""

import bz2
import datetime
import decimal
import gzip
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from raytpnn.data.tables.cells import as_numbers, as_text, level_text, numbers_or_text
from raytpnn.data.tables.files import FileTable
from raytpnn.data.tables.short_lines import first_short_line
from raytpnn.data.tables.tables import Table, as_table

NAN = float("nan")


def same(found, expected):
    """Equal cells, missing like missing."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (pd.isna(a) and pd.isna(b)) or a == b, (found, expected)


# Arrays, lists, sparse matrices


def test_array_columns_are_views_with_positions_for_names():
    X = np.arange(12.0).reshape(4, 3)
    table = as_table(X)
    assert table.names == ("x0", "x1", "x2")
    assert table.n_rows == 4
    assert not table.named
    assert np.shares_memory(table.column(1), X)
    np.testing.assert_array_equal(table.column(2), X[:, 2])


@pytest.mark.parametrize(
    ("dtype", "block_dtype"),
    [
        ("float32", "float32"),
        ("float64", "float64"),
        ("int64", "float64"),
        ("int8", "float32"),
        ("bool", "float32"),
    ],
)
def test_blocks_are_feature_major_floats(dtype, block_dtype):
    X = np.array([[0, 1, 1], [1, 1, 0]], dtype=dtype)
    for given in (X, np.asfortranarray(X), pd.DataFrame(X), pa.table(pd.DataFrame(X, columns=list("abc")))):
        block = as_table(given).block([2, 0])
        assert block.dtype == block_dtype
        assert block.flags.c_contiguous
        np.testing.assert_array_equal(block, X[:, [2, 0]].T)


def test_block_of_columns_of_several_dtypes():
    frame = pd.DataFrame(
        {"a": np.array([1, 2], "int64"), "b": [True, False], "c": np.array([0.5, NAN], "float32")}
    )
    for given in (frame, pa.Table.from_pandas(frame)):
        block = as_table(given).block([0, 1, 2])
        assert block.dtype == np.float64
        np.testing.assert_array_equal(block, [[1, 2], [1, 0], [0.5, NAN]])


def test_lists_of_rows_keep_numbers_beside_text():
    table = as_table([[1, "a"], [2, "b"]])
    assert numbers_or_text(table.column(0), "x0")[0]
    assert not numbers_or_text(table.column(1), "x1")[0]
    assert as_table([[1, 2], [3, 4]]).plain.all()


def test_sparse_matrices_are_read_as_zeros_and_numbers():
    dense = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
    for matrix in (scipy.sparse.csr_matrix(dense), scipy.sparse.coo_array(dense)):
        table = as_table(matrix)
        np.testing.assert_array_equal(table.block([0, 2, 1]), dense[:, [0, 2, 1]].T)
        np.testing.assert_array_equal(table.column(1), dense[:, 1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.arange(3.0), r"not an array of shape \(3,\).*reshape"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (5, "not int 5"),
        (np.zeros((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        (np.zeros((2, 2), complex), "Complex data not supported"),
        (pd.Series([1.0, 2.0]), "to_frame"),
    ],
)
def test_what_is_no_table_says_so(given, message):
    with pytest.raises(ValueError, match=message):
        as_table(given)


# pandas


def test_labels_become_text_and_must_differ():
    assert as_table(pd.DataFrame([[1, 2]], columns=[7, ("a", 1)])).names == ("7", "('a', 1)")
    with pytest.raises(ValueError, match="more than one column is called 'a'"):
        as_table(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]))
    with pytest.raises(ValueError, match="more than one column is called '1'"):
        as_table(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(ValueError, match="more than one column is called 'a'"):
        as_table(pa.table([[1], [2]], names=["a", "a"]))


NUMBER_SERIES = {
    "float32": (pd.Series([1.5, NAN], dtype="float32"), [1.5, NAN]),
    "int": (pd.Series([1, 2]), [1, 2]),
    "bool": (pd.Series([True, False]), [1, 0]),
    "Int64": (pd.Series([1, None], dtype="Int64"), [1, NAN]),
    "Float32": (pd.Series([1.5, None], dtype="Float32"), [1.5, NAN]),
    "boolean": (pd.Series([True, None], dtype="boolean"), [1, NAN]),
    "arrow int": (pd.Series([1, None], dtype=pd.ArrowDtype(pa.int32())), [1, NAN]),
    "arrow bool": (pd.Series([True, None], dtype=pd.ArrowDtype(pa.bool_())), [1, NAN]),
    "arrow decimal": (
        pd.Series([decimal.Decimal("1.5"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
        [1.5, NAN],
    ),
    "sparse": (pd.Series(pd.arrays.SparseArray([0.0, 2.0])), [0, 2]),
    "object ints": (pd.Series([1, None], dtype=object), [1, NAN]),
    "object bools": (pd.Series([True, NAN], dtype=object), [1, NAN]),
    "object decimals": (pd.Series([decimal.Decimal("2.5"), None], dtype=object), [2.5, NAN]),
    "object bool and float": (pd.Series([True, 0.5, pd.NA], dtype=object), [1, 0.5, NAN]),
    "object empty": (pd.Series([None, None], dtype=object), [NAN, NAN]),
}


@pytest.mark.parametrize("case", NUMBER_SERIES)
def test_pandas_numbers(case):
    series, expected = NUMBER_SERIES[case]
    numeric, cells = numbers_or_text(as_table(series.to_frame("a")).column(0), "a")
    assert numeric
    assert cells.dtype.kind == "f"
    same(cells, expected)


TEXT_SERIES = {
    "str": (pd.Series(["u", None, "v"]), ["u", None, "v"]),
    "string": (pd.Series(["u", None], dtype="string"), ["u", None]),
    "object": (pd.Series(["u", NAN, pd.NA], dtype=object), ["u", None, None]),
    "category": (pd.Series(["u", None, "v"], dtype="category"), ["u", None, "v"]),
    "category of ints": (pd.Series([3, 1, 3], dtype="category"), ["3", "1", "3"]),
    "category of floats": (pd.Series([3.0, 0.5, None], dtype="category"), ["3", "0.5", None]),
    "category of bools": (pd.Series([True, False], dtype="category"), ["True", "False"]),
    "arrow string": (pd.Series(["u", None], dtype=pd.ArrowDtype(pa.string())), ["u", None]),
}


@pytest.mark.parametrize("case", TEXT_SERIES)
def test_pandas_text(case):
    series, expected = TEXT_SERIES[case]
    numeric, cells = numbers_or_text(as_table(series.to_frame("a")).column(0), "a")
    assert not numeric
    same(cells, expected)


# Arrow

ARROW = {
    "float32": (pa.array([1.5, None], pa.float32()), True, [1.5, NAN]),
    "uint8 with null": (pa.array([1, None], pa.uint8()), True, [1, NAN]),
    "int64": (pa.array([1, 2]), True, [1, 2]),
    "bool": (pa.array([True, False]), True, [1, 0]),
    "bool with null": (pa.array([True, None]), True, [1, NAN]),
    "decimal": (pa.array([decimal.Decimal("1.25"), None]), True, [1.25, NAN]),
    "null": (pa.nulls(2), True, [NAN, NAN]),
    "string": (pa.array(["u", None]), False, ["u", None]),
    "large string": (pa.array(["u", None], pa.large_string()), False, ["u", None]),
    "string view": (pa.array(["u", None], pa.string_view()), False, ["u", None]),
    "dictionary": (pa.array(["u", None, "v"]).dictionary_encode(), False, ["u", None, "v"]),
    "dictionary of ints": (pa.array([5, 7, 5]).dictionary_encode(), False, ["5", "7", "5"]),
}


@pytest.mark.parametrize("case", ARROW)
def test_arrow_types(case):
    array, expect_numeric, expected = ARROW[case]
    table = as_table(pa.table({"a": pa.chunked_array([array, array[:1]])}))
    numeric, cells = numbers_or_text(table.column(0), "a")
    assert numeric == expect_numeric
    same(cells, [*expected, expected[0]])
    if table.plain[0]:
        same(table.block([0])[0], [*expected, expected[0]])


def test_anything_that_speaks_arrow_is_a_table():
    class Foreign:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"a": [1.0, 2.0]}).__arrow_c_stream__(requested_schema)

    assert as_table(Foreign()).names == ("a",)


def test_a_saved_pandas_index_is_no_column():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["r1", "r2"])
    assert as_table(pa.Table.from_pandas(frame)).names == ("a",)


DATES = {
    "datetime": pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
    "time zone": pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"]).tz_localize("UTC")),
    "timedelta": pd.Series(pd.to_timedelta([1, 2], unit="D")),
    "period": pd.Series(pd.period_range("2020", periods=2, freq="M")),
    "object of dates": pd.Series([datetime.date(2020, 1, 1), None], dtype=object),
    "arrow date": pd.Series([datetime.date(2020, 1, 1), None], dtype=pd.ArrowDtype(pa.date32())),
}


@pytest.mark.parametrize("case", DATES)
def test_dates_must_be_converted(case):
    table = as_table(pd.DataFrame({"when": DATES[case]}))
    with pytest.raises(TypeError, match=r"column 'when' holds dates or times .*turn it into a number"):
        numbers_or_text(table.column(0), "when")


def test_other_arrow_types_are_named():
    table = as_table(pa.table({"a": [[1], [2]], "t": pa.array([1, 2], pa.timestamp("s"))}))
    with pytest.raises(TypeError, match="column 'a' has the Arrow type list"):
        table.column(0)
    with pytest.raises(TypeError, match=r"column 't' holds dates or times .*timestamp"):
        table.column(1)


# Cells


def test_numbers_and_text_do_not_mix():
    with pytest.raises(ValueError, match=r"'a' mixes numbers and text: 1 in row 0, 'x' in row 2"):
        numbers_or_text(np.array([1, None, "x"], dtype=object), "a")


@pytest.mark.parametrize(("cell", "kind"), [({"k": 1}, "dict"), (b"raw", "bytes"), (1 + 2j, "complex")])
def test_cells_that_are_neither_are_named(cell, kind):
    with pytest.raises(
        TypeError, match=rf"column 'a' holds .* of type {kind} in row 1.*must be a string or a number"
    ):
        numbers_or_text(np.array([1.0, cell], dtype=object), "a")


def test_text_where_training_had_numbers():
    with pytest.raises(
        ValueError, match=r"column 'a' held numbers in training; here row 1 holds the text 'x'"
    ):
        as_numbers(np.array([None, "x"], dtype=object), "a")
    assert np.isnan(as_numbers(np.array([None, None], dtype=object), "a")).all()


def test_numbers_where_training_had_text():
    same(as_text(np.array([1.0, NAN, 2.5]), "a"), ["1", None, "2.5"])
    same(as_text(np.array([True, False]), "a"), ["True", "False"])
    assert level_text(np.float32(3)) == level_text(3) == level_text("3") == "3"


# Files


@pytest.fixture
def frame():
    return pd.DataFrame({"b": [1.5, NAN, 3.0], "a.b": [1, 2, 3], "a": [9, 8, 7], "text": ["u", None, "w"]})


WRITERS = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "t.CSV": lambda frame, path: frame.to_csv(path, index=False),
    "t.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "t.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "t.parquet": lambda frame, path: frame.to_parquet(path),
    "t.pq": lambda frame, path: frame.to_parquet(path),
    "t.feather": lambda frame, path: feather.write_feather(pa.Table.from_pandas(frame), str(path)),
    "t.arrow": lambda frame, path: feather.write_feather(
        pa.Table.from_pandas(frame), str(path), compression="uncompressed"
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_files_hold_what_was_written(name, frame, tmp_path):
    path = tmp_path / name
    WRITERS[name](frame, path)
    for given in (path, str(path)):
        table = as_table(given)
        assert table.names == tuple(frame.columns)
        assert table.n_rows == 3
        for i, column in enumerate(frame):
            same(table.column(i), frame[column])
        chosen = as_table(given, columns=["text", "b", "a"])
        assert chosen.names == ("text", "b", "a")
        for i, column in enumerate(chosen.names):
            same(chosen.column(i), frame[column])
        assert as_table(given).select([]).n_rows == 3


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_only_columns_asked_for_are_read(name, frame, tmp_path, monkeypatch):
    path = tmp_path / name
    WRITERS[name](frame, path)
    table = as_table(path)
    assert isinstance(table, FileTable)
    read = []
    original = table.read
    monkeypatch.setattr(table, "read", lambda columns: read.append(list(columns)) or original(columns))
    chosen = table.select([2, 0])
    assert read == [[2, 0]]
    assert chosen.names == ("a", "b")
    assert len(chosen.table.column_names if name != "t.csv" else chosen.frame.columns) == 2


def test_an_index_in_a_parquet_file_is_no_column(tmp_path):
    pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index(["r", "s"], name="id")).to_parquet(tmp_path / "t.parquet")
    table = as_table(tmp_path / "t.parquet")
    assert table.names == ("a",)
    same(table.column(0), [1.0, 2.0])


def test_row_names_of_a_csv_are_left_out(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv")
    with pytest.warns(UserWarning, match="first column .* has no name: taken as row names"):
        table = as_table(tmp_path / "t.csv")
    assert table.names == tuple(frame.columns)
    same(table.column(3), frame["text"])
    same(table.select([3, 1]).column(1), frame["a.b"])


def test_files_that_cannot_be_read(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    with pytest.raises(FileNotFoundError, match=r"no file .*none\.csv"):
        as_table(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError, match="it is a folder"):
        as_table(tmp_path)
    with pytest.raises(ValueError, match=r"t\.xyz.* has an unknown ending; .*\.parquet"):
        as_table(write("t.xyz", "a"))
    with pytest.raises(ValueError, match=r"t\.csv' is empty"):
        as_table(write("t.csv", ""))
    with pytest.raises(ValueError, match="more than one column is called 'a'"):
        as_table(write("twice.csv", "a,b,a\n1,2,3\n"))
    with pytest.raises(ValueError, match=r"ragged\.csv.*line 3: it has 4 values for 2 columns"):
        as_table(write("ragged.csv", "a,b\n1,2\n1,2,3,4\n")).select([0, 1])
    with pytest.raises(ValueError, match=r"long\.csv.*line 2: it has 3 values for 2 columns"):
        as_table(write("long.csv", "a,b\n1,2,3\n4,5,6\n")).select([0, 1])
    with pytest.raises(
        ValueError, match=r"cut\.csv', line 3: it has 1 values for 2 columns, and the file ends"
    ):
        as_table(write("cut.csv", "a,b\n1,2\n3"))
    with pytest.raises(ValueError, match=r"cannot read .*bad\.parquet"):
        as_table(write("bad.parquet", "not parquet"))
    with pytest.raises(ValueError, match=r"cannot read .*bad\.feather"):
        as_table(write("bad.feather", "not feather"))


def test_short_lines_within_a_file_are_told_and_their_ends_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b,c\n1,"2,5\n",x\n\n3\n4,5,y\n')
    with pytest.warns(UserWarning, match=r"t\.csv', line 5: it has 1 values for 3 columns"):
        table = as_table(path)
    same(table.column(0), [1.0, 3.0, 4.0])
    same(table.column(2), ["x", None, "y"])
    with pytest.warns(UserWarning, match="'b': numbers with decimal commas"):
        same(table.column(1), [2.5, None, 5.0])
    path.write_text('a,b,c\n1,"2,5\n",x\n\n4,5,y')
    with pytest.warns(UserWarning, match="decimal commas"):
        assert as_table(path).n_rows == 2


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_packed_files_whole_and_cut(tmp_path, ending):
    text = "a,b\n" + "".join(f"{i},{i * 7919 % 10007}\n" for i in range(20_000))
    whole = tmp_path / f"t.csv.{ending}"
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}.get(ending)
    whole.write_bytes(pack(text.encode()) if pack else pa.compress(text.encode(), "zstd", asbytes=True))
    assert first_short_line(whole, ",", 2) is None
    assert first_short_line(whole, ",", 3) == (2, 2, False)
    if pack is None:
        return
    assert as_table(whole).n_rows == 20_000
    cut = tmp_path / f"cut.csv.{ending}"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(ValueError, match=r"cannot read .*cut\.csv"):
        as_table(cut)


# Views


def test_select_drop_and_index(frame):
    table = as_table(frame)
    assert table.index("a") == 2
    rest = table.drop(["a.b"])
    assert rest.names == ("b", "a", "text")
    same(rest.column(1), frame["a"])
    np.testing.assert_array_equal(rest.block([1, 0]), frame[["a", "b"]].T)
    assert rest.plain.tolist() == [True, True, False]
    assert as_table(rest) is rest
    assert isinstance(rest, Table)
    with pytest.raises(KeyError, match=r"no column 'z'; there are 'b', 'a.b'"):
        table.index("z")


def test_dotted_names_in_parquet_are_not_confused(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "a.b": [2.0]}), tmp_path / "t.parquet")
    assert as_table(tmp_path / "t.parquet", columns=["a"]).column(0).tolist() == [1.0]
    assert as_table(tmp_path / "t.parquet", columns=["a.b"]).column(0).tolist() == [2.0]
