"""The command line: help, wrong use, errors in one line, `demo` and `doctor`."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from support.cli_cases import call, frame, run, write

from raytpnn.cli.machine.facts import masked


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(frame(40), tmp_path_factory.mktemp("data") / "homes.csv")


def test_demo_shows_progress_convergence_score_and_components():
    result = run("demo", "--chains", "2", "--warmup", "150", "--draws", "100")
    assert result.returncode == 0, result.stderr
    assert "sampling: 250 sweeps" in result.stderr
    for text in ("R-hat", "held-out RMSE", "Leading effects", "bmi"):
        assert text in result.stdout


def test_help_names_every_command():
    shown = run("--help").stdout
    for command in ("tune", "fit", "resume", "diagnose", "predict", "report", "doctor", "demo"):
        assert command in shown
        assert call(command, "--help").returncode == 0


def test_nothing_heavy_is_imported_before_a_command_runs():
    code = "import sys, raytpnn.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "raytpnn.cli.commands.fit" in loaded
    assert not loaded & {"numpy", "numba", "pandas", "pyarrow", "ray", "scipy", "sklearn", "arviz_stats"}


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("demo", "--chains", "0"), "chains"),
        (("fit",), "DATA"),
        (("fit", "x.csv", "--out", "run"), "--target"),
        (("fit", "x.csv", "--target", "y"), "--out"),
        (("fit", "x.csv", "--target", "y", "--out", "run", "--draws", "many"), "draws"),
        (("predict", "run", "x.csv", "--out", "y.xlsx"), ".parquet"),
        (("predict", "run", "x.csv", "--out", "y.csv", "--level", "90"), "level"),
        (("report", "s3://bucket/run"), "--out"),
    ],
)
def test_wrong_use_is_exit_code_2(args, named):
    code, _, said = call(*args)
    assert code == 2
    assert named in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "prise"), "has no column 'prise' (--target); did you mean 'price'?"),
        (("--target", "zzz"), "there are 'id', 'size', 'kind', 'age', 'price' and 4 more"),
        (("--target", "price", "--drop", "Kind"), "(--drop); did you mean 'kind'?"),
        (("--target", "price", "--weights", "price"), "'price' cannot be both --target and --sample-weight"),
        (("--target", "price", "--drop", "price"), "'price' cannot be both --target and --drop"),
        (("--target", "kind", "--family", "poisson"), "family 'poisson' needs numbers"),
        (("--target", "sold", "--family", "gaussian"), "target 'sold' cannot be used: y holds the text"),
        (("--target", "age"), "target 'age' cannot be used: y is missing in row 0"),
        (("--target", "price", "--family", "normal"), "normal"),
        (("--target", "price", "--positive", "high"), "--positive high names a class"),
        (("--target", "sold", "--positive", "maybe"), "no class of target 'sold': these are 'no' and 'yes'"),
        (("--target", "price", "--weights", "kind"), "sample_weight"),
        (("--target", "price", "--executor", "mpi"), "unknown executor 'mpi'"),
        (("--target", "price", "--executor", "threads", "--gpus", "1"), "--gpus 1 is asked of Ray"),
        (("--target", "price", "--executor", "threads", "--address", "a:1"), "a:1"),
        (
            ("--target", "price", "--target-rhat", "0.9", "--executor", "threads"),
            "target_rhat must be above 1",
        ),
        (("--target", "price", "--address", "localhost:1"), "no Ray cluster at localhost:1"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_1(data, tmp_path, options, message):
    code, _, said = call("fit", data, "--out", tmp_path / "run", *options)
    assert code == 1, said
    assert said.splitlines()[-1].startswith("error: ")
    assert message in said.splitlines()[-1]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "no file"),
        ("data.xlsx", b"PK", "has an unknown ending"),
        ("bad.parquet", b"not parquet", "cannot read"),
        ("bad.feather", b"not arrow", "cannot read"),
        ("empty.csv", b"", "is empty"),
        ("long.csv", b"a,y\n1,2\n3,4,5\n6,7\n", "line 3: it has 3 values for 2 columns"),
    ],
)
def test_unreadable_files_are_named(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    code, _, said = call("fit", tmp_path / name, "--target", "y", "--out", tmp_path / "run")
    assert code == 1
    assert message in said
    assert name in said


def test_what_exists_is_not_overwritten(data, tmp_path):
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "letter.txt").write_text("dear")
    code, _, said = call("fit", data, "--target", "price", "--out", taken)
    assert code == 1
    assert "choose another --out" in said
    (taken / "manifest.json").write_text("{}")
    code, _, said = call("fit", data, "--target", "price", "--out", taken)
    assert f"raytpnn resume {taken}" in said
    code, _, said = call("predict", taken, data, "--out", data)
    assert code == 1
    assert "is the file to read" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chians = 4", "unknown key 'chians'; did you mean 'chains'?"),
        ("max-bins = 9", "unknown key 'max-bins'; did you mean 'max_bins'? (with _ for -)"),
        ('draws = "many"', "draws must be a whole number, got 'many'"),
        ("draws = true", "draws must be a whole number, got True"),
        ("draws = 10.5", "draws must be a whole number, got 10.5"),
        ("target_rhat = [1]", "target_rhat must be a number"),
        ("drop = [1, 2]", "drop must be a list of texts"),
        ("prior = 3", "prior must be a table"),
        ("[prior]\nKmax = 9", "[prior] has no setting 'Kmax'; did you mean 'K_max'?"),
        ("[tempering]\nreplica = 4", "[tempering] has no setting 'replica'; did you mean 'replicas'?"),
        ("[moves]\nstep = 9", "[moves] has no setting 'step'"),
        ("[prior]\nK_max = 0", "Prior.K_max must be a whole number from 1 on"),
        ("chains = 0", "chains must be a whole number, 1 or more"),
        ("draws = ", "is not TOML"),
    ],
)
def test_mistakes_in_the_config_file_are_named(data, tmp_path, text, message):
    (tmp_path / "fit.toml").write_text(text)
    code, _, said = call(
        *("fit", data, "--target", "price", "--out", tmp_path / "run", "--executor", "threads"),
        *("--config", tmp_path / "fit.toml"),
    )
    assert code == 1
    assert message in said.splitlines()[-1]


@pytest.mark.parametrize("command", ["resume", "diagnose", "report"])
def test_a_folder_that_is_no_run(tmp_path, command):
    code, _, said = call(command, tmp_path / "nothing")
    assert code == 1
    assert "nothing is not a saved run" in said.splitlines()[-1]


def test_errors_are_one_line_unless_all_of_it_is_asked_for(tmp_path):
    short = run("diagnose", tmp_path)
    assert short.returncode == 1
    assert short.stderr.startswith("error: ")
    assert len(short.stderr.splitlines()) == 1
    long = run("diagnose", tmp_path, RAYTPNN_DEBUG="1")
    assert long.returncode == 1
    assert "Traceback" in long.stderr


def test_doctor_reports_for_people_and_programs():
    told = run("doctor", RAYTPNN_SECRET_TOKEN="abc123", RAYTPNN_CACHE_DIR="s3://me:pw@bucket/x?key=abc123")
    assert told.returncode == 0, told.stderr
    for text in (
        "python",
        "numba",
        "llvmlite",
        "ray",
        "nvidia-smi",
        "cache",
        "it has not yet been run on a GPU",
        "RAYTPNN_SECRET_TOKEN",
    ):
        assert text in told.stdout
    assert "abc123" not in told.stdout
    assert "pw@" not in told.stdout
    facts = json.loads(run("doctor", "--json").stdout)
    assert {"system", "packages", "compiled code", "ray", "gpu", "environment"} == set(facts)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("RAY_AUTH_TOKEN", "abc", "(set, not shown)"),
        ("RAYTPNN_DATA", "s3://user:pw@host/x?sig=abc&y=1 z", "s3://host/x z"),
        ("RAY_ADDRESS", "ray://head:10001", "ray://head:10001"),
        ("NUMBA_NUM_THREADS", "2", "2"),
    ],
)
def test_secrets_are_masked(name, value, shown):
    assert masked(name, value) == shown


def test_chains_fit_a_terminal_of_80_columns():
    from rich.console import Console

    from raytpnn.cli.commands.diagnose import chain_table
    from raytpnn.cli.screen.health import ChainSummary, Health
    from raytpnn.convergence.advice import Judgement
    from raytpnn.convergence.odd_chains import OddChain
    from raytpnn.engine.records import MOVE_NAMES

    chains = [
        ChainSummary(i, 90_000, 80_000, -1234.56, 31.4, dict.fromkeys(MOVE_NAMES, 0.5)) for i in range(12)
    ]
    judgement = Judgement("no", "No", [OddChain(11, "stuck", "it does not move")], [])
    health = Health("finished", 9, 9, judgement, None, chains, 80_000, None, None)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(chain_table(health))
    shown = console.export_text().splitlines()
    assert len(shown) == 13
    assert "\u2026" not in "".join(shown), shown
    assert shown[-1].split()[:4] == ["11", "stuck", "80,000", "-1,234.6"]
