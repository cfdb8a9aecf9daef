"""The runner of the paper's tables: what was run is not run again, what is missing is said."""

from __future__ import annotations

import json
import types

import numpy as np
import pandas as pd
import pytest
from support import paper_cases

from examples.paper import command, prediction, runner, uncertainty
from examples.paper.data import NAMES, present, read
from examples.paper.markdown import mean_se
from examples.paper.runner import Case, Store
from examples.paper.splits import split

SMALL = ["--executor", "threads", "--splits", "1", "--chains", "1", "--warmup", "20", "--draws", "20"]


@pytest.fixture
def folder(tmp_path):
    paper_cases.small_servo(tmp_path)
    paper_cases.small_breast(tmp_path)
    return tmp_path


def counted(monkeypatch):
    """Cases that are run, in a list; nothing is fitted."""
    done = []

    def run_one(case, data_folder):
        done.append(case)
        return [{"metric": "rmse", "value": float(len(done)), "detail": ""}]

    monkeypatch.setattr(runner, "run_one", run_one)
    return done


def test_what_was_run_is_not_run_again(tmp_path, monkeypatch):
    done, store = counted(monkeypatch), Store(tmp_path)
    cases = [Case("prediction", "servo", "default", number, {"chains": 1}) for number in range(3)]
    said = []
    assert runner.run_cases(cases[:2], store, None, "threads", say=said.append) == 2
    assert runner.run_cases(cases, store, None, "threads", say=said.append) == 1
    assert done == cases
    assert "2 of 3 cases are there already" in said
    # Other settings are another case.
    other = Case("prediction", "servo", "default", 0, {"chains": 2})
    assert runner.run_cases([other], store, None, "threads", say=said.append) == 1


def test_a_run_that_dies_keeps_what_it_had(tmp_path, monkeypatch):
    done, store = [], Store(tmp_path)

    def run_one(case, data_folder):
        if case.split == 1 and not done:
            raise RuntimeError("gone")
        return [{"metric": "rmse", "value": 1.0, "detail": ""}]

    monkeypatch.setattr(runner, "run_one", run_one)
    cases = [Case("prediction", "servo", "default", number) for number in range(2)]
    with pytest.raises(RuntimeError, match="gone"):
        runner.run_cases(cases, store, None, "threads", say=lambda line: None)
    assert [store.has(case) for case in cases] == [True, False]
    done.append("again")
    assert runner.run_cases(cases, store, None, "threads", say=lambda line: None) == 1


def test_tidy_results_are_merged_by_data_model_and_split(tmp_path, monkeypatch):
    counted(monkeypatch)
    store = Store(tmp_path)
    first = [Case("prediction", "servo", "default", n, {"chains": 1}) for n in range(2)]
    second = [Case("prediction", "servo", "default", 1, {"chains": 9})]
    for cases in (first, second):
        runner.run_cases(cases, store, None, "threads", say=lambda line: None)
        store.collect(cases)
    tidy = pd.read_parquet(tmp_path / "prediction.parquet")
    assert tidy["split"].tolist() == [0, 1]
    assert [json.loads(text)["chains"] for text in tidy["settings"]] == [1, 9]


def test_data_sets_that_are_not_there_are_skipped_and_said(folder, tmp_path, capsys, monkeypatch):
    done = counted(monkeypatch)
    out = str(tmp_path / "out")
    command.main(prediction, ["--data-dir", str(folder), "--out", out, "--models", "linear", *SMALL])
    said = capsys.readouterr().out
    assert {case.data for case in done} == {"servo", "breast_cancer_wdbc"}
    for title in ("Abalone", "Boston", "Mpg", "Fico", "Churn", "Madelon"):
        assert f"skipped {title}: " in said
    monkeypatch.delenv("RAYTPNN_DATA", raising=False)
    there, missing = present(None)
    assert there == []
    assert len(missing) == len(NAMES)
    assert "set RAYTPNN_DATA" in missing[0]


