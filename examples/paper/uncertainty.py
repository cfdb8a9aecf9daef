"""Uncertainty: CRPS and NLL of numbers, ECE and NLL of two classes.

    python -m examples.paper.uncertainty [options of prediction]

From the run of the table of prediction. Ours and BART predict a mixture over draws; XGBoost, EBM and ridge a
normal error around their mean, with the mean squared error that they had in the cross-validation which chose
their settings. ECE has 15 bins of equal width.
"""

from __future__ import annotations

import sys

import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.data import NAMES, SETS
from examples.paper.markdown import figure, grid, summary, values
from examples.paper.prediction import COLUMNS, WIDE, cases, run, verdict

__all__ = ["cases", "run", "table"]

NAME = "uncertainty"
TITLE = "Uncertainty"
SOURCES = ("prediction",)


def metrics_of(name: str) -> tuple[str, str]:
    """Scores of the table."""
    return ("ece", "nll") if SETS[name].family == "bernoulli" else ("crps", "nll")


def table(frame: pd.DataFrame) -> str:
    """A row a data set and score."""
    names = [name for name in NAMES if name in set(frame["data"])]
    rows, printed = [], []
    for name in names:
        for i, metric in enumerate(metrics_of(name)):
            count = len(values(frame, metric, data=name, model="default"))
            cells = [summary(frame, metric, of=count, data=name, model=model) for model in COLUMNS]
            rows.append([SETS[name].title, metric.upper(), str(count), *cells, verdict(frame, name, metric)])
            paper = [figure(*published.UNCERTAINTY[name][m][i]) for m in ("Bayesian-TPNN", "BART", "mBNN")]
            paper.append(figure(*published.DEEP_ENSEMBLE[name][i + 1]))
            printed.append([SETS[name].title, metric.upper(), *paper])
    parts = [grid(["data", "score", "splits", *COLUMNS, "defaults are"], rows)]
    wide = [model for model in WIDE if model in set(frame["model"])]
    if wide:
        told = (
            f"{model}: ECE {summary(frame, 'ece', data='madelon', model=model)}, "
            f"NLL {summary(frame, 'nll', data='madelon', model=model)}"
            for model in wide
        )
        parts.append(f"Madelon with other proposals. {'; '.join(told)}.")
    parts += ["The paper's figures, on its own splits:"]
    parts.append(grid(["data", "score", "Bayesian-TPNN", "BART", "mBNN", "Deep Ensemble"], printed))
    return "\n\n".join(parts)


if __name__ == "__main__":
    main(sys.modules[__name__])
