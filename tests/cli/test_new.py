"""`raytpnn new`, and the examples of the help pages."""

import shlex
import tomllib

import pytest
from typer.testing import CliRunner

from raytpnn.cli import EXAMPLES, app
from raytpnn.cli.inputs.config import read_config


def test_new_writes_a_config_that_fit_reads(tmp_path):
    path = tmp_path / "fit.toml"
    result = CliRunner().invoke(app, ["new", str(path), "--data", "homes.csv", "--target", 'the "price"'])
    assert result.exit_code == 0, result.output
    config = read_config(str(path))
    assert config["data"] == "homes.csv"
    assert config["target"] == 'the "price"'
    again = CliRunner().invoke(app, ["new", str(path)])
    assert again.exit_code == 1


def test_what_is_commented_out_can_be_read_too(tmp_path):
    path = tmp_path / "fit.toml"
    CliRunner().invoke(app, ["new", str(path)])
    lines = path.read_text().splitlines()
    taken = [
        line[2:] if line.startswith("# ") and (" = " in line or line.startswith("# [")) else line
        for line in lines
    ]
    path.write_text("\n".join(taken))
    assert set(tomllib.loads(path.read_text())) >= {"family", "chains", "prior", "tempering", "cv"}
    read_config(str(path))


@pytest.mark.parametrize("command", EXAMPLES, ids=lambda command: command.__name__)
def test_every_help_page_has_an_example(command):
    words = shlex.split(EXAMPLES[command])
    assert words[:2] == ["raytpnn", command.__name__]
    result = CliRunner().invoke(app, [command.__name__, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert EXAMPLES[command] in " ".join(result.output.split())


def test_version():
    import raytpnn

    assert CliRunner().invoke(app, ["--version"]).output.strip() == f"raytpnn {raytpnn.__version__}"
