"""Component selection on f1, f2 and f3: AUROC of the importance of all subsets of 50 features.

    python -m examples.paper.selection [--splits 3] [--chains 2] [--warmup 500] [--draws 500]

The fits and scores of `examples/component_selection.py`, n = 5,000 (the paper does not give n). A split is a
simulated data set. "uniform" and "xgboost" say how features are proposed; "oracle" is the most that evidence
for single components allows at this n.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pandas as pd

from examples.component_selection import ORDERS, fit_and_score, oracle_auroc
from examples.paper import published
from examples.paper.command import main
from examples.paper.markdown import figure, grid, summary, values
from examples.paper.runner import Case, size_of

__all__ = ["cases", "run", "table"]

NAME = "selection"
TITLE = "Component selection"
DATA = ()
SOURCES = (NAME,)
DEFAULTS = {"splits": 3, "chains": 2, "warmup": 500, "draws": 500}
ROWS = 5000
MODELS = ("uniform", "xgboost")


def cases(options: Any) -> list[Case]:
    """Three functions, two kinds of proposals."""
    size = size_of(options) | {"n": ROWS}
    return [
        Case(NAME, name, model, number, size)
        for name in published.SELECTION
        for number in range(options.splits)
        for model in MODELS
    ]


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Fit, and rank all subsets."""
    options = Namespace(
        **case.settings, thin=1, sigma_beta2=None, C0=0.0, sharing=0.0, M=5.0, feature_weights=case.model
    )
    (importance, *_), worst = fit_and_score(case.data, case.split, options)
    rows = [
        {"metric": f"order {order}", "value": value} for order, value in zip(ORDERS, importance, strict=True)
    ]
    rows.append({"metric": "worst R-hat of f", "value": float(worst)})
    return [row | {"detail": ""} for row in rows]


def table(frame: pd.DataFrame) -> str:
    """A row a function and order."""
    others = ("Bayesian-TPNN", "UBayesian-TPNN", "ANOVA-T2PNN", "NA2M")
    rows = []
    for name, paper in published.SELECTION.items():
        for i, order in enumerate(ORDERS):
            cells = [summary(frame, f"order {order}", data=name, model=model) for model in MODELS]
            count = str(len(values(frame, f"order {order}", data=name, model="uniform")))
            printed = [figure(paper[m][i]) if i < len(paper[m]) else "-" for m in others]
            rows.append([name, str(order), count, *cells, f"{oracle_auroc(name, ROWS, order):.3f}", *printed])
    return grid(["function", "order", "sets", *MODELS, "oracle", *(f"paper: {m}" for m in others)], rows)


if __name__ == "__main__":
    main(sys.modules[__name__])
