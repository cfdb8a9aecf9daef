"""Prediction: RMSE, and AUROC of two classes, of ours and of what users would pick instead.

    python -m examples.paper.prediction [--data servo ...] [--models default xgboost ...] [--splits 5]

The same five random splits 80/20 for every model. A model with something to tune chooses among four settings
by two-fold cross-validation within the training part (`models/base.py`); ours with defaults has nothing to
tune. The same run has the scores of the tables of uncertainty, proposals and out-of-distribution detection.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from examples.paper import published
from examples.paper.command import main
from examples.paper.data import NAMES, SETS, present, read
from examples.paper.markdown import figure, grid, mean_se, paired, summary, values
from examples.paper.models import MODELS, PEERS, evaluate
from examples.paper.models.base import Size
from examples.paper.runner import Case, size_of
from examples.paper.splits import split

NAME = "prediction"
TITLE = "Prediction"
COLUMNS = ("default", "paper", "xgboost", "bart", "bartz", "ebm", "linear")
# Wide data: where proposals that favour features matter.
WIDE = ("default, adaptive", "default, xgboost")
# Data sets of the paper's table of out-of-distribution detection.
NOVELTY = ("heloc", "breast_cancer_wdbc", "telco_churn")
OUTSIDE_ROWS = 500


def cases(options: Any) -> list[Case]:
    """A case a data set, split and model."""
    size = size_of(options)
    return [
        Case(NAME, name, model, number, size)
        for name in options.data
        for model in (*COLUMNS, *(WIDE if name == "madelon" else ()))
        for number in range(options.splits)
    ]


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Fit and score."""
    data = read(folder, case.data)
    rows = split(len(data.y), case.split)
    outside = None
    if case.data in NOVELTY:
        outside = rows_from_elsewhere(folder, data.X.shape[1], case.split)
    size = Size(**case.settings)
    return evaluate(MODELS[case.model], data.X, data.y, rows, data.binary, size, outside).records()


def rows_from_elsewhere(folder: Path | None, p: int, seed: int) -> pd.DataFrame | None:
    """500 rows of p columns of Madelon, standardised; None if it is not there."""
    if not present(folder, ("madelon",))[0]:
        return None
    X = read(folder, "madelon").X
    rng = np.random.default_rng(seed)
    X = X.iloc[rng.choice(len(X), OUTSIDE_ROWS, replace=False), rng.choice(X.shape[1], p, replace=False)]
    return (X - X.mean()) / X.std()


def metric_of(name: str) -> str:
    """Score of the table."""
    return "auroc" if SETS[name].family == "bernoulli" else "rmse"


def gaps(frame: pd.DataFrame, name: str, metric: str, model: str = "default") -> dict[str, np.ndarray]:
    """How much worse a model is than each peer, a value a split that both have; of two splits at least."""
    sign = -1.0 if metric == "auroc" else 1.0
    found = {peer: sign * paired(frame, metric, name, model, peer) for peer in PEERS}
    return {peer: values for peer, values in found.items() if len(values) > 1}


def verdict(frame: pd.DataFrame, name: str, metric: str) -> str:
    """Where the defaults stand against the best peer: ahead, within one standard error, or behind.

    Differences are paired by split, their standard error in brackets; "within" goes by the standard error of
    the defaults' own mean, which the table shows.
    """
    found = gaps(frame, name, metric)
    if not found:
        return "-"
    best = max(found, key=lambda peer: float(np.mean(found[peer])))
    gap, error = mean_se(found[best])
    if gap <= 0:
        return f"ahead of {best} by {figure(-gap, error)}"
    _, spread = mean_se(values(frame, metric, data=name, model="default"))
    return f"{'within one SE of' if gap <= spread else 'behind'} {best}, by {figure(gap, error)}"


def table(frame: pd.DataFrame) -> str:
    """Ours and peers; beside them the paper's figures."""
    names = [name for name in NAMES if name in set(frame["data"])]
    header = ["data", "score", "splits", *COLUMNS, "defaults are"]
    rows = []
    for name in names:
        metric = metric_of(name)
        count = len(values(frame, metric, data=name, model="default"))
        cells = [summary(frame, metric, of=count, data=name, model=model) for model in COLUMNS]
        rows.append([SETS[name].title, metric.upper(), str(count), *cells, verdict(frame, name, metric)])
    parts = [grid(header, rows)]
    wide = [model for model in WIDE if len(values(frame, "auroc", data="madelon", model=model))]
    if wide:
        told = (f"{model} {summary(frame, 'auroc', data='madelon', model=model)}" for model in wide)
        parts.append(f"Madelon, AUROC with other proposals: {'; '.join(told)}.")
    others = ("Bayesian-TPNN", "ANOVA-TPNN", "NAM", "Linear", "XGB", "BART", "mBNN")
    rows = [
        [
            SETS[name].title,
            *(figure(*published.PREDICTION[name][m]) for m in others),
            figure(*published.DEEP_ENSEMBLE[name][0]),
        ]
        for name in names
    ]
    parts += ["The paper's figures, on its own splits:", grid(["data", *others, "Deep Ensemble"], rows)]
    parts.append(times(frame, names))
    return "\n\n".join(parts)


def times(frame: pd.DataFrame, names: list[str]) -> str:
    """CPU seconds of final fits, and of tuning."""
    rows = []
    for name in names:
        cells = []
        for model in COLUMNS:
            fit, _ = mean_se(values(frame, "cpu_seconds", data=name, model=model))
            tuning, _ = mean_se(values(frame, "tuning_cpu_seconds", data=name, model=model))
            cells.append("-" if np.isnan(fit) else f"{fit:.1f} + {tuning:.0f}")
        rows.append([SETS[name].title, *cells])
    return "CPU seconds of a fit with its prediction, + those of tuning:\n\n" + grid(["data", *COLUMNS], rows)


if __name__ == "__main__":
    main(sys.modules[__name__])
