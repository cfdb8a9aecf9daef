"""The example scripts about intervals and prediction run, and print what they promise."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_coverage_of_abalone(real_data, capsys, monkeypatch):
    size = ["--splits", "1", "--chains", "2", "--warmup", "150", "--draws", "100"]
    monkeypatch.setattr("sys.argv", ["x", "--data-dir", str(real_data), *size])
    load(EXAMPLES / "coverage.py").main()
    tables = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [cells(line)[0] for line in tables[2:5]] == ["50%", "80%", "95%"]
    assert all(0.0 < float(cells(line)[1]) < 1.0 for line in tables[2:5])
    low, high = cells(tables[7]), cells(tables[11])
    # One variance for all: too wide for few rings, too narrow for many.
    assert float(low[3]) > 0.6
    assert float(high[3]) < 0.5
    assert sum(int(cells(line)[1]) for line in tables[7:12]) == 836


def test_coverage_without_data_says_what_to_give(capsys, monkeypatch, tmp_path):
    main = load(EXAMPLES / "coverage.py").main
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
