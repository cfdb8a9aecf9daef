"""Minibatches and delayed acceptance beside all rows, on Abalone (1,000 rows a batch) and Fico (2,000).

    python -m examples.paper.minibatch [--splits 5] [--chains 2] [--warmup 500] [--draws 500]

Delayed acceptance judges a proposal on a minibatch first and on all rows if it passes: the posterior is
that of all rows. Minibatches alone, as in the paper, are an approximation.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.data import SETS, read
from examples.paper.markdown import figure, grid, summary, values
from examples.paper.models import evaluate
from examples.paper.models.base import Size
from examples.paper.models.ours import Ours
from examples.paper.runner import Case, all_models
from examples.paper.splits import split
from examples.paper.uncertainty import metrics_of

NAME = "minibatch"
TITLE = "Minibatches"
DATA = ("abalone", "heloc")
SOURCES = (NAME,)
DEFAULTS = {"chains": 2, "warmup": 500, "draws": 500}
BATCHES = {"abalone": 1000, "heloc": 2000}
MODELS = ("all rows", "minibatch", "delayed acceptance")


def cases(options: Any) -> list[Case]:
    """Three ways to look at rows."""
    return all_models(NAME, options, MODELS)


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Fit and score."""
    data = read(folder, case.data)
    options: dict[str, Any] = {} if case.model == "all rows" else {"minibatch": BATCHES[case.data]}
    if case.model == "delayed acceptance":
        options["delayed_acceptance"] = True
    rows = split(len(data.y), case.split)
    size = Size(**case.settings)
    return evaluate(Ours(**options), data.X, data.y, rows, data.binary, size).records()


def table(frame: pd.DataFrame) -> str:
    """A row a data set and way."""
    rows = []
    for name in (name for name in DATA if name in set(frame["data"])):
        second, third = metrics_of(name)
        first = "auroc" if SETS[name].family == "bernoulli" else "rmse"
        for model in MODELS:
            cells = [summary(frame, metric, data=name, model=model) for metric in (first, second, third)]
            seconds = summary(frame, "cpu_seconds", 1, data=name, model=model)
            count = str(len(values(frame, first, data=name, model=model)))
            rows.append([SETS[name].title, f"{model}, default", count, *cells, seconds])
        for model, figures in zip(("all rows", "minibatch"), published.MINIBATCH[name], strict=True):
            rows.append(
                [SETS[name].title, f"{model}, the paper's figures", "5", *(figure(*f) for f in figures), "-"]
            )
    return grid(["data", "rows", "splits", "RMSE or AUROC", "CRPS or ECE", "NLL", "CPU s"], rows)


if __name__ == "__main__":
    main(sys.modules[__name__])
