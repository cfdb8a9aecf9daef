"""Runs on filesystems that are not a disk: an S3 server of our own, with real requests."""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import numpy as np
import pytest
from run_cases import fit

import raytpnn
from raytpnn.storage.checkpoint import draws_name
from raytpnn.storage.place import Place


def free_port():
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


@pytest.fixture(scope="module")
def bucket():
    """URI of a bucket on an S3 server that runs for the time of the tests."""
    pytest.importorskip("moto", reason="an S3 server for tests: pip install 'moto[server]'")
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    limit = time.monotonic() + 60
    while True:
        try:
            urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            break
        except OSError:
            assert server.poll() is None
            assert time.monotonic() < limit, "the S3 server has not come up"
            time.sleep(0.2)
    from pyarrow import fs

    endpoint = f"127.0.0.1:{port}"
    made = fs.S3FileSystem(
        access_key="test",
        secret_key="test",
        endpoint_override=endpoint,
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )
    made.create_dir("runs")
    yield "s3://test:test@runs/{}?scheme=http&region=us-east-1&endpoint_override=" + endpoint.replace(
        ":", "%3A"
    )
    server.terminate()
    server.wait(30)


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
    from raytpnn.chains.lookout import Lookout

    uri = bucket.format("watched")
    fit(uri, chains=2, warmup=100, draws=200)
    place = Place(uri)
    sight = Lookout(place).look()
    assert (sight.state, sight.blocks, sight.done) == ("finished", 6, [300, 300])
    assert sight.convergence.draws == 200
    assert sight.age < 600
    assert len(place.names("log")) >= 1


def test_data_in_a_bucket_can_be_fitted_and_change(bucket, tmp_path, own_cache):
    from pyarrow import fs

    from raytpnn.storage.fetch import local_copy

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
    assert len(list(own_cache.iterdir())) == 2, "a changed file is another one, and nothing is left beside"
    assert local_copy(str(tmp_path)) == tmp_path
    with pytest.raises(ValueError, match="cannot read"):
        local_copy("gopher://old/data.csv")
