"""The command line, as a user calls it."""

from __future__ import annotations

import subprocess
import sys


def run(*args):
    command = [sys.executable, "-m", "raytpnn.cli", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_demo_shows_progress_convergence_score_and_components():
    result = run("demo", "--chains", "2", "--warmup", "150", "--draws", "100")
    assert result.returncode == 0, result.stderr
    assert "sampling: 250 sweeps" in result.stderr
    for text in ("R-hat", "held-out RMSE", "Leading components", "bmi"):
        assert text in result.stdout


def test_help_and_bad_options():
    assert "demo" in run("--help").stdout
    wrong = run("demo", "--chains", "0")
    assert wrong.returncode == 2
    assert "chains" in wrong.stderr


def test_report_writes_a_page_and_names_what_is_wrong(tmp_path):
    import numpy as np

    import raytpnn

    x = np.random.default_rng(0).normal(size=(40, 2))
    raytpnn.sample(x, x[:, 0], chains=2, warmup=30, draws=60, out=tmp_path / "run")
    done = run("report", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert "<html" in (tmp_path / "run" / "report.html").read_text()
    missing = run("report", str(tmp_path / "nothing"))
    assert missing.returncode == 1
    assert "nothing" in missing.stderr
