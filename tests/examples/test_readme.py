"""Every code block of README runs as it stands, on small data under the names that the page uses.

What takes long is made short by `SHORTER`, what needs another machine is named in `ELSEWHERE` with the test
that runs it. A block that is in neither list and does not run fails.
"""

from __future__ import annotations

import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from support.cli_cases import surroundings
from support.expression_cases import matrix, write_two_classes
from support.readme import ROOT, blocks, commands

import raytpnn

PAGE = "README.md"
SHORTER = {
    "chains=16": "chains=2",
    "chains=64": "chains=2",
    "max_sweeps=100_000": "max_sweeps=4_000",
    "draws=1000": "draws=100",
    "s3://bucket/run": "other_run",
    "minibatch=8000": "minibatch=600",
    "--max-sweeps 50000": "--max-sweeps 4000",
    "--cv 5x2 --permute 10": "--cv 2x1 --permute 1",
    "--cv 5x5 --permute 20": "--cv 2x1 --permute 1",
    "--trials 24": "--trials 2",
}
ELSEWHERE = {
    "python3 -m venv": "`.ci/run` does this",
    "ray up": "tests/deploy reads the cluster files",
    "ray submit": "tests/deploy/test_submit.py",
    "ray job submit": "tests/deploy/test_submit.py",
}
QUICK = ("--executor", "threads", "--chains", "2", "--warmup", "100", "--draws", "100")
CODES = {0: "done", 3: "done, but not converged"}


def short(text):
    """What takes long made short."""
    for long, quick in SHORTER.items():
        text = text.replace(long, quick)
    return text


def table(n, seed=0):
    """Homes: a price that goes with size and rooms."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {"bmi": rng.normal(size=n), "size": rng.normal(size=n), "rooms": rng.integers(1, 6, n)}
    )
    made["price"] = made["bmi"] + np.tanh(2 * made["size"]) * made["rooms"] + rng.normal(0, 0.3, n)
    return made


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A folder with the files that README names."""
    monkeypatch.chdir(tmp_path)
    homes = table(80)
    homes.to_csv("homes.csv", index=False)
    homes.to_parquet("big.parquet")
    homes.assign(id=np.arange(80)).to_parquet("new.parquet")
    write_two_classes(tmp_path / "GSE4107_series_matrix.txt.gz")
    write_two_classes(tmp_path / "other_series_matrix.txt.gz")
    pd.DataFrame({"ID": [f"p{j}_at" for j in range(40)], "Gene Symbol": [f"G{j}" for j in range(40)]}).to_csv(
        "gpl570_annotation.csv.gz", index=False
    )
    values, label = matrix()
    names = [f"s{i}" for i in range(len(values))]
    frame = pd.DataFrame(values, index=names, columns=[f"g{j}" for j in range(values.shape[1])])
    frame.rename_axis("sample").reset_index().to_parquet("expr.parquet")
    sheet = pd.DataFrame({"sample": names, "tissue": np.where(label, "Cancer", "Normal")})
    sheet.assign(age=np.arange(len(names)) % 7, batch=np.arange(len(names)) % 3).to_csv(
        "sheet.csv", index=False
    )
    return tmp_path


def python_blocks():
    return [pytest.param(b, id=b.title) for b in blocks(PAGE) if b.language == "python"]


def shell_blocks():
    return [pytest.param(b, id=b.title) for b in blocks(PAGE) if b.language == ""]


def test_lists_are_about_the_page():
    """Nothing is made short, or left to another test, that README no longer has."""
    text = "".join(block.text for block in blocks(PAGE))
    for part in (*SHORTER, *ELSEWHERE):
        assert part in " ".join(text.split()), part


@pytest.mark.parametrize("block", python_blocks())
def test_python(block, page, cluster):
    rows = 1200 if "minibatch" in block.text else 80
    homes = table(rows)
    names = {
        "raytpnn": raytpnn,
        "X": homes.drop(columns="price"),
        "y": homes["price"],
        "X_new": table(20, seed=1).drop(columns="price"),
    }
    if "post." in block.text.splitlines()[0]:
        names["post"] = raytpnn.sample(names["X"], names["y"], draws=100)
    text = short(block.text).replace("head:6379", cluster.get_runtime_context().gcs_address)
    exec(compile(text, f"README.md, {block.title}", "exec"), names)


@pytest.mark.parametrize("block", shell_blocks())
def test_shell(block, page):
    for command in commands(block.text):
        if any(command.startswith(part) for part in ELSEWHERE):
            continue
        words = shlex.split(short(command))
        if words[0] == "python":
            words = [sys.executable, str(ROOT / words[1]), *words[2:], *QUICK]
        else:
            assert words[0] == "raytpnn", command
            quick = QUICK if words[1] == "fit" else ()
            words = [sys.executable, "-m", "raytpnn.cli", *words[1:], *quick]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=surroundings(),
        )
        assert done.returncode in CODES, f"{command}\n{done.stdout}\n{done.stderr}"
