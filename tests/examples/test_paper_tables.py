"""Every table of the paper runs on small data and prints what it promises."""

from __future__ import annotations

import importlib

import numpy as np
import pandas as pd
import pytest
from support import paper_cases

from examples.paper import command, concepts, poisson, results, selection
from examples.paper.runner import Case

SMALL = ["--executor", "threads", "--splits", "2", "--chains", "1", "--warmup", "10", "--draws", "10"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("data")
    paper_cases.small_servo(made)
    paper_cases.small_breast(made)
    paper_cases.small_madelon(made)
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    X["y"] = X["a"] + 0.3 * rng.normal(size=80)
    for name in ("abalone", "boston_housing"):
        X.to_csv(made / f"{name}.csv", index=False)
    return made


def run(name, folder, out, *more):
    module = importlib.import_module(f"examples.paper.{name}")
    return command.main(module, ["--data-dir", str(folder), "--out", str(out), *SMALL, *more])


def cells(text, start):
    """Cells of the first row that starts so."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("name", "models", "row", "column"),
    [
        ("terms", ["default moves, C0 = 1", "paper moves, C0 = 1"], "1 |", 3),
        ("gamma_prior", ["b_gamma = 0.01, a_gamma = 2"], "0.01", 3),
        ("step_size", ["0.1", "adapted (default moves)"], "0.1", 2),
        ("trajectory", ["default", "paper"], "10 |", 4),
        ("minibatch", ["all rows"], "Abalone | all rows, default", 3),
        ("runtime", ["default", "paper"], "Servo", 1),
        ("novelty", ["linear"], "Breast", 8),
        ("components", ["default"], "Servo | default", 2),
        ("proposals", ["default"], "uniform", 2),
        ("stepwise", ["without stepwise"], "without", 2),
        ("stability", ["default"], "Servo", 1),
        ("nonbayesian", ["linear"], "Servo | CRPS", 6),
    ],
)
def test_a_table_has_figures_where_models_were_run(name, models, row, column, folder, tmp_path):
    text = run(name, folder, tmp_path, "--models", *models)
    assert any(character.isdigit() for character in cells(text, row)[column]), cells(text, row)


def test_every_module_of_a_table_has_its_parts():
    for name in results.TABLES:
        module = importlib.import_module(f"examples.paper.{name}")
        assert name == module.NAME
        assert name in results.command(name)
        for part in ("cases", "run", "table", "TITLE"):
            assert hasattr(module, part), (name, part)
        assert results.about(module)


def test_counts_are_compared_with_the_true_mean():
    size = {"chains": 1, "warmup": 30, "draws": 30, "n": 300}
    rows = poisson.run(Case("poisson", "poisson", "default", 0, size), None)
    found = {row["metric"]: row["value"] for row in rows}
    data = poisson.make_poisson(300, 0)
    # Better than the mean of all, and the truth's loss is that of the truth.
    assert found["rmse"] < np.std(np.exp(data.f))
    expected = -np.mean(poisson.poisson.logpmf(data.y, np.exp(data.f)))
    assert found["nll of the truth"] == pytest.approx(expected)


def test_component_selection_is_that_of_the_example():
    size = {"chains": 1, "warmup": 30, "draws": 20, "n": 200}
    rows = selection.run(Case("selection", "f2", "uniform", 0, size), None)
    found = {row["metric"]: row["value"] for row in rows}
    assert set(found) == {"order 1", "order 2", "order 3", "worst R-hat of f"}
    assert found["order 1"] > 0.5


def test_concepts_need_their_interaction():
    from sklearn.metrics import roc_auc_score

    X, y = concepts.simulate(0)
    assert X.shape == (concepts.FOR_HEAD, concepts.CONCEPTS)
    assert ((X > 0) & (X < 1)).all(axis=None)
    # Of the last three, each says little alone (predicted concepts mix a little); their product says more.
    last = X[["concept 3", "concept 4", "concept 5"]]
    alone = max(abs(roc_auc_score(y, X[name]) - 0.5) for name in last)
    together = roc_auc_score(y, np.prod(2 * last.to_numpy() - 1, axis=1)) - 0.5
    assert together > 1.5 * alone
