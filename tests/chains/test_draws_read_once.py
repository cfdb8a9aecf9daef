"""Files of draws are read once: by who fits, by who goes on, by the command line."""

from __future__ import annotations

import shutil
import sys
from collections import Counter

import pytest
from support.cli_cases import call
from support.run_cases import assert_same_draws, fit, small_data

import raytpnn

SIZE = {"chains": 2, "warmup": 100, "draws": 300}
FLAGS = ["--chains=2", "--warmup=100", "--draws=300", "--executor=threads"]
opened: Counter[str] = Counter()


def note_open(event, arguments):
    """Count files of draws that are opened to be read."""
    if event == "open":
        path, mode, _ = arguments
        if mode is not None and "r" in mode and "/draws/chain=" in str(path):
            opened[str(path).rpartition("/draws/")[2]] += 1


# Python has no way to take a hook back.
sys.addaudithook(note_open)


@pytest.fixture(autouse=True)
def forget():
    opened.clear()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    run = tmp_path_factory.mktemp("whole") / "run"
    fit(run, **SIZE)
    return run


def assert_read_once(run):
    there = {path.relative_to(run / "draws").as_posix(): 1 for path in run.glob("draws/*/*")}
    assert len(there) == 6
    assert dict(opened) == there


def test_a_fit_reads_its_draws_once(whole, tmp_path):
    post = fit(tmp_path / "run", **SIZE)
    assert_read_once(tmp_path / "run")
    assert_same_draws(whole, tmp_path / "run")
    assert post.draws.n_draws == 600


def test_who_goes_on_reads_what_was_there_and_what_is_new_once(whole, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    for kind, end in (("checkpoint", ""), ("draws", ".parquet")):
        (run / f"{kind}/chain=1/block=2{end}").unlink()
    opened.clear()
    post = raytpnn.resume(run, executor="threads")
    assert_read_once(run)
    assert post.draws.loglik.tobytes() == raytpnn.load(whole).draws.loglik.tobytes()


def test_the_command_line_reads_no_more(tmp_path):
    X, y = small_data()
    X.assign(y=y).to_parquet(tmp_path / "data.parquet")
    run = tmp_path / "run"
    assert call("fit", tmp_path / "data.parquet", "--target=y", f"--out={run}", *FLAGS).returncode == 0
    assert_read_once(run)
    opened.clear()
    assert call("resume", run, "--executor=threads").returncode == 0
    assert_read_once(run)


def test_a_run_that_has_not_ended_is_loaded_with_one_read(whole, tmp_path):
    from raytpnn.chains.run.run import Run
    from raytpnn.storage.places.place import Place

    run = tmp_path / "run"
    shutil.copytree(whole, run)
    Run.open(Place(run)).reopen()
    opened.clear()
    with pytest.raises(raytpnn.RunError, match="8 of 8 blocks are there"):
        raytpnn.load(run)
    assert not opened
    assert raytpnn.load(run, unfinished=True).draws.n_draws == 600
    assert_read_once(run)


def test_a_block_that_is_damaged_after_it_was_written_is_named_and_made_again(whole, tmp_path, monkeypatch):
    """Nobody reads it back before the end; then it is noticed, and nothing else is lost."""
    from raytpnn.chains.run.run import Run

    run = tmp_path / "run"
    original = Run.end

    def spoil(self, *rest):
        path = run / "draws/chain=1/block=2.parquet"
        path.write_bytes(path.read_bytes()[:-1] + b"x")
        original(self, *rest)

    monkeypatch.setattr(Run, "end", spoil)
    with pytest.raises(raytpnn.RunError, match=r"chain=1/block=2\.parquet is damaged.*raytpnn resume"):
        fit(run, **SIZE)
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"block=2\.parquet is damaged.*run again"):
        raytpnn.resume(run, executor="threads")
    assert_same_draws(whole, run)


def test_status_and_watch_read_no_draws_and_diagnose_verifies_them(whole, tmp_path):
    raytpnn.status(whole)
    assert call("watch", whole, "--once").returncode == 0
    assert not opened
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    path = run / "draws/chain=0/block=3.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    done = call("diagnose", run)
    assert "block=3.parquet is damaged" in " ".join(done.stderr.split())
