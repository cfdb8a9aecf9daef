"""One place for an option: what is added to the definition is everywhere, and wrong values show early."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import clone
from support.cli_cases import call
from typer.testing import CliRunner

import raytpnn
from raytpnn.cli import app
from raytpnn.options.definition import PANELS, REGRESSOR, SAMPLE, ChainOptions
from raytpnn.options.option import OptionSet

ROOT = Path(__file__).parents[2]
MADE_UP = """    wobble: Annotated[
        float, Option(0.25, "How much a made-up option wobbles.", panel=LENGTH, above=0.0)
    ]
    chains: Annotated"""
LOOK = """
import inspect, json, sys
import raytpnn
from typer.testing import CliRunner
from raytpnn.cli import app
from raytpnn.cli.inputs.config import read_config
from raytpnn.options.definition import SAMPLE
model = raytpnn.BayesianTPNNRegressor(wobble=2.0)
print(json.dumps({
    "signature": {f.__name__: f.__module__ + str(inspect.signature(f).parameters.get("wobble"))
                  for f in (raytpnn.sample, raytpnn.cross_validate, raytpnn.tune)},
    "doc": raytpnn.sample.__doc__,
    "estimator": [model.get_params()["wobble"], raytpnn.BayesianTPNNClassifier().get_params()["wobble"]],
    "help": {name: CliRunner(env={"COLUMNS": "200"}).invoke(app, [name, "--help"]).stdout
             for name in ("fit", "tune", "resume")},
    "config": read_config(sys.argv[1]),
    "saved": SAMPLE.saved(SAMPLE.filled({"wobble": 3.5}, "sample"))["wobble"],
}))
"""


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """The package with one more option, added in one place."""
    root = tmp_path_factory.mktemp("added")
    shutil.copytree(ROOT / "raytpnn", root / "raytpnn", ignore=shutil.ignore_patterns("__pycache__"))
    definition = root / "raytpnn" / "options" / "definition.py"
    text = definition.read_text()
    first = text.index("    chains: Annotated", text.index("class ChainOptions"))
    definition.write_text(text[:first] + MADE_UP + text[first + len("    chains: Annotated") :])
    config = root / "fit.toml"
    config.write_text("wobble = 0.75\n")
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(config)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(root)},
        cwd=root,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_added_option_is_in_signatures_and_docstrings(added):
    for text in added["signature"].values():
        assert text.endswith("wobble: float = 0.25"), text
    assert "wobble : float, default 0.25\n    How much a made-up option wobbles." in added["doc"]


def test_an_added_option_is_a_parameter_of_the_estimators(added):
    assert added["estimator"] == [2.0, 0.25]


def test_an_added_option_is_a_flag_a_key_and_a_saved_setting(added):
    assert "--wobble" in added["help"]["fit"]
    assert "How much a made-up option wobbles. Default: 0.25." in added["help"]["fit"]
    assert "--wobble" in added["help"]["tune"]
    assert "--wobble" not in added["help"]["resume"], "it is an option of fits"
    assert added["config"] == {"wobble": 0.75}
    assert added["saved"] == 3.5


def test_the_package_itself_has_no_such_option():
    with pytest.raises(TypeError, match=r"sample\(\) got an unexpected keyword argument 'wobble'"):
        raytpnn.sample([[1.0]], [1.0], wobble=1.0)
    with pytest.raises(TypeError, match="'chians'; did you mean 'chains'"):
        raytpnn.BayesianTPNNRegressor(chians=1)


def test_everything_after_y_is_given_by_keyword():
    parameters = list(inspect.signature(raytpnn.sample).parameters.values())
    assert [parameter.name for parameter in parameters[:2]] == ["X", "y"]
    assert {parameter.kind for parameter in parameters[2:]} == {inspect.Parameter.KEYWORD_ONLY}
    assert {parameter.name: parameter.default for parameter in parameters[2:]} == {
        name: option.default for name, option in SAMPLE.options.items()
    }
    with pytest.raises(TypeError, match="positional"):
        raytpnn.sample([[1.0]], [1.0], "gaussian")


def test_every_option_of_the_contract_is_there():
    contract = {
        *(
            "family",
            "chains",
            "warmup",
            "draws",
            "thin",
            "seed",
            "prior",
            "moves",
            "feature_weights",
            "max_bins",
            "backend",
            "executor",
            "address",
            "tempering",
            "minibatch",
            "delayed_acceptance",
            "shards",
            "sample_weight",
            "offset",
            "out",
            "progress",
            "target_rhat",
            "target_ess",
            "time_limit",
        ),
    }
    assert contract <= set(SAMPLE.options)
    document = raytpnn.sample.__doc__
    for name, option in SAMPLE.options.items():
        assert f"\n{name} : {option.words()}\n" in document
        assert option.help[-1] == "."
    assert "**options" not in document
    assert "\nReturns\n-------\nPosterior\n" in document


def test_estimators_keep_scikit_learns_rules():
    model = raytpnn.BayesianTPNNRegressor(
        prior=raytpnn.Prior(K_max=7), tempering=raytpnn.Tempering(3), thin=2
    )
    assert set(model.get_params(deep=False)) == set(REGRESSOR.options)
    assert "family" not in raytpnn.BayesianTPNNClassifier().get_params()
    same = clone(model)
    assert same.get_params() == model.get_params()
    assert same.set_params(draws=3).draws == 3
    assert "random_state : int" in type(model).__doc__


def test_a_default_that_an_entry_point_has_alone():
    shorter = OptionSet(ChainOptions, PANELS, chains=2)
    assert shorter.filled({}, "f")["chains"] == 2
    assert SAMPLE.filled({}, "f")["chains"] == 4
    with pytest.raises(TypeError, match="has no option chian"):
        OptionSet(ChainOptions, PANELS, chian=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "normal"}, "unknown family 'normal'; choose one of gaussian"),
        ({"backend": "gpu"}, "unknown backend 'gpu'; choose one of auto"),
        ({"executor": "dask"}, "unknown executor 'dask'; choose one of auto"),
        ({"feature_weights": "magic"}, "unknown feature_weights 'magic'; choose one of uniform, xgboost"),
        ({"chains": 0}, "chains must be a whole number, 1 or more, got 0"),
        ({"chains": True}, "chains must be a whole number, 1 or more, got True"),
        ({"thin": 1.5}, "thin must be a whole number, 1 or more, got 1.5"),
        ({"time_limit": float("nan")}, "time_limit must be above 0, got nan"),
        ({"max_bins": 1}, "max_bins must be a whole number, 2 or more, got 1"),
    ],
)
def test_wrong_values_show_before_data_are_read(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        raytpnn.sample(tmp_path / "none.csv", "y", **options)
    if not {"chains", "thin", "time_limit", "max_bins"} & set(options):
        ((name, value),) = options.items()
        line = ("fit", tmp_path / "none.csv", "--target", "y", "--out", tmp_path / "run")
        for given in (("--" + name.replace("_", "-"), value), ("--config", tmp_path / "fit.toml")):
            (tmp_path / "fit.toml").write_text(f'{name} = "{value}"\n')
            done = call(*line, *given)
            assert done.returncode == 1
            assert message in done.stderr.splitlines()[-1]
            assert "reading" not in done.stderr


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        (("--orientation", "up"), "unknown orientation 'up'; choose one of auto, features, samples"),
        (("--collapse", "all"), "unknown collapse 'all'; choose one of identical, gene"),
    ],
)
def test_choices_of_the_command_line_are_checked_as_early(tmp_path, flag, message):
    line = ("fit", tmp_path / "none.csv", "--target", "y", "--out", tmp_path / "run")
    assert message in call(*line, *flag).stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("fit --family ", ["gaussian", "bernoulli", "poisson"]),
        ("fit --family b", ["bernoulli"]),
        ("fit --backend ", ["auto", "numba", "cuda", "reference"]),
        ("fit --executor t", ["threads"]),
        ("fit --feature-weights a", ["adaptive", "auto"]),
        ("resume --backend n", ["numba"]),
        ("tune --preset paper", ["paper", "paper-full"]),
        ("tune --criterion e", ["evidence"]),
        ("inspect --orientation f", ["features"]),
    ],
)
def test_the_shell_completes_choices(words, offered):
    asked = {
        "_RAYTPNN_COMPLETE": "complete_bash",
        "COMP_WORDS": f"raytpnn {words}",
        "COMP_CWORD": str(len(words.split(" "))),
    }
    done = CliRunner(env=asked).invoke(app, [], prog_name="raytpnn")
    assert set(offered) <= set(done.stdout.split()), done.stdout
    if not words.endswith(" "):
        assert done.stdout.split() == offered


def test_weights_are_called_alike_everywhere(tmp_path):
    shown = call("fit", "--help").stdout
    assert "--sample-weight" in shown
    (tmp_path / "fit.toml").write_text('weights = "w"\n')
    from raytpnn.cli.inputs.config import read_config

    assert read_config(tmp_path / "fit.toml") == {"sample_weight": "w"}
