"""Leading components on Madelon and Servo: importance over the largest.

    python -m examples.paper.components

From the run of the table of prediction, first split. The paper numbers features from 1; Madelon's are named
here as in its file.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.data import SETS
from examples.paper.markdown import grid
from examples.paper.prediction import cases as all_cases
from examples.paper.prediction import run
from examples.paper.runner import Case

__all__ = ["cases", "run", "table", "told"]

NAME = "components"
TITLE = "Leading components"
DATA = ("servo", "madelon")
SOURCES = ("prediction",)
DEFAULTS = {"splits": 1}
MODELS = ("default", "default, xgboost", "default, adaptive", "paper")


def cases(options: Any) -> list[Case]:
    """Fits of ours."""
    return [case for case in all_cases(options) if case.model in MODELS]


def told(frame: pd.DataFrame, name: str, model: str, split: int = 0) -> str:
    """Leading components of a fit, in words; a dash if there is none."""
    kept = (frame["metric"] == "components") & (frame["data"] == name) & (frame["model"] == model)
    found = frame[kept & (frame["split"] == split)]["detail"]
    if not len(found):
        return "-"
    parts = []
    for names, value in json.loads(found.iloc[0]):
        text = names[0] if len(names) == 1 else f"({', '.join(names)})"
        parts.append(f"{text} {value:.3f}")
    return "; ".join(parts)


def table(frame: pd.DataFrame) -> str:
    """A row a data set and model."""
    rows = []
    for name in DATA:
        rows += [
            [SETS[name].title, model, told(frame, name, model)]
            for model in MODELS
            if told(frame, name, model) != "-"
        ]
        rows.append([SETS[name].title, "the paper's figures", published.TOP_COMPONENTS[name]])
    return grid(["data", "model", "components"], rows)


if __name__ == "__main__":
    main(sys.modules[__name__])
