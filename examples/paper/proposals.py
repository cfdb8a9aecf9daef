"""Which features are proposed (the paper's p_input): uniform, by XGBoost, or adaptive.

    python -m examples.paper.proposals [--splits 5]

Madelon, 500 features; default prior and moves. Proposals do not change the posterior, only how soon chains
find what matters. Uniform and the others are cases of the table of prediction.
"""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.components import told
from examples.paper.markdown import figure, grid, summary, values
from examples.paper.prediction import NAME as SOURCE
from examples.paper.prediction import cases as all_cases
from examples.paper.prediction import run
from examples.paper.runner import Case

__all__ = ["cases", "run", "table"]

NAME = "proposals"
TITLE = "Which features are proposed (p_input)"
DATA = ("madelon",)
SOURCES = (SOURCE,)
MODELS = {"uniform": "default", "xgboost": "default, xgboost", "adaptive": "default, adaptive"}


def cases(options: Any) -> list[Case]:
    """Madelon with every kind of proposals."""
    return [case for case in all_cases(options) if case.model in MODELS.values()]


def table(frame: pd.DataFrame) -> str:
    """A row a kind of proposals."""
    rows = []
    for kind, model in MODELS.items():
        cells = [summary(frame, metric, data="madelon", model=model) for metric in ("auroc", "ece", "nll")]
        count = str(len(values(frame, "auroc", data="madelon", model=model)))
        paper = figure(*published.PROPOSALS[kind]) if kind in published.PROPOSALS else "-"
        rows.append([kind, count, *cells, paper])
    parts = [grid(["proposals", "splits", "AUROC", "ECE", "NLL", "AUROC in the paper"], rows)]
    top = [[kind, told(frame, "madelon", model)] for kind, model in MODELS.items()]
    top += [["xgboost, the paper", published.TOP_COMPONENTS["madelon"]]]
    top += [["uniform, the paper", published.TOP_COMPONENTS["madelon, uniform"]]]
    return "\n\n".join(
        [*parts, "Leading components on the first split:", grid(["proposals", "components"], top)]
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
