"""GEO series matrix files: read right, and malformed ones refused with file and line."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from support.expression_cases import ROWS, SAMPLES, series_lines, write_series

from raytpnn.data.preparation import prepare
from raytpnn.expression import series_matrix
from raytpnn.expression.expression import read_expression


def test_gse4107_is_what_was_prepared_from_it(real_data):
    data = read_expression(real_data / "GSE4107_series_matrix.txt.gz")
    other = pd.read_parquet(real_data / "gse4107_expr.parquet").set_index("feature_id")
    assert data.feature_ids == tuple(other.index)
    assert data.sample_ids == list(other.columns)
    assert data.values.dtype == np.float32
    np.testing.assert_array_equal(data.values, other.to_numpy().T)
    sheet = pd.read_csv(real_data / "gse4107_samples.csv", index_col=0)
    assert list(data.samples["Gender"]) == list(sheet["gender"]), "'Gender:F' and 'Gender: F' are one level"
    assert list(data.samples["Age"]) == list(sheet["age"])
    y, usable, text = data.target("title", "~patient")
    assert usable.all()
    np.testing.assert_array_equal(y.values == 1, sheet["target"] == "patient")
    assert text == "title: patient (12 samples) against not patient (10 samples)"


def test_gse89143(real_data):
    data = read_expression(real_data / "GSE89143_series_matrix.txt.gz")
    assert (data.n_samples, data.n_features) == (6, 2558)
    y, _, _ = data.target("tissue", "Gastric cancer tissue")
    np.testing.assert_array_equal(y.values, [1, 0, 1, 0, 1, 0])
    assert data.values[0, 0] == 590


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz", "x_series_matrix.gz", "plain"])
def test_small_file(tmp_path, name, monkeypatch):
    # A few lines at a time, so that blocks are joined.
    monkeypatch.setattr(series_matrix, "BLOCK_BYTES", 60)
    data = read_expression(write_series(tmp_path / name))
    assert data.feature_ids == tuple(ROWS)
    expected = [[np.nan if cell in ("", "null") else cell for cell in row] for row in ROWS.values()]
    np.testing.assert_array_equal(data.values, np.array(expected, np.float32).T)
    assert data.values.flags.f_contiguous, "a feature's values stand together"
    samples = data.samples
    assert list(samples.index) == list(SAMPLES)
    assert list(samples["Gender"]) == ["F", "F", "M", "M", "M", "F"]
    np.testing.assert_array_equal(samples["Age"], [22, 49, 40, 30, 31, np.nan])
    assert samples["Stage"].fillna("?").tolist() == ["I", "?", "II", "I", "?", "III"]
    assert list(samples["characteristics_ch1"])[4] == "healthy"


def damaged(tmp_path, change):
    lines = series_lines()
    change(lines)
    return write_series(tmp_path / "m.txt", lines)


def test_missing_end_is_named(tmp_path):
    path = damaged(tmp_path, lambda lines: lines.pop())
    with pytest.raises(ValueError, match=r"m.txt' ends at line 15 without !series_matrix_table_end, after 5"):
        read_expression(path)


def test_truncated_gzip_is_named(tmp_path):
    rng = np.random.default_rng(0)
    rows = {f"p{i}_at": rng.normal(size=6) for i in range(400)}
    data = write_series(tmp_path / "whole.txt.gz", series_lines(rows)).read_bytes()
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(
        ValueError, match=r"cut.txt.gz' is damaged after line [\d,]+: the gzip data end early"
    ):
        read_expression(path)
    path.write_bytes(data[:-6] + b"\0\0" + data[-4:])
    with pytest.raises(ValueError, match=r"cut.txt.gz' is damaged after line"):
        read_expression(path)


def test_real_file_truncated(real_data, tmp_path):
    whole = (real_data / "GSE4107_series_matrix.txt.gz").read_bytes()
    path = tmp_path / "GSE4107_series_matrix.txt.gz"
    path.write_bytes(whole[:200_000])
    with pytest.raises(ValueError, match=r"damaged after line [\d,]+.*Download it again"):
        read_expression(path)
    lines = gzip.decompress(whole).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(lines[:500]), 1))
    with pytest.raises(ValueError, match="ends at line 500 without !series_matrix_table_end"):
        read_expression(path)


@pytest.mark.parametrize(
    ("line", "old", "new", "message"),
    [
        (9, "GSM2", "GSM1", r"line 10: sample ids must differ; 'GSM1' stands there more than once"),
        (11, "\t5\t", "\tfive\t", r"line 12: p2_at of sample GSM2 is 'five', no number"),
        (11, "\t5\t", "\t1e400\t", r"line 12: p2_at of sample GSM2 is '1e400'; it must be finite"),
        (11, "\t5\t", "\t-1e39\t", r"line 12: p2_at of sample GSM2 is '-1e39'; it must be finite"),
        (13, "\t150\t", "\t", r"line 14: it has 5 values for 6 samples"),
        (2, '\t"normal f"', "", r"line 3: !Sample_title has 5 values for 6 samples"),
        (12, '"p3_at"', "!Sample_x", r"line 13: '!Sample_x.*' within the matrix"),
    ],
)
def test_malformed_lines_are_named(tmp_path, line, old, new, message):
    def change(lines):
        assert old in lines[line]
        lines[line] = lines[line].replace(old, new)

    with pytest.raises(ValueError, match=rf"m.txt', {message}"):
        read_expression(damaged(tmp_path, change))


def test_no_table_and_empty_table(tmp_path):
    path = write_series(tmp_path / "no.txt", series_lines()[:8])
    with pytest.raises(ValueError, match="ends at line 8 without !series_matrix_table_begin"):
        read_expression(path)
    with pytest.raises(ValueError, match="empty matrix"):
        read_expression(write_series(tmp_path / "e.txt", [*series_lines()[:10], series_lines()[-1]]))


def test_all_missing_probe_is_left_out_and_said(tmp_path):
    rows = ROWS | {"gone_at": ("null",) * 6}
    data = read_expression(write_series(tmp_path / "m.txt", series_lines(rows)))
    ready = prepare(data)
    assert "gone_at" not in ready.names
    assert "left out 1 feature(s) without any value" in ready.preparation.sentences()


def test_repeated_feature_ids_are_numbered_and_said(tmp_path):
    lines = series_lines()
    lines[11] = lines[11].replace("p2_at", "p1_at")
    data = read_expression(write_series(tmp_path / "m.txt", lines))
    assert data.feature_ids[:2] == ("p1_at", "p1_at (2)")
    assert "1 feature id(s) stand for several features" in data.notes[0]
