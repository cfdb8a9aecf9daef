"""Stability of components between fits to five splits: the paper's score, 0 is best.

    python -m examples.paper.stability [--chains 4] [--warmup 1000] [--draws 1000]

`raytpnn.posterior.evaluate.stability` on all rows of a data set. A component that no fit holds counts as 0,
one that a single fit holds as 0.8; shorter chains make more of these.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.data import NAMES, SETS, read
from examples.paper.markdown import grid, summary
from examples.paper.models.base import Size, Task
from examples.paper.models.ours import sample
from examples.paper.runner import Case, size_of
from examples.paper.splits import split
from raytpnn.posterior.evaluate.stability import stability_score

NAME = "stability"
TITLE = "Stability of components"
SOURCES = (NAME,)
# Draws of each fit that components are averaged over, and rows they are compared at.
MOST_DRAWS, MOST_ROWS = 500, 1000


def cases(options: Any) -> list[Case]:
    """One a data set: it needs all its fits at once."""
    size = size_of(options) | {"fits": options.splits}
    return [Case(NAME, name, "default", 0, size) for name in options.data]


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Fit to every split, and compare."""
    data, settings = read(folder, case.data), dict(case.settings)
    fits = settings.pop("fits")
    posts = []
    for number in range(fits):
        train, _ = split(len(data.y), number)
        task = Task(data.X.iloc[train], data.y[train], data.X, data.binary, number, Size(**settings))
        posts.append(sample(task).thin(MOST_DRAWS))
    rows = data.X.iloc[:: max(len(data.X) // MOST_ROWS, 1)]
    return [
        {"metric": f"order {order}", "value": stability_score(posts, rows, order), "detail": ""}
        for order in (1, 2)
    ]


def table(frame: pd.DataFrame) -> str:
    """A row a data set."""
    rows = []
    for name in (name for name in NAMES if name in set(frame["data"])):
        first, second = published.STABILITY[name]
        ours = [summary(frame, f"order {order}", data=name) for order in (1, 2)]
        paper = [" / ".join(f"{value:.3f}" for value in values) for values in (first, second)]
        rows.append([SETS[name].title, ours[0], paper[0], ours[1], paper[1]])
    them = "paper: Bayesian-TPNN / ANOVA-TPNN / NAM"
    return grid(["data", "order 1", them, "orders 1 and 2", them], rows)


if __name__ == "__main__":
    main(sys.modules[__name__])
