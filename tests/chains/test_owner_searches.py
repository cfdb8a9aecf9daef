"""One owner of a cross-validation or a search too: of two in one folder the second is refused."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import numpy as np
import pytest
from support.cli_cases import SHORT, call, frame, write
from support.ray_cases import local_ray

import raytpnn
from raytpnn.storage.lease import LeaseLost, LeaseReader, RunInUse
from raytpnn.storage.places.place import Place
from raytpnn.tuning.saved_steps import SavedSteps
from raytpnn.validation import cross_validate as validation

SMALL = {"chains": 1, "warmup": 20, "draws": 20}
HOLDER = """
import sys
from raytpnn.storage.lease import Lease
from raytpnn.storage.places.place import Place
lease = Lease.claim(Place(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def small():
    X = np.random.default_rng(0).random((40, 2))
    return X, X[:, 0]


def cross_validate(out, **more):
    return raytpnn.cross_validate(*small(), cv=2, out=out, **SMALL, **more)


def search(out, **more):
    return raytpnn.tune(*small(), space={"K_max": [20]}, folds=2, out=out, **SMALL, **more)


@pytest.fixture
def hold():
    """Have another process work on a folder."""
    holders = []

    def start(folder):
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        holders.append(holder)
        assert holder.stdout.readline() == "held\n"
        return holder

    yield start
    for holder in holders:
        holder.kill()
        holder.communicate()


@pytest.mark.parametrize("work", [cross_validate, search])
def test_where_somebody_works_the_second_is_refused(work, hold, tmp_path):
    out = tmp_path / "out"
    owner = hold(out)
    with pytest.raises(RunInUse, match=rf"process {owner.pid} on .*kill {owner.pid}.*the same command"):
        work(out)
    assert os.listdir(out) == ["lease"]


def test_a_validation_follows_a_dead_owner_and_gives_the_folder_back(hold, tmp_path):
    out = tmp_path / "out"
    owner = hold(out)
    owner.kill()
    owner.wait()
    found = cross_validate(out)
    assert LeaseReader(Place(out)).look() == "released"
    assert cross_validate(out).fits == found.fits


def test_on_the_command_line_the_second_is_refused_before_anything_is_read(hold, tmp_path):
    data, run, other = write(frame(30), tmp_path / "t.csv"), tmp_path / "run", tmp_path / "search"
    fit = ("fit", data, "--target", "sold", "--out", run, "--cv", "2x1", *SHORT)
    assert call(*fit).returncode == 0
    tables = {path: path.stat().st_mtime_ns for path in (run / "cv").iterdir()}
    for folder, line in ((run, fit), (other, ("tune", data, "--target", "sold", "--out", other))):
        owner = hold(folder)
        refused = call(*line)
        assert refused.returncode == 1
        assert f"process {owner.pid} on" in refused.stderr
        assert "reading" not in refused.stderr
    assert {path: path.stat().st_mtime_ns for path in (run / "cv").iterdir()} == tables


def test_a_validation_that_was_taken_over_stops_and_writes_nothing(tmp_path, monkeypatch):
    out = tmp_path / "out"
    original = validation.fits_on_threads

    def taken_over(*arguments):
        for done in original(*arguments):
            assert Place(out).create("lease/000002.json", b"{}")
            yield done

    monkeypatch.setattr(validation, "fits_on_threads", taken_over)
    with pytest.raises(LeaseLost, match="was taken over by somebody"):
        cross_validate(out)
    assert [path.name for path in (out / "cv").iterdir()] == ["cv.json"]


def test_a_folder_of_something_else_gets_no_lease(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match="exists and is not empty"):
        search(tmp_path)
    cross_validate(tmp_path / "out")
    before = sorted((tmp_path / "out").rglob("*"))
    with pytest.raises(ValueError, match="cross-validation of other data or options"):
        cross_validate(tmp_path / "out", seed=7)
    assert sorted((tmp_path / "out").rglob("*")) == before
    assert sorted(os.listdir(tmp_path)) == ["out", "thesis.tex"]


def test_a_search_that_cannot_keep_its_steps_says_so(tmp_path, monkeypatch):
    def full(kept, setting, step, outcome):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with local_ray(1):
        monkeypatch.setattr(SavedSteps, "add", full)
        with pytest.raises(OSError, match="No space left"):
            search(tmp_path / "out")
        monkeypatch.undo()
        assert search(tmp_path / "out").stopped == "complete"
    assert LeaseReader(Place(tmp_path / "out")).look() == "released"
