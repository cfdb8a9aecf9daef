"""Fits to streamed Parquet files: the draws of the same rows read at once, and nothing left behind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.cli_cases import SHORT, call
from support.ray_cases import local_ray
from support.run_cases import assert_same_draws, files_of, small_data

import raytpnn
from raytpnn.data import training
from raytpnn.data.tables.streamed_table import StreamedTable
from raytpnn.data.training import RoomForCodes, available_memory, training_table

LENGTH = {"chains": 2, "warmup": 60, "draws": 60, "seed": 4, "executor": "threads"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A file with features, response, weights and offset, in row groups of 30."""
    X, y = small_data(200)
    rng = np.random.default_rng(7)
    frame = X.assign(
        y=y, w=rng.integers(1, 3, len(X)), shift=rng.normal(size=len(X)), z=np.where(y > 0, "u", "v")
    )
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame.to_parquet(path, row_group_size=30)
    return path, frame


@pytest.fixture(scope="module")
def at_once(data, tmp_path_factory):
    """Run of the rows read at once."""
    out = tmp_path_factory.mktemp("runs") / "at once"
    X = data[1][["a", "b", "c", "z"]]
    raytpnn.sample(X, data[1]["y"], sample_weight=data[1]["w"], offset=data[1]["shift"], out=out, **LENGTH)
    return out


NAMED = {"y": "y", "sample_weight": "w", "offset": "shift"}


def test_a_streamed_run_has_the_same_draws(data, at_once, tmp_path):
    out = tmp_path / "new" / "run"
    post = raytpnn.sample(data[0], out=out, streaming=True, **NAMED, **LENGTH)
    assert_same_draws(out, at_once)
    assert files_of(out, "data") == files_of(at_once, "data")
    assert files_of(out, "encoder") == files_of(at_once, "encoder")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["run"], "nothing is left beside it"
    assert isinstance(post.bins.codes, np.memmap)
    X = data[1][["a", "b", "c", "z"]]
    again = raytpnn.load(at_once)
    np.testing.assert_array_equal(post.predict(X), again.predict(X))
    pd.testing.assert_frame_equal(post.diagnostics(), again.diagnostics())
    pd.testing.assert_frame_equal(post.components(), again.components())


def test_a_streamed_fit_without_a_folder(data, at_once):
    post = raytpnn.sample(data[0], streaming=True, **NAMED, **LENGTH)
    np.testing.assert_array_equal(post.bins.codes, raytpnn.load(at_once).bins.codes)
    assert post.diagnostics().equals(raytpnn.load(at_once).diagnostics())
    np.testing.assert_array_equal(post.y, data[1]["y"])


def test_a_streamed_run_goes_on(data, at_once, tmp_path):
    out = tmp_path / "run"
    raytpnn.sample(data[0], out=out, streaming=True, **NAMED, **{**LENGTH, "draws": 20})
    raytpnn.resume(out, draws=60, executor="threads")
    assert raytpnn.load(out).scalars().equals(raytpnn.load(at_once).scalars())


def test_a_streamed_run_on_ray(data, at_once, tmp_path):
    with local_ray(2):
        raytpnn.sample(
            data[0], out=tmp_path / "run", streaming=True, **NAMED, **{**LENGTH, "executor": "ray"}
        )
    assert_same_draws(tmp_path / "run", at_once)


def test_a_streamed_run_elsewhere_than_on_a_disk(data, at_once, tmp_path, monkeypatch):
    """Codes that cannot be renamed into place are copied."""
    monkeypatch.setattr(
        RoomForCodes,
        "__init__",
        lambda self, beside: setattr(self, "beside", None) or setattr(self, "folder", None),
    )
    out = tmp_path / "run"
    raytpnn.sample(data[0], out=out, streaming=True, **NAMED, **LENGTH)
    assert_same_draws(out, at_once)


def test_columns_of_a_frame_by_name(data, at_once, tmp_path):
    raytpnn.sample(data[1], out=tmp_path / "run", **NAMED, **LENGTH)
    assert_same_draws(tmp_path / "run", at_once)
    with pytest.raises(ValueError, match="X has no column 'nowhere'"):
        raytpnn.sample(data[1], "nowhere", **LENGTH)
    with pytest.raises(ValueError, match="no column left beside 'y'"):
        raytpnn.sample(data[1][["y"]], "y", **LENGTH)


def test_what_is_large_is_streamed(data, monkeypatch):
    path, frame = data
    needed = StreamedTable.open(path).bytes_in_memory()
    assert 10 * len(frame) < needed < 1000 * len(frame)
    for free, streamed in ((10 * needed, False), (needed, True), (None, False)):
        monkeypatch.setattr(training, "available_memory", lambda free=free: free)
        assert isinstance(training_table(path), StreamedTable) is streamed
    monkeypatch.setattr(training, "available_memory", lambda: 1)
    assert not isinstance(training_table(path, streaming=False), StreamedTable)
    assert isinstance(training_table(path.parent), StreamedTable)
    assert not isinstance(training_table(frame), StreamedTable)


def test_free_memory_is_known():
    free = available_memory()
    assert free is not None
    assert 10**6 < free < 10**15


@pytest.mark.parametrize(
    ("given", "streaming", "message"),
    [
        (np.ones((3, 2)), True, "streaming=True is for Parquet files: .* not ndarray"),
        ("rows.csv", True, "not 'rows.csv'"),
        ("rows.parquet", "yes", "streaming must be True, False or None, got 'yes'"),
    ],
)
def test_what_cannot_be_streamed(given, streaming, message):
    with pytest.raises(ValueError, match=message):
        training_table(given, streaming)


def test_failures_leave_nothing_behind(tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"a": [1.0, np.inf, 2.0], "y": [1.0, 2.0, 3.0]}).to_parquet(path)
    with pytest.raises(ValueError, match="column 'a' is inf in row 1"):
        raytpnn.sample(path, "y", streaming=True, out=tmp_path / "run", **LENGTH)
    assert [found.name for found in tmp_path.iterdir()] == ["rows.parquet"]


def test_fit_streams_on_the_command_line(data, tmp_path):
    asked = ("--target", "y", "--weights", "w", "--offset", "shift", *SHORT)
    done = call("fit", data[0], *asked, "--streaming", "--out", tmp_path / "streamed")
    assert done.returncode == 0, done.stderr
    assert "the rows are read a batch at a time" in done.stderr
    done = call("fit", data[0], *asked, "--no-streaming", "--out", tmp_path / "at once")
    assert done.returncode == 0, done.stderr
    assert "a batch at a time" not in done.stderr
    assert_same_draws(tmp_path / "streamed", tmp_path / "at once")


def test_fit_of_a_folder_on_the_command_line(data, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    data[1][:90].to_parquet(folder / "1.parquet")
    data[1][90:].to_parquet(folder / "2.parquet")
    done = call("fit", folder, "--target", "z", "--drop", "y", *SHORT, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "200 rows, 5 columns" in done.stderr
