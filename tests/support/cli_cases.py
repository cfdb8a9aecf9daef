"""The command line as a user calls it: real processes on real files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from raytpnn.cli import app

COMMAND = [sys.executable, "-m", "raytpnn.cli"]
SHORT = ("--executor", "threads", "--chains", "2", "--warmup", "60", "--draws", "60")
# Machines with other work are slow: a process that is waited for so long hangs.
PATIENCE_SECONDS = 900.0


def surroundings(**more):
    """Environment of a process: nothing of what this one may have set."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("RAYTPNN_", "RAY_"))}
    return own | {"RAY_USAGE_STATS_ENABLED": "0", "COLUMNS": "100", "TERM": "xterm", **more}


def run(*args, **more):
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env=surroundings(**more),
    )


class Called(NamedTuple):
    """End of a command that was called in this process."""

    returncode: int
    stdout: str
    stderr: str


def call(*args):
    """Call a command in this process, which is quicker; warnings are lines here too, not errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(arg) for arg in args])
    return Called(done.exit_code, done.stdout, done.stderr)


def start(*args, stderr=subprocess.PIPE):
    """Begin a command."""
    return subprocess.Popen(
        [*COMMAND, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=surroundings(),
    )


def wait_for(process, text):
    """Read what a process says until it says some text; all of it so far."""
    heard = ""
    for line in process.stderr:
        heard += line
        if text in line:
            return heard
    raise AssertionError(f"{text!r} was never said; this was: {heard}")


def wait_until(condition, what):
    """Wait for a condition to hold."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.01)


def frame(n=120, seed=0):
    """Table with numbers, text and missing cells, and targets of every family."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "id": np.arange(n),
            "size": rng.normal(size=n).round(3),
            "kind": rng.choice(["oak", "elm", "ash"], n),
            "age": rng.integers(1, 90, n).astype(float),
        }
    )
    f = 2.0 * X["size"] + 1.5 * (X["kind"] == "elm")
    X.loc[::17, "age"] = np.nan
    X["price"] = (10.0 + f + rng.normal(size=n)).round(3)
    X["sold"] = np.where(rng.random(n) < 1 / (1 + np.exp(-f)), "yes", "no")
    X["exposure"] = np.log(rng.uniform(0.5, 5.0, n)).round(4)
    X["visits"] = rng.poisson(np.exp(0.4 * f + X["exposure"]))
    X["weight"] = rng.uniform(0.5, 2.0, n).round(2)
    return X


def write(table: pd.DataFrame, path: Path) -> Path:
    """Write a table as what the name of the file says."""
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".tsv":
        table.to_csv(path, index=False, sep="\t")
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.to_feather(path)
    return path


def draws_of(run: Path) -> dict[str, bytes]:
    """Every file of draws of a run."""
    folder = run / "draws"
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}
