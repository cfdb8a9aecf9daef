"""Runtime of 2,000 iterations on one core, beside BART and EBM in the same run.

    OMP_NUM_THREADS=1 RAYTPNN_THREADS=1 python -m examples.paper.runtime --executor threads

CPU seconds of one chain of 1,000 + 1,000 sweeps with encoding, once compiled, on the training rows of the
first split; of stochtree's BART with 200 trees, 1,000 + 1,000 iterations without a warm start; and of EBM
with its defaults. The paper's seconds are of a GPU (RTX 4000). Proposals are the default ones, on Madelon
adaptive.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.data import NAMES, SETS, DataSet, read
from examples.paper.markdown import grid, mean_se, values
from examples.paper.models.bart import sample_trees
from examples.paper.models.base import Size, Task
from examples.paper.models.ours import paper_options, sample
from examples.paper.runner import Case, all_models
from examples.paper.splits import split

NAME = "runtime"
TITLE = "Runtime"
SOURCES = (NAME,)
DEFAULTS = {"splits": 1, "chains": 1, "executor": "threads"}
MODELS = ("default", "paper", "bart", "ebm")


def cases(options: Any) -> list[Case]:
    """All models of every data set."""
    return all_models(NAME, options, MODELS)


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Fit once, and time it."""
    data = read(folder, case.data)
    size = Size(**case.settings)
    if case.model in ("default", "paper"):
        # What is compiled on the first call is no part of a fit.
        fit(data, case.model, Size(1, 5, 5), case.split)
    begin, start = time.process_time(), time.monotonic()
    fit(data, case.model, size, case.split)
    told = {"cpu_seconds": time.process_time() - begin, "seconds": time.monotonic() - start}
    return [{"metric": name, "value": value, "detail": ""} for name, value in told.items()]


def fit(data: DataSet, model: str, size: Size, number: int) -> None:
    """One fit, without prediction."""
    train, test = split(len(data.y), number)
    task = Task(data.X.iloc[train], data.y[train], data.X.iloc[test[:1]], data.binary, 0, size)
    if model == "default":
        sample(task, feature_weights="adaptive" if data.name == "madelon" else None)
    elif model == "paper":
        sample(task, **paper_options(K_max=100))
    elif model == "bart":
        sample_trees(task, {"num_trees": 200}, size.warmup, size.draws)
    else:
        from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

        kind = ExplainableBoostingClassifier if data.binary else ExplainableBoostingRegressor
        kind(n_jobs=1, random_state=0).fit(task.X, task.y)


def table(frame: pd.DataFrame) -> str:
    """A row a data set."""
    rows = []
    for name in (name for name in NAMES if name in set(frame["data"])):
        seconds = {m: mean_se(values(frame, "cpu_seconds", data=name, model=m))[0] for m in MODELS}
        paper = published.RUNTIME[name][0]
        cells = ["-" if pd.isna(seconds[m]) else f"{seconds[m]:.1f}" for m in MODELS]
        faster = [
            "-" if pd.isna(value) else f"{value / seconds['default']:.1f}"
            for value in (paper, seconds["bart"], seconds["ebm"])
        ]
        rows.append([SETS[name].title, *cells, str(paper), *faster])
    header = ["data", "default", "paper's moves", "BART", "EBM", "paper (GPU)"]
    return grid([*header, "paper / default", "BART / default", "EBM / default"], rows)


if __name__ == "__main__":
    main(sys.modules[__name__])
