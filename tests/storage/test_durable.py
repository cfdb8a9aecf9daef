"""What a power cut, a full disk or a slip of the hand can do to a run's files, and how it is mended."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading

import pytest
from support.cli_cases import call
from support.run_cases import assert_same_draws, files_of, fit, manifest_of, small_data

import raytpnn
from raytpnn import RunError
from raytpnn.data.rows.rows_io import write_rows
from raytpnn.storage.formats.manifest import as_json, parse_manifest
from raytpnn.storage.places import atomic_files as beside
from raytpnn.storage.places import retry
from raytpnn.storage.places.place import Place


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    run = tmp_path_factory.mktemp("whole") / "run"
    fit(run)
    return run


@pytest.fixture
def copy(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def test_a_manifest_notices_every_flipped_byte(whole):
    data = (whole / "manifest.json").read_bytes()
    manifest = parse_manifest(data)
    assert parse_manifest(as_json(manifest)) == manifest
    for at in range(0, len(data), 7):
        spoiled = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        try:
            changed = parse_manifest(spoiled)
        except ValueError:
            continue
        assert changed == manifest or "checksum" not in json.loads(spoiled)


def test_an_older_manifest_without_a_checksum_loads(copy):
    (copy / "manifest.json").write_text(json.dumps(manifest_of(copy)))
    assert raytpnn.load(copy).draws.n_draws == 4 * 470


def test_the_manifest_before_is_kept(copy):
    before = (copy / "manifest.json").read_bytes()
    raytpnn.resume(copy, draws=480)
    kept = parse_manifest((copy / "manifest.previous.json").read_bytes())
    assert kept["state"] == "running"
    raytpnn.resume(copy)
    assert (copy / "manifest.json").read_bytes() != before


def recorded(monkeypatch):
    """What is done to files, in order: synced, or given a name."""
    events, names = [], {}
    fsync, replace, link = os.fsync, os.replace, os.link

    def note_sync(descriptor):
        events.append(("sync", os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def note_name(how):
        def named(source, target, **more):
            names[str(target)] = str(source)
            events.append(("name", str(target)))
            how(source, target, **more)

        return named

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_name(replace))
    monkeypatch.setattr(os, "link", note_name(link))
    return events, names


def test_a_manifest_is_synced_before_and_after_it_gets_its_name(tmp_path, monkeypatch):
    events, names = recorded(monkeypatch)
    run = str(tmp_path / "run")
    fit(run)
    manifest = f"{run}/manifest.json"
    at = max(i for i, event in enumerate(events) if event == ("name", manifest))
    assert ("sync", names[manifest]) in events[:at]
    assert ("sync", run) in events[at:]
    for name in files_of(run):
        assert ("sync", f"{run}/{name}") in events[:at], "draws are safe before the manifest speaks of them"
    codes = [i for i, (what, name) in enumerate(events) if what == "sync" and name.endswith("codes.npy")]
    first = min(i for i, event in enumerate(events) if event == ("name", manifest))
    assert codes
    assert codes[0] < first


def test_blocks_are_synced_beside_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(beside, "SYNC_SECONDS", 0.05)
    synced = threading.Event()
    original = beside.sync_files
    monkeypatch.setattr(beside, "sync_files", lambda paths: (original(paths), synced.set()))
    Place(tmp_path).write("checkpoint/chain=0/block=0", b"content")
    assert synced.wait(10)


@pytest.mark.parametrize("how", ["lost", "damaged", "torn"])
@pytest.mark.parametrize("kept", ["previous", "begun"])
def test_a_manifest_is_rebuilt_from_the_blocks(whole, copy, how, kept):
    data = (copy / "manifest.json").read_bytes()
    if how == "lost":
        (copy / "manifest.json").unlink()
    else:
        (copy / "manifest.json").write_bytes(
            data[:-40] + b"}" if how == "damaged" else data[: len(data) // 2]
        )
    if kept == "begun":
        (copy / "manifest.previous.json").write_bytes(b"")
    else:
        assert (copy / "manifest.previous.json").exists() or how
    with pytest.raises(RunError, match=rf"manifest.json is (missing|damaged).*raytpnn repair {copy}"):
        raytpnn.load(copy)
    done = call("repair", copy)
    assert done.returncode == 0, done.stderr
    assert "40 of 40 blocks are there and whole, with 1880 draws" in " ".join(done.stdout.split())
    assert raytpnn.load(copy).draws.n_draws == 4 * 470
    assert_same_draws(whole, copy)
    assert "nothing to repair" in call("repair", copy).stdout


def test_a_run_that_was_made_longer_and_lost_blocks_is_rebuilt_and_resumed(whole, copy, tmp_path):
    fit(tmp_path / "long", draws=620, chains=5)
    raytpnn.resume(copy, draws=620, chains=5)
    for name in ("manifest.json", "manifest.previous.json", "draws/chain=1/block=3.parquet"):
        (copy / name).unlink(missing_ok=True)
    (copy / "checkpoint/chain=2/block=7").write_bytes(b"torn")
    done = call("repair", copy)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "of 60 blocks are there" in said
    assert "chain=2/block=7 is damaged" in said
    assert "raytpnn resume" in said
    with pytest.warns(UserWarning, match="run again"):
        raytpnn.resume(copy)
    assert_same_draws(tmp_path / "long", copy)


def test_a_saved_posterior_is_rebuilt_too_and_damaged_data_are_not(whole, tmp_path):
    raytpnn.load(whole).save(tmp_path / "saved")
    (tmp_path / "saved" / "manifest.json").unlink()
    assert call("repair", tmp_path / "saved").returncode == 0
    assert raytpnn.load(tmp_path / "saved").draws.n_draws == 4 * 470
    (tmp_path / "saved" / "manifest.json").unlink()
    (tmp_path / "saved" / "data" / "codes.npy").write_bytes(b"")
    done = call("repair", tmp_path / "saved")
    assert done.returncode == 1
    assert "codes.npy is damaged" in done.stderr
    done = call("repair", tmp_path)
    assert "cannot be rebuilt: manifest.previous.json is missing" in done.stderr


def failing(monkeypatch, number, times):
    """Have the first writes of files fail."""
    left = iter(range(times))
    original = beside._written

    def written(target, data, durable):
        if next(left, None) is not None:
            raise OSError(number, os.strerror(number), str(target))
        return original(target, data, durable)

    monkeypatch.setattr(beside, "_written", written)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ESTALE, errno.ETIMEDOUT, errno.EIO])
def test_a_storage_error_that_passes_changes_nothing(whole, tmp_path, monkeypatch, number):
    failing(monkeypatch, number, 5)
    fit(tmp_path / "run")
    assert_same_draws(whole, tmp_path / "run")


def test_a_storage_error_that_stays_stops_the_run_whole_and_resumable(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("RAYTPNN_STORAGE_PATIENCE", "0.3")
    run = tmp_path / "run"
    original = beside._written

    def full(target, data, durable):
        if "block=5" in target.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        return original(target, data, durable)

    monkeypatch.setattr(beside, "_written", full)
    words = rf"(?s)No space left.*tried again for 0\.3 s.*finished blocks are kept.*raytpnn resume {run}"
    with pytest.raises(RunError, match=words):
        fit(run)
    monkeypatch.undo()
    with pytest.raises(RunError, match="has not ended"):
        raytpnn.load(run)
    raytpnn.resume(run)
    assert_same_draws(whole, run)


def test_a_manifest_that_cannot_be_written_at_the_end_is_told_with_how_to_go_on(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("RAYTPNN_STORAGE_PATIENCE", "0.1")
    run = tmp_path / "run"
    original = beside._written

    def full(target, data, durable):
        if "manifest" in target.name:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), str(target))
        return original(target, data, durable)

    monkeypatch.setattr(beside, "_written", full)
    with pytest.raises(RunError, match=rf"quota exceeded.*finished blocks are kept.*raytpnn resume {run}"):
        fit(run)
    monkeypatch.undo()
    raytpnn.resume(run)
    assert_same_draws(whole, run)


def test_what_does_not_pass_is_not_tried_again():
    for problem in (PermissionError(errno.EACCES, "no"), OSError(errno.EROFS, "read-only")):
        calls = []

        def act(problem=problem, calls=calls):
            calls.append(1)
            raise problem

        with pytest.raises(OSError, match=r"no|read-only"):
            retry.patiently(act, 10.0)
        assert len(calls) == 1
    assert retry.passes(OSError("AWS Error SLOW_DOWN during PutObject operation"))
    assert retry.passes(OSError("When reading: AWS Error NETWORK_CONNECTION: curlCode: 28, Timeout"))
    assert not retry.passes(OSError("AWS Error ACCESS_DENIED during PutObject operation"))


@pytest.mark.parametrize("streaming", [False, True])
def test_a_storage_error_while_a_run_begins_is_borne(tmp_path, monkeypatch, streaming):
    X, y = small_data()
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    asked = {"executor": "threads", "seed": 5, "chains": 2, "warmup": 60, "draws": 60, "streaming": streaming}
    raytpnn.sample(tmp_path / "rows.parquet", "y", out=tmp_path / "quiet", **asked)
    left = iter(range(2))

    def write(*arguments):
        # The disk is full when much is written, and the codes are where they should be.
        write_rows(*arguments)
        if next(left, None) is not None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("raytpnn.chains.run.run.write_rows", write)
    raytpnn.sample(tmp_path / "rows.parquet", "y", out=tmp_path / "run", **asked)
    assert next(left, None) is None
    assert_same_draws(tmp_path / "quiet", tmp_path / "run")
    assert not list(tmp_path.rglob("*.part"))


def test_a_run_that_cannot_begin_says_how_long_it_was_tried_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("RAYTPNN_STORAGE_PATIENCE", "0.3")

    def write(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("raytpnn.chains.run.run.write_rows", write)
    with pytest.raises(OSError, match=r"No space left on device \(tried again for 0\.3 s\)"):
        fit(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_whether_there_is_a_file_is_asked_again(copy, monkeypatch):
    """Workers ask for the next owner's lease before they write a block."""
    left = iter(range(4))

    def stale(function):
        def look(path, *arguments, **options):
            if str(path).startswith(str(copy)) and next(left, None) is not None:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))
            return function(path, *arguments, **options)

        return look

    for name in ("stat", "listdir"):
        monkeypatch.setattr(os, name, stale(getattr(os, name)))
    place = Place(copy)
    assert place.holds("manifest.json")
    assert not place.holds("lease/000099.json")
    assert next(left, None) is None
    left = iter(range(4))
    assert not place.empty()
    assert next(left, None) is None
