"""With and without stepwise births, which extend a set that is there, on Madelon.

    python -m examples.paper.stepwise [--splits 5]

A birth takes its set from the prior with probability M / (M + K): with M = 10^9 nearly always. Features are
proposed by XGBoost, as in the paper; default prior and moves otherwise.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

import raytpnn
from examples.paper import prediction, published
from examples.paper.command import main
from examples.paper.components import told
from examples.paper.data import read
from examples.paper.markdown import figure, grid, mean_se, paired, summary, values
from examples.paper.models import evaluate
from examples.paper.models.base import Size
from examples.paper.models.ours import Ours
from examples.paper.runner import Case
from examples.paper.splits import split

NAME = "stepwise"
TITLE = "Stepwise births"
DATA = ("madelon",)
SOURCES = ("prediction", NAME)
NEVER = 1e9
MODELS = {"with": "default, xgboost", "without": "without stepwise"}


def cases(options: Any) -> list[Case]:
    """With: cases of the table of prediction. Without: our own."""
    made = [case for case in prediction.cases(options) if case.model == MODELS["with"]]
    return made + [
        Case(NAME, case.data, MODELS["without"], case.split, case.settings | {"M": NEVER}) for case in made
    ]


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Fit without stepwise births."""
    data, settings = read(folder, case.data), dict(case.settings)
    model = Ours(feature_weights="xgboost", moves=raytpnn.Moves(M=settings.pop("M")))
    rows = split(len(data.y), case.split)
    return evaluate(model, data.X, data.y, rows, data.binary, Size(**settings)).records()


def table(frame: pd.DataFrame) -> str:
    """A row a kind of births."""
    rows, top = [], []
    for kind, model in MODELS.items():
        cells = [summary(frame, metric, data="madelon", model=model) for metric in ("auroc", "ece", "nll")]
        count = str(len(values(frame, "auroc", data="madelon", model=model)))
        rows.append([kind, count, *cells, *(figure(*f) for f in published.STEPWISE[kind])])
        top.append([kind, told(frame, "madelon", model)])
    gains = []
    for metric in ("auroc", "ece", "nll"):
        found = paired(frame, metric, "madelon", MODELS["with"], MODELS["without"])
        gains.append(f"{metric.upper()} {figure(*mean_se(found))}")
    top.append(["without, the paper", published.TOP_COMPONENTS["madelon, without stepwise"]])
    header = ["stepwise", "splits", "AUROC", "ECE", "NLL", "paper: AUROC", "ECE", "NLL"]
    parts = [grid(header, rows), f"With less without, on the splits of both: {', '.join(gains)}."]
    return "\n\n".join([*parts, "First split:", grid(["stepwise", "components"], top)])


if __name__ == "__main__":
    main(sys.modules[__name__])
