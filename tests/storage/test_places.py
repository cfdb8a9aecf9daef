"""Runs on filesystems that are not a disk: an S3 server of our own, with real requests."""

from __future__ import annotations

import os
import pickle
import shutil
import threading

import numpy as np
import pytest
from support.run_cases import fit

import raytpnn
from raytpnn.storage.formats.checkpoint import draws_name
from raytpnn.storage.lease import Lease, LeaseLost, Record, RunInUse
from raytpnn.storage.places.identity import Process
from raytpnn.storage.places.place import Place


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RAYTPNN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_run_in_a_bucket_is_that_on_a_disk(bucket, tmp_path, own_cache):
    uri = bucket.format("one")
    disk, remote = fit(tmp_path / "run"), fit(uri)
    assert np.array_equal(disk.draws.loglik, remote.draws.loglik)
    place = Place(uri)
    assert place.read(draws_name(1, 9)) == (tmp_path / "run" / draws_name(1, 9)).read_bytes()
    loaded = raytpnn.load(uri)
    assert np.array_equal(disk.draws.beta, loaded.draws.beta)
    assert [path.name for path in own_cache.iterdir()], "codes are copied to this machine once"
    with pytest.raises(FileExistsError, match=r"s3://runs/one holds a run already"):
        fit(uri)


def test_resume_in_a_bucket(bucket, tmp_path):
    uri = bucket.format("two")
    with pytest.raises(ValueError, match="time limit"):
        fit(uri, time_limit=1e-9)
    Place(uri).write("checkpoint/chain=0/block=0", b"nonsense")
    with pytest.warns(UserWarning, match=r"s3://runs/two/checkpoint/chain=0/block=0 is damaged"):
        post = raytpnn.resume(uri)
    assert np.array_equal(post.draws.loglik, fit(None).draws.loglik)


def test_a_posterior_saved_to_a_bucket(bucket):
    uri = bucket.format("three")
    post = fit(None)
    post.save(uri)
    assert np.array_equal(raytpnn.load(uri).draws.beta, post.draws.beta)


def test_credentials_are_not_told(bucket):
    place = Place(bucket.format("four"))
    assert "test" not in str(place)
    assert "test" not in place.name_of("manifest.json")
    assert pickle.loads(pickle.dumps(place)).uri == place.uri


def test_a_file_uri_is_a_path(tmp_path):
    place = Place(f"file://{tmp_path}/run")
    assert place.path == tmp_path / "run"
    place.write("a/b.txt", b"content")
    assert (tmp_path / "run" / "a" / "b.txt").read_bytes() == b"content"
    assert place.names("a") == ["a/b.txt"]
    assert place.holds("a/b.txt")
    assert not place.holds("a")


def test_an_unknown_scheme_is_named():
    with pytest.raises(ValueError, match="cannot use 'ftp://host/run' as a folder"):
        Place("ftp://host/run")


def test_a_failed_write_leaves_nothing(tmp_path):
    place = Place(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "x").write_text("")
    with pytest.raises(OSError, match="taken"):
        place.write("taken", b"content")
    assert sorted(os.listdir(tmp_path)) == ["taken"]
    shutil.rmtree(tmp_path / "taken")


def test_a_run_in_a_bucket_can_be_watched(bucket):
    from raytpnn.chains.run.status import StatusReader

    uri = bucket.format("watched")
    fit(uri, chains=2, warmup=100, draws=200)
    place = Place(uri)
    sight = StatusReader(place).look()
    assert (sight.state, sight.blocks, sight.done) == ("finished", 6, [300, 300])
    assert sight.convergence.draws == 200
    assert sight.age < 600
    assert len(place.names("log")) >= 1


def test_data_in_a_bucket_can_be_fitted_and_change(bucket, tmp_path, own_cache):
    from pyarrow import fs

    from raytpnn.storage.places.fetch import local_copy

    uri = bucket.format("data.csv")
    filesystem, path = fs.FileSystem.from_uri(uri)
    with pytest.raises(FileNotFoundError, match=r"s3://runs/data\.csv"):
        local_copy(uri)
    for content in (b"a,y\n1,2\n", b"a,y\n1,2\n3,4\n"):
        with filesystem.open_output_stream(path) as stream:
            stream.write(content)
        copy = local_copy(uri)
        assert copy.read_bytes() == content
        assert copy.name.endswith("data.csv")
        assert local_copy(uri) == copy
    there = [path.name for path in (own_cache / f"raytpnn-{os.getuid()}").iterdir()]
    assert sorted(name[40:] for name in there) == ["-data.csv"] * 2 + [".sha256"] * 2, (
        "nothing is left beside"
    )
    assert local_copy(str(tmp_path)) == tmp_path
    with pytest.raises(ValueError, match="cannot read"):
        local_copy("gopher://old/data.csv")


