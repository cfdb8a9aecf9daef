"""Test RMSE over MCMC iterations, from the first one, on Boston.

    python -m examples.paper.trajectory [--splits 5] [--chains 1] [--draws 2000]

Of the state at an iteration, and of the mean over the second half of all states so far. The paper shows a
figure against mBNN, without numbers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from examples.paper.command import main
from examples.paper.data import read
from examples.paper.markdown import grid, summary
from examples.paper.models.base import Size, Task
from examples.paper.models.ours import paper_options, sample
from examples.paper.runner import Case
from examples.paper.splits import split
from raytpnn.posterior.evaluate.scores import rmse

NAME = "trajectory"
TITLE = "RMSE over iterations"
DATA = ("boston_housing",)
SOURCES = (NAME,)
DEFAULTS = {"chains": 1, "warmup": 0, "draws": 2000}
ITERATIONS = (1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
MODELS = ("default", "paper")


def cases(options: Any) -> list[Case]:
    """Default and the paper's moves."""
    size = {"chains": options.chains, "draws": options.draws}
    return [
        Case(NAME, name, model, number, size)
        for name in options.data
        for model in MODELS
        for number in range(options.splits)
    ]


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Keep every state, and predict with each.

    Steps and scales are adapted in warm-up; without one, the default moves take the steps they start with.
    """
    data = read(folder, case.data)
    train, test = split(len(data.y), case.split)
    size = Size(case.settings["chains"], 0, case.settings["draws"])
    task = Task(data.X.iloc[train], data.y[train], data.X.iloc[test], data.binary, case.split, size)
    post = sample(task, **(paper_options() if case.model == "paper" else {}))
    drawn = post.predict_draws(task.X_new)
    found = []
    for iteration in (i for i in ITERATIONS if i <= len(drawn)):
        half = drawn[iteration // 2 : iteration].mean(axis=0)
        for what, mean in (("state", drawn[iteration - 1]), ("mean", half)):
            found.append({"metric": f"{what} {iteration}", "value": rmse(data.y[test], mean), "detail": ""})
    return found


def table(frame: pd.DataFrame) -> str:
    """A row an iteration."""
    rows = []
    for iteration in ITERATIONS:
        cells = [
            summary(frame, f"{what} {iteration}", 2, model=model)
            for model in MODELS
            for what in ("state", "mean")
        ]
        rows.append([f"{iteration:,}", *cells])
    return grid(
        ["iteration", "default: state", "default: mean", "paper's sampler: state", "paper's sampler: mean"],
        rows,
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
