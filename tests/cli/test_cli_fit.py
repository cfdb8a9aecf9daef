"""`raytpnn fit` and what follows from it: `diagnose`, `predict`, `report`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from support.cli_cases import SHORT, call, draws_of, frame, run, write

import raytpnn

DROPPED = [option for name in ("id", "sold", "visits", "exposure", "weight") for option in ("--drop", name)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def price(folder):
    """A gaussian fit of a CSV file; the config file is overridden by a flag."""
    data = write(frame(), folder / "homes.csv")
    config = folder / "fit.toml"
    config.write_text(
        'target = "price"\nchains = 2\nwarmup = 60\ndraws = 999\nexecutor = "threads"\n'
        f"drop = {['id', 'sold', 'visits', 'exposure', 'weight']!r}\n[prior]\nK_max = 20\n[moves]\nM = 4\n"
    )
    done = run("fit", data, "--config", config, "--out", folder / "price", "--draws", "60")
    return folder / "price", data, done


@pytest.fixture(scope="module")
def sold(folder):
    """Two classes from Parquet, with weights and the class turned round."""
    data = write(frame(), folder / "homes.parquet")
    out = folder / "sold"
    drop = [option for name in ("id", "price", "visits", "exposure") for option in ("--drop", name)]
    done = run(
        "fit",
        data,
        "--target",
        "sold",
        "--positive",
        "no",
        "--weights",
        "weight",
        *drop,
        *SHORT,
        "--out",
        out,
    )
    return out, data, done


@pytest.fixture(scope="module")
def visits(folder):
    """Counts with exposure from TSV."""
    data = write(frame(), folder / "homes.tsv")
    out = folder / "visits"
    drop = [option for name in ("id", "price", "sold", "weight") for option in ("--drop", name)]
    done = run("fit", data, "--target", "visits", "--offset", "exposure", *drop, *SHORT, "--out", out)
    return out, data, done


def test_fit_says_what_it_does_and_what_came_of_it(price):
    out, data, done = price
    assert done.returncode == 0, done.stderr
    assert f"reading {data}" in done.stderr.splitlines()[0], "something is said before anything is done"
    assert "family gaussian: numbers" in done.stderr
    assert "120 rows, 3 columns to predict 'price' by" in done.stderr
    assert "sampling: 120 sweeps per chain, 60 of them warm-up" in done.stderr
    for text in ("Did it converge?", "Leading effects", "size", f"raytpnn report {out}"):
        assert text in done.stdout


def test_flags_override_the_config_file(price):
    config = raytpnn.load(price[0]).config
    assert (config["chains"], config["warmup"], config["draws"]) == (2, 60, 60)
    assert (config["prior"]["K_max"], config["moves"]["M"], config["executor"]) == (20, 4, "threads")
    assert config["target_name"] == "price", "known wherever the run is loaded"


def test_draws_are_those_of_the_library(price, folder):
    table = frame()
    raytpnn.sample(
        table[["size", "kind", "age"]],
        table["price"],
        chains=2,
        warmup=60,
        draws=60,
        prior=raytpnn.Prior(K_max=20),
        moves=raytpnn.Moves(M=4),
        out=folder / "library",
    )
    assert draws_of(price[0]) == draws_of(folder / "library")


def test_positive_class_and_weights(sold):
    out, _, done = sold
    assert done.returncode == 0, done.stderr
    assert "family bernoulli: it has two values, 'no' and 'yes'" in done.stderr
    assert "modelling the probability of sold = no" in done.stderr
    post = raytpnn.load(out)
    assert post.classes == ("yes", "no")
    assert np.array_equal(post.y, frame()["sold"] == "no")
    assert np.array_equal(post.weight, frame()["weight"])


def test_counts_are_guessed_and_have_their_exposure(visits):
    out, _, done = visits
    assert done.returncode == 0, done.stderr
    assert "family poisson: whole numbers from 0 on" in done.stderr
    assert np.allclose(raytpnn.load(out).offset, frame()["exposure"])


@pytest.mark.parametrize("given", [".csv", ".parquet"])
def test_several_classes_are_guessed_and_predicted(folder, given):
    data = write(frame(60), folder / f"several{given}")
    out, predicted = folder / f"several{given[1:]}", folder / "several_out.csv"
    drop = [option for name in ("id", "price", "sold", "visits", "exposure") for option in ("--drop", name)]
    done = run("fit", data, "--target", "kind", *drop, *SHORT, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "family multinomial: it is text with 3 levels, 'ash', 'elm', 'oak'" in done.stderr
    assert "modelling the probabilities of 3 classes: ash, elm, oak" in done.stderr
    done = run("predict", out, data, "--out", predicted, "--keep", "id", "--level", "0.5")
    assert done.returncode == 0, done.stderr
    got, post = pd.read_csv(predicted), raytpnn.load(out)
    kinds = ("probability", "low", "high")
    assert list(got.columns) == ["id", *(f"{k}_{c}" for c in post.classes for k in kinds), "class"]
    expected, ends = post.predict(frame(60)), post.interval(frame(60), 0.5)
    for c, label in enumerate(post.classes):
        np.testing.assert_allclose(got[f"probability_{label}"], expected[:, c])
        np.testing.assert_allclose(got[[f"low_{label}", f"high_{label}"]], ends[:, c])
    assert list(got["class"]) == [post.classes[c] for c in expected.argmax(axis=1)]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("given", [".csv", ".feather", ".parquet"])
def test_predictions_are_those_of_the_library(price, folder, given, ending):
    new = frame(30, seed=1)
    data = write(new, folder / f"new{given}")
    out = folder / f"predicted_{given[1:]}{ending}"
    done = call("predict", price[0], data, "--out", out, "--level", "0.8", "--keep", "id", "--keep", "kind")
    assert (done.returncode, done.stdout.strip()) == (0, str(out)), done.stderr
    reader = {".csv": pd.read_csv, ".tsv": lambda path: pd.read_csv(path, sep="\t")}
    got = reader.get(ending, pd.read_parquet)(out)
    assert list(got.columns) == ["id", "kind", "mean", "low", "high"]
    post = raytpnn.load(price[0])
    np.testing.assert_allclose(got["mean"], post.predict(new))
    np.testing.assert_allclose(got[["low", "high"]], post.interval(new, level=0.8), rtol=1e-9)
    assert list(got["kind"]) == list(new["kind"])
    assert not list(folder.glob(".*")), "nothing is left beside"


@pytest.mark.parametrize("given", [".csv", ".parquet"])
def test_classes_are_predicted_with_probabilities(sold, folder, given):
    data = write(frame(30, seed=1), folder / f"classes{given}")
    done = run("predict", sold[0], data, "--out", folder / "classes_out.csv", "--keep", "id")
    assert done.returncode == 0, done.stderr
    got = pd.read_csv(folder / "classes_out.csv")
    named = ["probability_yes", "probability_no", "probability_no_low", "probability_no_high"]
    assert list(got.columns) == ["id", *named, "class"]
    assert np.all(got["probability_no_low"] <= got["probability_no_high"])
    expected = raytpnn.load(sold[0]).predict(frame(30, seed=1))
    np.testing.assert_allclose(got["probability_no"], expected)
    np.testing.assert_allclose(got["probability_yes"], 1.0 - expected)
    assert list(got["class"]) == ["no" if p > 0.5 else "yes" for p in expected]


@pytest.mark.parametrize("given", [".csv", ".parquet"])
def test_the_offset_of_the_fit_is_found_in_new_data(visits, folder, given):
    new = frame(30, seed=1)
    data = write(new, folder / f"counts{given}")
    out = folder / "counts_out.parquet"
    post = raytpnn.load(visits[0])
    for flags, expected in (
        ((), post.predict(new, offset=new["exposure"])),
        (("--no-offset",), post.predict(new)),
        (("--offset", "size"), post.predict(new, offset=new["size"])),
    ):
        done = call("predict", visits[0], data, "--out", out, *flags)
        assert done.returncode == 0, done.stderr
        np.testing.assert_allclose(pd.read_parquet(out)["mean"], expected)
        assert ("as offset" in done.stderr) is (flags != ("--no-offset",))
    lacking = write(new.drop(columns="exposure"), folder / f"lacking{given}")
    done = call("predict", visits[0], lacking, "--out", out)
    assert done.returncode == 1
    assert "exposure" in done.stderr.splitlines()[-1]


def test_diagnose_tells_people_and_programs(price):
    done = run("diagnose", price[0])
    assert done.returncode == 3, "120 sweeps are not enough for R-hat 1.01"
    for text in ("This is a finished run", "Did it converge?", "What to do:", "R-hat", "Langevin"):
        assert text in done.stdout
    told = json.loads(call("diagnose", price[0], "--json").stdout)
    assert (told["state"], told["converged"], told["blocks"]) == ("finished", False, 4)
    assert [chain["draws"] for chain in told["chains"]] == [60, 60]
    post = raytpnn.load(price[0])
    table = post.diagnostics().set_index("quantity")
    for row in told["quantities"]:
        if not row["quantity"].startswith("importance"):
            assert row["rhat"] == pytest.approx(table.loc[row["quantity"], "rhat"], abs=0.01)
    means = post.scalars().groupby("chain")["loglik"].mean()
    assert [chain["loglik"] for chain in told["chains"]] == pytest.approx(list(means))


def test_a_target_that_is_missed_is_exit_code_3_and_one_that_is_met_0(price, folder):
    missed = call(
        "fit",
        price[1],
        "--target",
        "price",
        *DROPPED,
        *SHORT,
        "--target-rhat",
        "1.0001",
        "--out",
        folder / "missed",
    )
    assert missed.returncode == 3, missed.stderr
    assert "No, by the target of R-hat 1.0001" in missed.stdout
    assert call("diagnose", folder / "missed").returncode == 3
    lenient = ("--target-rhat", "99", "--target-ess", "1")
    told = call("diagnose", folder / "missed", *lenient)
    assert told.returncode == 3, "R-hat is not trusted with so few effective draws"
    assert "is not to be trusted" in told.stdout
    met = call("diagnose", folder / "missed", "--target-ess", "1")
    assert met.returncode == 0, met.stdout
    again = call("resume", folder / "missed", "--target-ess", "1")
    assert again.returncode == 0, again.stderr
    assert "target: 1 effective draws" in again.stderr
    assert call("diagnose", folder / "missed").returncode == 0, "the run remembers its new target"


def test_a_run_that_its_target_ended_is_judged_by_the_draws_that_count(price, folder):
    out = folder / "early"
    length = ("--executor", "threads", "--chains", "2", "--warmup", "60", "--draws", "440")
    assert call("fit", price[1], "--target", "price", *DROPPED, *length, "--out", out).returncode == 0
    # The first round is enough for this target, and there are four more.
    ended = call("resume", out, "--draws", "5000", "--target-ess", "2")
    assert ended.returncode == 0, ended.stderr
    post = raytpnn.load(out)
    assert post.config["stopped"] == "target"
    assert post.draws.n_draws < 2 * 440
    told = json.loads(call("diagnose", out, "--json").stdout)
    assert told["converged"]
    assert told["draws_compared"] == post.draws.n_draws // 2
    assert call("resume", out).returncode == 0
    assert raytpnn.load(out).draws.n_draws == post.draws.n_draws, "the target is met as before"
    longer = call("resume", out, "--no-target", "--time-limit", "0.01")
    assert longer.returncode == 0, longer.stderr
    assert "target" not in longer.stderr.splitlines()[1]
    assert raytpnn.load(out).draws.n_draws >= 2 * 440


@pytest.mark.parametrize("flags", [("--replicas", "3"), ("--feature-weights", "adaptive")])
def test_options_of_the_sampler_arrive(price, folder, flags):
    out = folder / flags[0][2:]
    done = call("fit", price[1], "--target", "price", *DROPPED, *SHORT, *flags, "--out", out)
    assert done.returncode == 0, done.stderr
    config = raytpnn.load(out).config
    assert (config["tempering"] is not None) is (flags[0] == "--replicas")
    assert config["feature_weights"] == ("adaptive" if flags[0] == "--feature-weights" else "auto")


def test_report_of_a_run(price):
    done = call("report", price[0])
    assert done.returncode == 0, done.stderr
    assert "<html" in (price[0] / "report.html").read_text()


def test_a_saved_posterior_can_be_diagnosed_too(price, folder):
    raytpnn.load(price[0]).save(folder / "saved")
    of_run = json.loads(call("diagnose", price[0], "--json").stdout)
    saved = json.loads(call("diagnose", folder / "saved", "--json").stdout)
    assert saved["state"] == "saved"
    assert [chain["accepted"] for chain in saved["chains"]] == [c["accepted"] for c in of_run["chains"]]
    rhat = {row["quantity"]: row["rhat"] for row in of_run["quantities"]}
    for row in saved["quantities"]:
        if not row["quantity"].startswith("importance"):
            assert row["rhat"] == pytest.approx(rhat[row["quantity"]], abs=0.01)
    assert not any("resume" in advice for advice in saved["advice"]), "it cannot be gone on with"


def test_the_default_executor_is_a_ray_of_its_own_with_the_same_draws(price, folder):
    """Starts Ray on this machine, which takes some seconds."""
    out = folder / "on_ray"
    options = ("--chains", "2", "--warmup", "60", "--draws", "60")
    config = folder / "ray.toml"
    config.write_text("[prior]\nK_max = 20\n[moves]\nM = 4\n")
    done = run("fit", price[1], "--target", "price", *DROPPED, *options, "--config", config, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "starting Ray on this machine" in done.stderr
    assert raytpnn.load(out).config["executor"] == "ray"
    assert draws_of(out) == draws_of(price[0])
