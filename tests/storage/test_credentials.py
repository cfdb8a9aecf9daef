"""Credentials in a URI are used, and never printed or stored."""

from __future__ import annotations

import json

import pytest
from support.cli_cases import call, frame
from support.ray_cases import local_ray
from support.run_cases import fit

import raytpnn
from raytpnn.storage.places.fetch import local_copy
from raytpnn.storage.places.place import Place
from raytpnn.storage.places.uris import shown

USER, SECRET, MORE = "AKIAVISIBLE", "s3cr3tVISIBLE", "t0kenVISIBLE"
VISIBLE = "VISIBLE"
QUICK = ("--executor", "threads", "--chains", "2", "--warmup", "60", "--draws", "60")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run/one", "run/one"),
        ("/data/what?.csv", "/data/what?.csv"),
        ("s3://bucket/run", "s3://bucket/run"),
        (f"s3://{USER}:{SECRET}@bucket/run?region=x&session_token={MORE}", "s3://bucket/run"),
        (f"s3://{USER}:a/b{SECRET}@bucket/run", "s3://bucket/run"),
        ("gs://bucket/a@b/c", "gs://bucket/a@b/c"),
        (f"https://x/y?sig={MORE}#{MORE}", "https://x/y"),
        (f"cannot read 's3://{USER}:{SECRET}@b/x?k={MORE}': no", "cannot read 's3://b/x': no"),
    ],
)
def test_what_is_shown_of_a_uri(text, expected):
    assert shown(text) == expected


def test_what_is_kept_of_a_uri_to_be_used_again():
    uri = f"s3://{USER}:{SECRET}@b/x?region=eu&access_key={MORE}&endpoint_override=h%3A1"
    assert shown(uri, to_use=True) == "s3://b/x?region=eu&endpoint_override=h%3A1"
    assert shown(f"s3://b/x?k={MORE}", to_use=True) == "s3://b/x"


@pytest.fixture
def secret(bucket, tmp_path, monkeypatch):
    """URI of a file or folder in the bucket, with credentials in all places where they can be."""
    monkeypatch.setenv("RAYTPNN_CACHE_DIR", str(tmp_path / "cache"))
    _, _, rest = bucket.partition("@")
    return lambda name: f"s3://{USER}:{SECRET}@{rest.format(name)}"


def check(done, code=0):
    """A command ended as it should, and told nothing."""
    assert done.returncode == code, done.stdout + done.stderr
    assert VISIBLE not in done.stdout
    assert VISIBLE not in done.stderr
    return done


def check_files(place):
    """Nothing is in the files of a folder, nor in their names."""
    names = place.names("")
    assert names
    for name in names:
        assert VISIBLE not in name
        assert VISIBLE.encode() not in place.read(name), name


def test_no_command_prints_or_stores_credentials(secret, tmp_path):
    frame(60).to_csv(tmp_path / "homes.csv", index=False)
    Place(secret("data")).upload(tmp_path / "homes.csv", "homes.csv")
    data, run = secret("data/homes.csv"), secret("shown")
    line = ("fit", data, "--target", "price", "--drop", "id", "--out", run)
    told = check(call(*line, *QUICK))
    assert "reading s3://runs/data/homes.csv" in told.stderr
    assert "raytpnn report s3://runs/shown" in told.stdout
    place = Place(run)
    assert json.loads(place.read("command.json"))["data"] == "homes.csv"
    assert "holds a run already" in check(call(*line, *QUICK), 1).stderr
    check(call("resume", run, "--draws", 80, "--executor", "threads"))
    check(call("watch", run, "--once"))
    check(call("watch", run, "--json"))
    assert call("diagnose", run).returncode in (0, 3)
    assert VISIBLE not in call("diagnose", run).stdout + call("diagnose", run, "--json").stderr
    check(call("predict", run, tmp_path / "homes.csv", "--out", tmp_path / "p.csv"))
    check(call("report", run, "--out", tmp_path / "report.html"))
    check(call("genes", run, "--out", tmp_path / "genes.csv"))
    check(call("report", run), 2)
    for wrong in (
        ("fit", secret("data/none.csv"), "--target", "price", "--out", secret("none")),
        ("fit", data, "--target", "nothing", "--out", secret("none")),
        ("fit", data, "--target", "price", "--drop", "nothing", "--out", secret("none")),
        ("fit", data, "--target", "price", "--layer", "x", "--out", secret("none")),
        ("fit", data.replace("s3:", "ftp:"), "--target", "price", "--out", secret("none")),
        ("fit", data, "--target", "price", "--out", run.replace("s3:", "ftp:")),
        *((command, secret("none")) for command in ("resume", "diagnose", "genes")),
    ):
        check(call(*wrong), 1)
    check_files(place)
    check_files(Place(tmp_path))
    with pytest.raises(raytpnn.RunError) as problem:
        raytpnn.load(secret("none"))
    assert VISIBLE not in str(problem.value)
    assert VISIBLE not in str(local_copy(data))


def test_tune_writes_no_credentials(secret, tmp_path):
    frame(60).to_csv(tmp_path / "homes.csv", index=False)
    Place(secret("data")).upload(tmp_path / "homes.csv", "homes.csv")
    data, out = secret("data/homes.csv"), secret("search")
    line = ("tune", data, "--target", "price", "--drop", "id", "--out", out, "--folds", 2)
    with local_ray(2):
        done = check(call(*line, "--chains", 1, "--warmup", 60, "--draws", 60, "--vary", "K_max=30"))
    assert "--config s3://runs/search/tune.toml" in done.stdout
    text = Place(out).read("tune.toml").decode()
    assert 'data = "s3://runs/data/homes.csv?scheme=http&region=us-east-1&endpoint_override=' in text
    assert "without its credentials" in done.stderr
    check_files(Place(out))


def test_the_log_of_a_run_that_fails_holds_no_credentials(secret, monkeypatch):
    run = secret("failed")

    def fail(self, *arguments):
        raise OSError(f"cannot write to {run}")

    monkeypatch.setattr("raytpnn.chains.run.store.DiskStore.put", fail)
    with pytest.raises(raytpnn.RunError, match="has stopped: cannot write") as told:
        fit(run)
    assert VISIBLE not in str(told.value)
    check_files(Place(run))


def test_an_estimator_that_is_shown_does_not_show_them():
    uri = f"s3://{USER}:{SECRET}@b/x?region=eu&session_token={MORE}"
    model = raytpnn.BayesianTPNNRegressor(chains=2, out=uri)
    bundle = model._repr_mimebundle_()
    for text in (repr(model), str(model), model._repr_html_(), *bundle.values()):
        assert VISIBLE not in text
        assert "s3://b/x" in text
    assert repr(model) == "BayesianTPNNRegressor(chains=2, out='s3://b/x')"
    assert model.get_params()["out"] == uri
    assert model.out == uri
    assert repr(raytpnn.BayesianTPNNClassifier(chains=2)) == "BayesianTPNNClassifier(chains=2)"