def test_a_table_from_fits_of_ours_and_linear(folder, tmp_path):
    paper_cases.small_madelon(folder)
    options = [
        "--data-dir",
        str(folder),
        "--out",
        str(tmp_path / "out"),
        "--models",
        "default",
        "linear",
        *SMALL,
    ]
    few = ["--data", "servo", "breast_cancer_wdbc"]
    text = command.main(prediction, options + few)
    tidy = pd.read_parquet(tmp_path / "out" / "prediction.parquet")
    assert (tmp_path / "out" / "prediction.md").read_text().strip() == text
    rows = [line for line in text.splitlines() if line.startswith(("| Servo", "| Breast"))]
    assert len(rows) == 6
    found = tidy[(tidy["data"] == "servo") & (tidy["metric"] == "rmse")].set_index("model")["value"]
    assert f"{found['default']:.3f}" in rows[0]
    assert f"{found['linear']:.3f}" in rows[0]
    # Madelon's rows are from elsewhere for the two classes.
    assert set(tidy[tidy["metric"] == "detection"]["data"]) == {"breast_cancer_wdbc"}
    assert command.main(uncertainty, options + few).count("| CRPS |") == 2


def test_splits_are_those_of_fixed_seeds():
    parts = [split(100, number) for number in range(5)]
    for train, test in parts:
        assert len(train) == 80
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(100))
    assert len({tuple(test) for _, test in parts}) == 5
    np.testing.assert_array_equal(parts[3][1], split(100, 3)[1])


def test_columns_that_are_no_features_and_classes(folder):
    paper_cases.small_madelon(folder)
    data = read(folder, "madelon")
    assert "split" not in data.X.columns
    assert set(data.y) == {0.0, 1.0}
    table = pd.read_parquet(folder / "madelon.parquet")
    np.testing.assert_array_equal(data.y == 1, table["target"] == 1)
    table["target"] = 3
    table.to_parquet(folder / "madelon.parquet")
    with pytest.raises(ValueError, match="two classes"):
        read(folder, "madelon")


def test_more_settings_than_the_budget_are_refused():
    from examples.paper.models.base import CANDIDATES, Size, choose

    greedy = types.SimpleNamespace(candidates=lambda: [{}] * (CANDIDATES + 1))
    with pytest.raises(ValueError, match="budget"):
        choose(greedy, pd.DataFrame({"x": [1.0] * 10}), np.arange(10.0), False, Size())


def tidy(**found):
    """Results of models on some splits, by number of split."""
    rows = [
        ("servo", model, split, "rmse", value) for model, by in found.items() for split, value in by.items()
    ]
    return pd.DataFrame(rows, columns=["data", "model", "split", "metric", "value"])


def test_models_are_compared_on_the_splits_that_both_have():
    # Over all its splits the peer is better; on those that both have, it is not.
    frame = tidy(default={0: 3.0, 1: 3.2, 2: 1.0}, xgboost={0: 3.5, 1: 3.5}, linear={2: 5.0})
    found = prediction.gaps(frame, "servo", "rmse")
    np.testing.assert_allclose(found["xgboost"], [-0.5, -0.3])
    assert prediction.verdict(frame, "servo", "rmse") == "ahead of xgboost by 0.400 (0.100)"
    frame = tidy(default={0: 3.0, 1: 3.2}, xgboost={0: 2.99, 1: 3.19})
    assert prediction.verdict(frame, "servo", "rmse").startswith("within one SE of xgboost, by 0.010")
    frame = tidy(default={0: 3.0, 1: 3.2}, xgboost={0: 1.0, 1: 1.2})
    assert prediction.verdict(frame, "servo", "rmse").startswith("behind xgboost, by 2.000")


def test_mean_and_standard_error():
    mean, error = mean_se(np.array([1.0, 2.0, 3.0]))
    assert mean == pytest.approx(2.0)
    assert error == pytest.approx(1 / np.sqrt(3))


@pytest.mark.slow
def test_ray_tasks_give_what_this_process_gives(folder, tmp_path, monkeypatch):
    # Real cases, on a Ray of its own; workers import `examples` from this tree.
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    found = []
    for executor in ("threads", "ray"):
        out = tmp_path / executor
        options = ["--data-dir", str(folder), "--out", str(out), *SMALL, "--executor", executor]
        command.main(prediction, [*options, "--models", "default", "linear", "--data", "servo"])
        tidy = pd.read_parquet(out / "prediction.parquet")
        found.append(tidy[tidy["metric"].isin(["rmse", "crps", "nll"])].reset_index(drop=True))
    assert set(found[0]["model"]) == {"default", "linear"}
    pd.testing.assert_frame_equal(found[0], found[1])
