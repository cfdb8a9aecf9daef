"""`raytpnn tune` as a user calls it, and `raytpnn fit` with what it wrote."""

from __future__ import annotations

import json
import signal

import pandas as pd
import pytest
from support.cli_cases import PATIENCE_SECONDS, SHORT, call, frame, start, wait_for, wait_until, write
from support.ray_cases import local_ray

import raytpnn
from raytpnn.cli.inputs.config import read_config

QUICK = ("--folds", 2, "--chains", 1, "--warmup", 60, "--draws", 60)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(frame(60), tmp_path_factory.mktemp("data") / "homes.csv")


def test_the_config_that_is_found_is_one_that_fit_takes(data, tmp_path):
    out, run = tmp_path / "search", tmp_path / "run"
    line = ("tune", data, "--target", "sold", "--positive", "no", "--drop", "id", "--out", out, *QUICK)
    # Far apart, so that it is not the base that wins.
    base = tmp_path / "base.toml"
    base.write_text("max_bins = 20\n[prior]\nsigma_beta2 = 1e-9\n[moves]\nM = 2.0\n")
    with local_ray(2):
        done = call(*line, "--config", base, "--vary", "sigma_beta2=0.5,1", "--vary", "K_max=30")
    assert done.returncode == 0, done.stderr
    assert "tune: 3 settings of K_max, sigma_beta2; 2 folds, by nll" in done.stderr
    assert "sigma_beta2" in done.stdout
    assert f"raytpnn fit --config {out}/tune.toml" in done.stdout
    table = pd.read_csv(out / "trials.csv")
    assert table["status"].tolist().count("best") == 1
    assert table["setting"].iloc[0] in (1, 2)
    told = read_config(out / "tune.toml")
    assert told["family"] == "bernoulli"
    assert told["drop"] == ["id"]
    assert told["positive"] == "no"
    assert told["max_bins"] == 20
    assert told["prior"] == {"K_max": 30, "sigma_beta2": table["sigma_beta2"].iloc[0]}
    assert told["moves"] == {"M": 2.0}
    fitted = call("fit", "--config", out / "tune.toml", "--out", run, *SHORT)
    assert fitted.returncode == 0, fitted.stderr
    kept = json.loads((run / "manifest.json").read_text())["config"]
    assert kept["prior"]["K_max"] == 30
    assert kept["prior"]["sigma_beta2"] == table["sigma_beta2"].iloc[0]
    assert kept["moves"]["M"] == 2.0
    assert raytpnn.load(run).classes == ("yes", "no")
    again = call(*line, "--config", base, "--vary", "sigma_beta2=0.5,1", "--vary", "K_max=30")
    assert "6 fits are there already, 0 are left" in again.stderr
    assert "starting Ray" not in again.stderr


def test_wrong_use_on_the_command_line(data, tmp_path):
    out = tmp_path / "search"
    line = ("tune", data, "--out", out)
    missing = call(*line)
    assert missing.returncode == 2
    assert "--target" in missing.stderr
    sold = (*line, "--target", "sold")
    expected = {
        "unknown preset 'papr'; choose one of": ("--preset", "papr"),
        "--vary C0 must be like C0=0.001,0.01": ("--vary", "C0"),
        "--vary C0=a must be like": ("--vary", "C0=a"),
        "give --preset paper or --vary, not both": ("--preset", "paper", "--vary", "C0=1"),
        "neither Prior nor Moves has a setting 'c0'": ("--vary", "c0=1"),
        "unknown criterion 'waic'": ("--criterion", "waic"),
        "family bernoulli has no metric 'rmse'": ("--metric", "rmse"),
    }
    for message, flags in expected.items():
        done = call(*sold, *flags)
        assert done.returncode == 1, (message, done.stderr)
        assert message in done.stderr
    assert "no column 'sld'" in call(*line, "--target", "sld").stderr
    assert not out.exists()
    same = write(frame(60).assign(sold="yes"), tmp_path / "same.csv")
    one = call("tune", same, "--target", "sold", "--out", out)
    assert one.returncode == 1
    assert "1 levels ('yes')" in one.stderr
    out.mkdir()
    (out / "letter.txt").write_text("mine")
    taken = call(*sold, "--vary", "C0=0.1")
    assert "exists and is not empty" in taken.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_says_how_to_go_on(data, tmp_path, number):
    """A Ray of its own, a real signal when the first fits are there; then the rest, with the same table."""
    tables = []
    for cut in (True, False):
        out = tmp_path / str(cut)
        line = ("tune", data, "--target", "price", "--drop", "id", "--out", out, "--preset", "scales", *QUICK)
        if cut:
            process = start(*line)
            wait_for(process, "starting Ray")
            wait_until(lambda out=out: len(list((out / "steps").glob("*.json"))) > 1, "two fits")
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
            assert process.returncode == 130, stderr
            assert "finishing the fits at hand" in stderr
            assert "the same command goes on" in stdout
            assert "Traceback" not in stderr
            kept = {path: path.stat().st_mtime_ns for path in (out / "steps").glob("*.json")}
            assert 1 < len(kept) < 14
        done = call(*line)
        assert done.returncode == 0, done.stderr
        if cut:
            assert f"{len(kept)} fits are there already" in done.stderr
            assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
        tables.append(pd.read_csv(out / "trials.csv").drop(columns="seconds"))
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.slow
def test_expression_data_are_prepared_in_every_fold(real_data, tmp_path):
    out = tmp_path / "search"
    line = (
        "tune",
        real_data / "golub_leukemia_expr.parquet",
        "--samples",
        real_data / "golub_leukemia_samples.csv",
    )
    samples = pd.read_csv(real_data / "golub_leukemia_samples.csv")
    target = next(name for name in samples.columns[1:] if samples[name].nunique() == 2)
    done = call(*line, "--target", target, "--min-sd", 0.1, "--out", out, "--preset", "scales", *QUICK)
    assert done.returncode == 0, done.stderr
    told = read_config(out / "tune.toml")
    assert told["min_sd"] == 0.1
    assert told["samples"].endswith("golub_leukemia_samples.csv")