def test_a_small_file_takes_one_request(bucket, requests):
    place = Place(bucket.format("small"))
    place.write("checkpoint/chain=0/block=0", b"x" * 100_000)
    told = [line for line in requests.read_text().splitlines() if "/runs/small/checkpoint" in line]
    assert len(told) == 1, told
    assert '"PUT ' in told[0]


def test_of_many_who_claim_in_a_bucket_one_gets_it(bucket, monkeypatch):
    monkeypatch.setattr("raytpnn.storage.places.place.CLAIM_SECONDS", 0.1)
    for attempt in range(3):
        place = Place(bucket.format(f"claimed{attempt}"))
        held, refused, problems = [], [], []

        def claim(uri=place.uri, held=held, refused=refused, problems=problems):
            try:
                held.append(Lease.claim(Place(uri)))
            except RunInUse as problem:
                refused.append(str(problem))
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=claim) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        assert (len(held), len(refused)) == (1, 3)
        assert "test" not in refused[0].replace("raytpnn", "")
        assert place.names("") == ["lease/000001.json"], "claims are gone"
        held[0].release()
        assert place.names("") == []


def test_a_run_in_a_bucket_has_one_owner_and_is_taken_over(bucket):
    uri = bucket.format("owned")
    with pytest.raises(ValueError, match="time limit"):
        fit(uri, time_limit=1e-9)
    place = Place(uri)
    with Lease.claim(place) as lease:
        with pytest.raises(RunInUse, match="worked on by this very process"):
            raytpnn.resume(uri)
        lease.ended.set()
        generation = lease.record.generation + 1
        owner = Process("bob", "node8", "1" * 12, 77, 17)
        assert place.create(
            f"lease/{generation:06}.json", Record(generation, "other", owner, expire=0.5).pack()
        )
        with pytest.raises(LeaseLost, match="taken over by bob"):
            lease.check(look=True)
    # Bob renews nothing, and is followed.
    post = raytpnn.resume(uri)
    assert np.array_equal(post.draws.loglik, fit(None).draws.loglik)


def test_an_upload_that_is_given_up_leaves_nothing(bucket, monkeypatch):
    place = Place(bucket.format("given-up"), patience=0.1)
    original = Place._upload

    def upload(self, source, name):
        original(self, source, name)
        if name.endswith("two"):
            raise OSError("AWS Error SLOW_DOWN during UploadPart operation")

    monkeypatch.setattr(Place, "_upload", upload)

    def fill():
        with place.new_folder() as folder:
            for name in ("one", "two"):
                (folder / name).write_text(name)

    with pytest.raises(OSError, match="SLOW_DOWN"):
        fill()
    assert place.names("") == []


def test_a_claim_of_somebody_who_was_killed_does_not_hold_up_others(bucket, monkeypatch):
    monkeypatch.setattr("raytpnn.storage.places.place.CLAIM_SECONDS", 0.1)
    monkeypatch.setattr("raytpnn.storage.places.place.STALE_CLAIM_SECONDS", 0.5)
    place = Place(bucket.format("stale"))
    place.write("lease/000001.json.claim-0123", b"")
    assert place.create("lease/000001.json", b"mine")
    assert place.names("") == ["lease/000001.json"]


def test_a_file_in_a_bucket_that_is_too_large_is_not_read(bucket, monkeypatch):
    place = Place(bucket.format("large"))
    place.write("checkpoint/chain=0/block=0", b"x" * 1000)
    assert place.read("checkpoint/chain=0/block=0") == b"x" * 1000
    monkeypatch.setattr("raytpnn.storage.places.place.MOST_BYTES", 999)
    with pytest.raises(raytpnn.RunError, match=r"large/checkpoint/chain=0/block=0 has more than 999 bytes"):
        place.read("checkpoint/chain=0/block=0")
    with pytest.raises(FileNotFoundError):
        place.read("checkpoint/chain=0/block=1")
