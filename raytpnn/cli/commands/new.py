"""`raytpnn new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["new"]

TEXT = """\
# Settings of a fit: raytpnn fit --config {name}
# A line that begins with # is not read: take the # away to decide for yourself. Flags override this file.

data = {data}
target = {target}
out = {out}

# What the target is: gaussian (numbers), bernoulli (two classes), multinomial (several), poisson (counts);
# `raytpnn fit --help` has the others. Found by looking if not given.
# family = "gaussian"
# The class that is modelled, of two or more.
# positive = "yes"
# Columns that are not features: names of rows, what is known only later.
# drop = ["id"]

# How long: without draws, chains go on until they agree.
# chains = 4
# draws = 1000
# time_limit = 3600
# target_rhat = 1.01
# seed = 0

# Where: ray (also on a cluster, see address) or threads.
# executor = "threads"
# address = "head:6379"

# How good is it on rows held out: folds x repeats.
# cv = "5x2"

# [prior]
# The most terms of a draw, and the most features of a term.
# K_max = 100
# max_order = 3

# For chains that stay apart.
# [tempering]
# replicas = 4
"""


def new(
    file: Annotated[Path, typer.Argument(help="File to write, such as fit.toml.", show_default=False)] = Path(
        "fit.toml"
    ),
    data: Annotated[str, typer.Option(help="Table to fit to.")] = "data.csv",
    target: Annotated[str, typer.Option(help="Column to predict.")] = "y",
    out: Annotated[str, typer.Option(help="Folder of the run.")] = "run",
) -> None:
    """Write a config file with the settings that matter most, each with a line that explains it."""
    import json

    if file.exists():
        raise ValueError(f"{file} is there already; give another name, or remove it")
    text = TEXT.format(name=file.name, data=json.dumps(data), target=json.dumps(target), out=json.dumps(out))
    file.write_text(text, encoding="utf-8")
    print(file)
