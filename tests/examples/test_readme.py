"""Every code block of README and of the guide runs as it stands, on small data under the names that it uses.

What takes long is made short by `SHORTER`, what needs another machine is named in `ELSEWHERE` with the test
that runs it. A block that is in neither list and does not run fails.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from support.cli_cases import surroundings
from support.expression_cases import matrix, write_h5ad, write_two_classes
from support.readme import ROOT, blocks, commands

import raytpnn

PAGES = (
    "README.md",
    *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "examples/guide").rglob("*.md")),
)
SHORTER = {
    "chains=16": "chains=2",
    "chains=64": "chains=2",
    "max_sweeps=100_000": "max_sweeps=400",
    "draws=1000": "draws=100",
    "s3://bucket/run": "run",
    'out="run", address="head:6379"': 'out="far", executor="ray"',
    "minibatch=8000": "minibatch=600",
    "shards=4": "shards=2",
    "--max-sweeps 50000": "--max-sweeps 800",
    "--cv 5x2 --permute 10": "--cv 2x1 --permute 1",
    "--cv 5x5 --permute 20": "--cv 2x1 --permute 1",
    "--trials 24": "--trials 2",
    "stability=20": "stability=1",
}
ELSEWHERE = {
    "python3 -m venv": "`.ci/run` does this",
    "ray up": "tests/deploy reads the cluster files",
    "ray submit": "tests/deploy/test_submit.py",
    "ray job submit": "tests/deploy/test_submit.py",
}
# Sweeps of a fit that would go on until it has converged.
SWEEPS = 400
QUICK = ("--executor", "threads", "--chains", "2", "--warmup", "100")
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
    kinds = list(np.where(label, "CD34+", "CD4+"))
    write_h5ad("x.h5ad", values, names, [f"g{j}" for j in range(values.shape[1])], kinds, "bulk_labels")
    frame = pd.DataFrame(values, index=names, columns=[f"g{j}" for j in range(values.shape[1])])
    frame.rename_axis("sample").reset_index().to_parquet("expr.parquet")
    sheet = pd.DataFrame({"sample": names, "tissue": np.where(label, "Cancer", "Normal")})
    sheet.assign(age=np.arange(len(names)) % 7, batch=np.arange(len(names)) % 3).to_csv(
        "sheet.csv", index=False
    )
    return tmp_path


def python_blocks():
    return [
        pytest.param(b, id=f"{Path(page).stem}-{b.title}")
        for page in PAGES
        for b in blocks(page)
        if b.language == "python"
    ]


def shell_blocks():
    return [
        pytest.param(b, id=f"{Path(page).stem}-{b.title}")
        for page in PAGES
        for b in blocks(page)
        if b.language == ""
    ]


def quick_sample(X, y, **options):
    """`raytpnn.sample` with fewer sweeps, unless the page says how many."""
    if "draws" not in options:
        options = {"max_sweeps": SWEEPS} | options
    return raytpnn.sample(X, y, **{"warmup": 100} | options)


def test_lists_are_about_the_page():
    """Nothing is made short, or left to another test, that README no longer has."""
    text = " ".join("".join(block.text for page in PAGES for block in blocks(page)).split())
    for long, quick in SHORTER.items():
        assert long in text, long
        text = text.replace(long, quick)
    for part in ELSEWHERE:
        assert part in text, part


@pytest.mark.parametrize("block", python_blocks())
def test_python(block, page):
    homes = table(800 if "minibatch" in block.text else 80)
    names = {
        "raytpnn": SimpleNamespace(**{name: getattr(raytpnn, name) for name in raytpnn.__all__}),
        "X": homes.drop(columns="price"),
        "y": homes["price"],
        "X_new": table(20, seed=1).drop(columns="price"),
    }
    made = []

    def sample(X, y, **options):
        made.append(quick_sample(X, y, **options))
        return made[-1]

    names["raytpnn"].sample = sample
    if block.text.startswith("import"):
        # The block imports the package itself: what it names is put in its place.
        block = block._replace(text=block.text.replace("import raytpnn\n", "", 1))
    if block.text.startswith("post."):
        names["post"] = sample(names["X"], names["y"])
    exec(compile(short(block.text), f"README.md, {block.title}", "exec"), names)
    assert made
    assert all(post.draws.n_draws and np.all(np.isfinite(post.draws.loglik)) for post in made)


@pytest.mark.parametrize("block", shell_blocks())
def test_shell(block, page):
    for command in commands(block.text):
        if command.startswith(tuple(ELSEWHERE)):
            continue
        words = shlex.split(short(command))
        if words[0] == "python":
            words = [sys.executable, str(ROOT / words[1]), *words[2:], *QUICK, "--draws", "100"]
        else:
            assert words[0] == "raytpnn", command
            quick = (*QUICK, "--max-sweeps", str(SWEEPS)) if words[1] == "fit" else ()
            words = [sys.executable, "-m", "raytpnn.cli", *words[1:], *quick]
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=900, env=surroundings()
        )
        assert done.returncode in CODES, f"{command}\n{done.stdout}\n{done.stderr}"


LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in LINK.findall(text):
        if not target.startswith("http"):
            assert ((ROOT / page).parent / target).exists(), f"{page}: {target}"
