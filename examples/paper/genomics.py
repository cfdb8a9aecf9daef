"""Gene expression: AUROC beside ridge regression and XGBoost.

    python -m examples.paper.genomics [--splits 5] [--chains 4] [--warmup 500] [--draws 500]

GSE43358 (57 x 54,675) is not to be had here. GSE4107 (22 x 54,675, the same array) and the colon data of
Alon (62 x 2,000) stand in: figures are not comparable with the paper's. Data, peers and splits are those of
`examples/wide_peers.py`, which has twenty splits, four data sets and permuted labels.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

from examples import wide_peers
from examples.paper import published
from examples.paper.command import main
from examples.paper.data import folder_of
from examples.paper.markdown import figure, grid, summary, values
from examples.paper.models.base import Size, Task
from examples.paper.models.ours import sample
from examples.paper.runner import Case, size_of
from examples.paper.scores import Forecast, score
from raytpnn.validation.splits import Scheme, make_splits

NAME = "genomics"
TITLE = "Gene expression"
DATA = ()
SOURCES = (NAME,)
DEFAULTS = {"warmup": 500, "draws": 500}
SETS = ("gse4107", "alon_colon")
MODELS = ("default", "xgboost", "ridge")


def cases(options: Any) -> list[Case]:
    """Data sets that are there, by models."""
    size = size_of(options) | {"splits": options.splits}
    folder, there = folder_of(options.data_dir), []
    for name in SETS:
        if folder is not None and (folder / f"{name}_expr.parquet").is_file():
            there.append(name)
        else:
            print(f"skipped {name}: no {name}_expr.parquet in the data folder", flush=True)
    return [
        Case(NAME, name, model, number, size)
        for name in there
        for number in range(options.splits)
        for model in MODELS
    ]


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Fit and score."""
    assert folder is not None
    X, y = wide_peers.read(folder, case.data)
    settings = dict(case.settings)
    part = make_splits(Scheme(0, settings.pop("splits")), y, True, seed=1)[case.split]
    begin = time.process_time()
    if case.model == "default":
        task = Task(X[part.train], y[part.train], X[part.test], True, 0, Size(**settings))
        found = sample(task).predict(task.X_new)
    elif case.model == "ridge":
        found = wide_peers.ridge(X[part.train], y[part.train], X[part.test], bool(X.min() > 0))
    else:
        found = wide_peers.boosted(X[part.train], y[part.train], X[part.test])
    scores = score(y[part.test], Forecast(found), True) | {"cpu_seconds": time.process_time() - begin}
    return [{"metric": name, "value": value, "detail": ""} for name, value in scores.items()]


def table(frame: pd.DataFrame) -> str:
    """A row a data set."""
    rows = []
    for name in (name for name in SETS if name in set(frame["data"])):
        count = str(len(values(frame, "auroc", data=name, model="default")))
        rows.append([name, count, *(summary(frame, "auroc", data=name, model=model) for model in MODELS)])
    paper = "; ".join(f"{model} {figure(*value)}" for model, value in published.GENOMICS.items())
    return f"AUROC:\n\n{grid(['data', 'splits', *MODELS], rows)}\n\nThe paper, on GSE43358: {paper}."


if __name__ == "__main__":
    main(sys.modules[__name__])
