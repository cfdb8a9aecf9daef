"""Uncertainty of models that are not Bayesian.

    python -m examples.paper.nonbayesian [options of prediction]

From the run of the table of prediction. The paper does not say how its CRPS of such models is made and
gives no NLL of numbers; by their size they may be the mean absolute error, which is the CRPS of a
prediction without uncertainty. Shown here are that, and CRPS and NLL with a normal error whose variance
comes from held-out rows.
"""

from __future__ import annotations

import sys

import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.data import NAMES, SETS
from examples.paper.markdown import figure, grid, summary, values
from examples.paper.prediction import cases, run

__all__ = ["cases", "run", "table"]

NAME = "nonbayesian"
TITLE = "Uncertainty of models that are not Bayesian"
SOURCES = ("prediction",)
MODELS = ("default", "xgboost", "ebm", "linear")
WORDS = {"mae": "MAE (CRPS of a point)", "crps": "CRPS, normal error", "nll": "NLL", "ece": "ECE"}


def table(frame: pd.DataFrame) -> str:
    """A row a data set and score."""
    rows = []
    for name in (name for name in NAMES if name in set(frame["data"])):
        binary = SETS[name].family == "bernoulli"
        paper = published.NON_BAYESIAN[name]
        for metric in ("ece", "nll") if binary else ("mae", "crps", "nll"):
            place = {"ece": 0, "mae": 0, "nll": 1 if binary else None}.get(metric)
            told = "-"
            if place is not None:
                told = "; ".join(f"{model} {figure(*figures[place])}" for model, figures in paper.items())
            count = len(values(frame, metric, data=name, model="default"))
            cells = [summary(frame, metric, of=count, data=name, model=model) for model in MODELS]
            rows.append([SETS[name].title, WORDS[metric], str(count), *cells, told])
    return grid(["data", "score", "splits", *MODELS, "the paper (its splits)"], rows)


if __name__ == "__main__":
    main(sys.modules[__name__])
