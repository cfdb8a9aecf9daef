"""Odd files and tables: each is refused with what and how, or handled and told. None is silent."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.response import as_response
from raytpnn.data.tables.tables import as_table
from raytpnn.families import get_family

REFUSED, TOLD = "refused", "told"
N = 60
NUMBERS = [f"{i * 0.37:.2f}" for i in range(N)]


def column_file(cells, separator=",", header="x{}y"):
    """Bytes of a table with a column x of these cells and y of numbers."""
    lines = [header.format(separator), *(f"{cell}{separator}{i % 7}" for i, cell in enumerate(cells))]
    return ("\n".join(lines) + "\n").encode()


def spoilt(value, row=17):
    """Numbers with one other cell."""
    cells = list(NUMBERS)
    cells[row] = value
    return column_file(cells)


# Name, file ending, bytes, what happens, words of the message, first cells of x if it is told.
FILES = [
    (
        "stray text among numbers",
        "csv",
        spoilt("N/A?"),
        REFUSED,
        "column 'x'.*row 17 holds 'N/A\\?'.*empty",
        None,
    ),
    ("one price among numbers", "csv", spoilt('"$1,200"'), TOLD, "'x': numbers with money and commas", None),
    ("a word among numbers", "csv", spoilt("broken"), REFUSED, "column 'x'.*row 17 holds 'broken'", None),
    ("a letter O for a zero", "csv", spoilt("1O.5"), REFUSED, "row 17 holds '1O.5'", None),
    ("two points", "csv", spoilt("1.2.3"), REFUSED, "row 17 holds '1.2.3'", None),
    ("question mark for missing", "csv", spoilt("?"), TOLD, "'\\?' counts as missing, in 1 row", None),
    ("null among numbers", "csv", spoilt("NULL"), TOLD, "'NULL' counts as missing", None),
    ("dash among numbers", "csv", spoilt("-"), TOLD, "'-' counts as missing", None),
    ("infinite", "csv", spoilt("inf"), REFUSED, "column 'x' is inf in row 17.*NaN", None),
    (
        "thousands",
        "csv",
        column_file([f'"{i},200"' for i in range(1, N)]),
        TOLD,
        "commas before thousands",
        1200.0,
    ),
    ("money", "csv", column_file([f"${i}.5" for i in range(N)]), TOLD, "numbers with money", 0.5),
    ("money behind", "csv", column_file([f"{i}.5 €" for i in range(N)]), TOLD, "numbers with money", 0.5),
    ("percent", "csv", column_file([f"{i}%" for i in range(N)]), TOLD, "numbers with percent", 0.0),
    (
        "gaps before thousands",
        "csv",
        column_file([f"{i} 200" for i in range(1, N)]),
        TOLD,
        "gaps before",
        1200.0,
    ),
    ("semicolons", "csv", column_file(NUMBERS, ";"), TOLD, "separated by semicolons", 0.0),
    ("bars", "csv", column_file(NUMBERS, "|"), TOLD, "separated by bars", 0.0),
    ("tabs in a .csv", "csv", column_file(NUMBERS, "\t"), TOLD, "separated by tabs", 0.0),
    ("commas in a .tsv", "tsv", column_file(NUMBERS), TOLD, "separated by commas", 0.0),
    (
        "decimal commas",
        "csv",
        column_file([f"{i},5" for i in range(N)], ";"),
        TOLD,
        "separated by semicolons.*decimal commas",
        0.5,
    ),
    (
        "decimal commas and points before thousands",
        "csv",
        column_file([f"{i}.200,5" for i in range(1, N)], ";"),
        TOLD,
        "decimal commas",
        1200.5,
    ),
    (
        "thousands or decimals",
        "csv",
        column_file([f"{i},200" for i in range(1, N)], ";"),
        REFUSED,
        "column 'x' holds '1,200' in row 0, which may mean thousands or a decimal comma",
        None,
    ),
    (
        "Latin-1",
        "csv",
        column_file([*["Köln", "Bern"] * 20]).decode().encode("latin-1"),
        TOLD,
        "Windows-1252",
        "Köln",
    ),
    ("UTF-16", "csv", column_file(NUMBERS).decode().encode("utf-16"), TOLD, "UTF-16", 0.0),
    ("zero bytes", "csv", b"x,y\n\0\0,1\n", REFUSED, "zero bytes.*UTF-8", None),
    (
        "long line",
        "csv",
        b"x,y\n1,2\n3,4,5\n",
        REFUSED,
        "line 3: it has 3 values for 2 columns.*quotes",
        None,
    ),
    (
        "short line",
        "csv",
        b"y,x\n1,2\n3\n4,5\n",
        TOLD,
        "line 3: it has 1 values for 2 columns.*missing",
        None,
    ),
    ("cut short", "csv", b"x,y\n1,2\n3", REFUSED, "line 3.*cut short", None),
    ("empty", "csv", b"", REFUSED, "is empty; the first line must name", None),
    ("header alone", "csv", b"x,y\n", REFUSED, "at least two are needed", None),
    (
        "two columns of one name",
        "csv",
        b"x,x,y\n1,2,3\n2,3,4\n",
        REFUSED,
        "more than one column is called 'x'",
        None,
    ),
    ("a column without a name", "csv", b"x,,y\n1,2,3\n2,1,4\n", TOLD, "column 2 .* has no name", 1.0),
    ("row names", "csv", b",x,y\na,1,2\nb,2,3\n", TOLD, "taken as row names", 1.0),
    ("workbook", "csv", b"PK\x03\x04rest", REFUSED, "Excel workbook.*save the sheet as CSV", None),
    ("Parquet called .csv", "csv", b"PAR1rest", REFUSED, "let its name end in .parquet", None),
    ("gzip called .csv", "csv", b"\x1f\x8brest", REFUSED, "let its name end in .csv.gz", None),
    ("web page", "csv", b"<!DOCTYPE html><html>", REFUSED, "a web page", None),
    ("unknown ending", "xyz", b"x,y\n1,2\n", REFUSED, "unknown ending; give a file that ends in", None),
    (
        "dates",
        "csv",
        column_file([f"2024-01-{i % 28 + 1:02d}" for i in range(N)]),
        REFUSED,
        "column 'x' holds dates.*'2024-01-01' in row 0.*days since",
        None,
    ),
    (
        "dates with strokes",
        "csv",
        column_file([f"{i % 28 + 1}/3/2024" for i in range(N)]),
        REFUSED,
        "dates",
        None,
    ),
    ("times", "csv", column_file([f"2024-01-02 10:{i % 60:02d}" for i in range(N)]), REFUSED, "dates", None),
    (
        "few numbers and a text",
        "csv",
        column_file(["0", "1", "2", "3+"] * 9),
        TOLD,
        "'3\\+' in row 3.*levels",
        "0",
    ),
    ("none is a level", "csv", column_file(["none", "drug"] * 20), TOLD, "'none' counts as a level", "none"),
    (
        "levels that differ by a blank",
        "csv",
        column_file(["a ", "a", "b"] * 9),
        TOLD,
        "differ only by case",
        "a ",
    ),
    (
        "levels that differ by case",
        "csv",
        column_file(["No", "no", "b"] * 9),
        TOLD,
        "differ only by case",
        "No",
    ),
    (
        "names of rows",
        "csv",
        column_file([f"id-{i}x" for i in range(N)]),
        REFUSED,
        "too many for cat.*Drop it",
        None,
    ),
    ("constant", "csv", column_file(["3"] * N), TOLD, "dropped 1 constant or empty column.*'x'", 3.0),
]


def test_there_are_forty():
    assert len(FILES) >= 40


@pytest.mark.parametrize(
    ("ending", "content", "fate", "words", "first"),
    [case[1:] for case in FILES],
    ids=[case[0] for case in FILES],
)
def test_no_odd_file_is_silent(ending, content, fate, words, first, tmp_path):
    path = tmp_path / f"t.{ending}"
    path.write_bytes(content)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            table = as_table(path)
            Encoder.fit(table)
            cell = table.column(table.index("x"))[0]
            refusal = None
        except (ValueError, TypeError) as problem:
            refusal = str(problem)
    text = " ".join(str(warning.message) for warning in told)
    if fate == REFUSED:
        assert refusal is not None, f"taken without a word; told: {text!r}"
        assert_matches(words, refusal)
        return
    assert refusal is None, refusal
    assert_matches(words, text)
    if first is not None:
        assert cell == first


def assert_matches(words, text):
    import re

    assert re.search(words, text, re.DOTALL), text


def test_a_plain_file_says_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(column_file(NUMBERS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Encoder.fit(as_table(path))


# Tables in memory


def test_stray_text_in_a_frame_is_refused_unless_declared():
    cells = [str(i % 40) for i in range(200)]
    cells[5] = "x?"
    with pytest.raises(
        ValueError, match=r"column 'a' holds numbers, but row 5 holds 'x\?'.*astype\('category'\)"
    ):
        Encoder.fit(pd.DataFrame({"a": cells}))
    encoder, _ = Encoder.fit(pd.DataFrame({"a": pd.Categorical(cells)}))
    assert encoder.n_features == 41


def test_stray_text_in_parquet_is_refused_streamed_or_not(tmp_path):
    cells = [str(i % 40) for i in range(200)]
    cells[5] = "x?"
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": cells}), path)
    for fit in (Encoder.fit, Encoder.fit_parquet):
        with pytest.raises(ValueError, match=r"row 5 holds 'x\?'"):
            fit(path)


def test_dates_as_text_in_parquet_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [f"2024-02-{i % 28 + 1:02d}" for i in range(99)]}), path)
    for fit in (Encoder.fit, Encoder.fit_parquet):
        with pytest.raises(TypeError, match="holds dates"):
            fit(path)


@pytest.mark.parametrize("arrow", [False, True])
def test_ordered_categories_keep_their_order(arrow):
    cells = pd.Categorical(["mid", "low", "high", "low"], ["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"size": cells})
    encoder, _ = Encoder.fit(pa.Table.from_pandas(frame) if arrow else frame)
    assert encoder.levels[0] == ("low", "mid", "high")
    assert encoder.names == ("size=low", "size=mid", "size=high")
    encoder, _ = Encoder.fit(frame.astype(str))
    assert encoder.levels[0] == ("high", "low", "mid"), "text has no order of its own"


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a_constant_target_is_refused(family):
    with pytest.raises(ValueError, match="y is 3 in all 50 rows: there is nothing to learn"):
        as_response(np.full(50, 3.0), get_family(family), 50)


def test_three_levels_point_to_one_against_the_others():
    y = np.array(["a", "b", "c"] * 5)
    with pytest.raises(ValueError, match=r"found 3 classes.*--positive a, or in Python y == 'a'"):
        as_response(y, get_family("bernoulli"), 15)


def test_a_stray_cell_of_the_target_is_named():
    y = np.array([*map(str, range(99)), "12O"], dtype=object)
    with pytest.raises(ValueError, match="y holds the text '12O' in row 99; family 'gaussian' needs numbers"):
        as_response(y, get_family("gaussian"), 100)
