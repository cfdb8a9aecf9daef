"""Out-of-distribution detection: AUROC of the certainty of the predicted class.

    python -m examples.paper.novelty [options of prediction]

From the run of the table of prediction. Rows from elsewhere are 500 rows of Madelon, standardised, of as
many of its columns, drawn at random, as the data set has, put on the scale of the data set's columns, for
text on its levels (the paper does not say how 500 columns become 23). Test rows count as 1, rows from
elsewhere as 0; 0.5 is chance.
"""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.data import SETS
from examples.paper.markdown import figure, grid, summary, values
from examples.paper.prediction import COLUMNS, run
from examples.paper.prediction import NOVELTY as DATA
from examples.paper.prediction import cases as all_cases
from examples.paper.runner import Case

__all__ = ["cases", "run", "table"]

NAME = "novelty"
TITLE = "Out-of-distribution detection"
SOURCES = ("prediction",)


def cases(options: Any) -> list[Case]:
    """Those data sets of the table of prediction."""
    return [case for case in all_cases(options) if case.data in DATA]


def table(frame: pd.DataFrame) -> str:
    """A row a data set."""
    rows, printed = [], []
    for name in (name for name in DATA if name in set(frame["data"])):
        count = len(values(frame, "detection", data=name, model="default"))
        cells = [summary(frame, "detection", of=count, data=name, model=model) for model in COLUMNS]
        rows.append([SETS[name].title, str(count), *cells])
        printed.append([SETS[name].title, *(figure(*f) for f in published.NOVELTY[name].values())])
    parts = [grid(["data", "splits", *COLUMNS], rows), "The paper's figures:"]
    return "\n\n".join([*parts, grid(["data", *published.NOVELTY["heloc"]], printed)])


if __name__ == "__main__":
    main(sys.modules[__name__])
