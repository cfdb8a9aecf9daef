"""The example scripts about intervals and prediction run, and print what they promise."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from support.expression_cases import write_two_classes

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_genomics_from_a_series_matrix(tmp_path, capsys, monkeypatch):
    data = write_two_classes(tmp_path / "x_series_matrix.txt.gz")
    annotation = tmp_path / "genes.csv"
    annotation.write_text("probe_id,gene_symbol\np0_at,BRCA1\np1_at,TP53\n")
    out = tmp_path / "run"
    size = ["--chains", "2", "--warmup", "60", "--draws", "40", "--executor", "threads", "--cv", "2"]
    named = [
        "--target",
        "title",
        "--positive",
        "~patient",
        "--annotation",
        str(annotation),
        "--out",
        str(out),
    ]
    monkeypatch.setattr("sys.argv", ["x", str(data), *named, *size])
    load(EXAMPLES / "genomics.py").main()
    assert "BRCA1" in capsys.readouterr().out
    assert (out / "genes.csv").read_text().splitlines()[1].split(",")[1] == "BRCA1"
    assert "BRCA1" in (out / "report.html").read_text()
    assert "AUROC" in (out / "cv" / "summary.md").read_text()


def test_genomics_can_ask_a_cluster_to_grow(monkeypatch):
    example = load(EXAMPLES / "genomics.py")
    needed = ["x", "data.txt", "--target", "t", "--out", "run"]
    monkeypatch.setattr("sys.argv", [*needed, "--workers", "8", "--wait", "--gpus", "0.5"])
    asked = example.resources(example.arguments())
    assert (asked.workers, asked.wait, asked.gpus) == (8, True, 0.5)


def test_genomics_says_at_once_that_it_cannot_draw(monkeypatch, tmp_path):
    """Not after hours of sampling."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("sys.argv", ["x", str(tmp_path / "none"), "--target", "t", "--out", str(tmp_path)])
    with pytest.raises(ImportError, match=r"raytpnn\[report\]"):
        load(EXAMPLES / "genomics.py").main()


def test_coverage_of_abalone(real_data, capsys, monkeypatch):
    size = ["--splits", "1", "--chains", "2", "--warmup", "150", "--draws", "100", "--models", "plain"]
    monkeypatch.setattr("sys.argv", ["x", "--data-dir", str(real_data), *size])
    load(EXAMPLES / "interval_coverage.py").main()
    tables = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [cells(line)[2] for line in tables[2:5]] == ["50%", "80%", "95%"]
    assert all(0.0 < float(cells(line)[3]) < 1.0 for line in tables[2:5])
    low, high = cells(tables[7]), cells(tables[11])
    # One variance for all: too wide for few rings, too narrow for many.
    assert float(low[3]) > 0.6
    assert float(high[3]) < 0.5
    assert sum(int(cells(line)[1]) for line in tables[7:12]) == 836


def test_coverage_without_data_says_what_to_give(capsys, monkeypatch, tmp_path):
    main = load(EXAMPLES / "interval_coverage.py").main
    monkeypatch.delenv("RAYTPNN_DATA", raising=False)
    for options, message in (([], "set RAYTPNN_DATA"), (["--data-dir", str(tmp_path)], "there is no file")):
        monkeypatch.setattr("sys.argv", ["x", *options])
        with pytest.raises(SystemExit):
            main()
        assert message in capsys.readouterr().err


def test_prediction_benchmark_prints_all_families(capsys, monkeypatch):
    size = ["--rows", "300", "--draws", "24", "--terms", "6", "--repeat", "1", "--reference-draws", "4"]
    monkeypatch.setattr("sys.argv", ["x", *size])
    load(EXAMPLES / "benchmarks" / "prediction.py").main()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [cells(line)[0] for line in lines[2:]] == ["gaussian", "bernoulli", "poisson"]
    assert all(float(cells(line)[4]) >= 0 for line in lines[2:])


def test_made_up_draws_are_chains_of_equal_states():
    make_draws = load(EXAMPLES / "benchmarks" / "prediction.py").make_draws
    draws = make_draws(np.random.default_rng(0), 5, 40, 7)
    assert draws.n_draws == 40
    np.testing.assert_array_equal(draws.K, 7)
    np.testing.assert_array_equal(np.bincount(draws.chain), 10)
    np.testing.assert_array_equal(draws.draw[:11], [*range(10), 0])
