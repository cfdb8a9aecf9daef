"""Counts: the paper's simulated Poisson data, 15,000 rows.

    python -m examples.paper.poisson [--splits 3] [--chains 2] [--warmup 500] [--draws 500]

RMSE of the estimated against the true expectation, exp f, and NLL, both at the rows of the fit, as in the
paper. GBART is not to be had for Python: XGBoost and EBM with their Poisson objectives stand beside, tuned
like in the table of prediction by held-out Poisson loss. NLL of all is of a Poisson with the estimated
mean.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import poisson

from examples.paper import published
from examples.paper.command import main
from examples.paper.markdown import grid, summary, values
from examples.paper.models.base import FOLDS, Size, Task
from examples.paper.models.ours import paper_options, sample
from examples.paper.runner import Case, size_of
from examples.paper.splits import folds
from raytpnn.data.synthetic import Synthetic, make_poisson
from raytpnn.posterior.evaluate.scores import rmse

NAME = "poisson"
TITLE = "Counts (Poisson regression)"
DATA = ()
SOURCES = (NAME,)
DEFAULTS = {"splits": 3, "chains": 2, "warmup": 500, "draws": 500}
ROWS = 15_000
MODELS = ("default", "paper", "xgboost", "ebm")
TREES = ((2, 600, 0.05), (3, 400, 0.05), (4, 300, 0.05), (6, 200, 0.05))
PAIRS = (0, 20)


def cases(options: Any) -> list[Case]:
    """Simulated sets by models."""
    size = size_of(options) | {"n": ROWS}
    return [
        Case(NAME, "poisson", model, number, size) for number in range(options.splits) for model in MODELS
    ]


def boosted(data: Synthetic) -> np.ndarray:
    """XGBoost, depth tuned."""
    from xgboost import XGBRegressor

    def made(setting: tuple[int, int, float]) -> Any:
        depth, trees, rate = setting
        return XGBRegressor(
            objective="count:poisson", max_depth=depth, n_estimators=trees, learning_rate=rate, n_jobs=1
        )

    return tuned(data, made, TREES)


def explained(data: Synthetic) -> np.ndarray:
    """EBM, number of pairs tuned."""
    from interpret.glassbox import ExplainableBoostingRegressor

    def made(pairs: int) -> Any:
        return ExplainableBoostingRegressor(
            objective="poisson_deviance", interactions=pairs, outer_bags=4, n_jobs=1, random_state=0
        )

    return tuned(data, made, PAIRS)


def tuned(data: Synthetic, made: Any, settings: Any) -> np.ndarray:
    """Expectations by the setting with the least held-out loss."""
    losses = []
    for setting in settings:
        found = np.empty(len(data.y))
        for fit, judge in folds(data.y, FOLDS, False):
            found[judge] = made(setting).fit(data.X.iloc[fit], data.y[fit]).predict(data.X.iloc[judge])
        losses.append(-np.mean(poisson.logpmf(data.y, found)))
    return made(settings[int(np.argmin(losses))]).fit(data.X, data.y).predict(data.X)


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Fit and compare with the truth."""
    settings = dict(case.settings)
    data = make_poisson(settings.pop("n"), case.split)
    if case.model in ("default", "paper"):
        options = paper_options() if case.model == "paper" else {}
        task = Task(data.X, data.y, data.X, False, 0, Size(**settings))
        mean = sample(task, family="poisson", **options).predict(data.X)
    else:
        mean = (boosted if case.model == "xgboost" else explained)(data)
    scores = {"rmse": rmse(np.exp(data.f), mean), "nll": -float(np.mean(poisson.logpmf(data.y, mean)))}
    scores["nll of the truth"] = -float(np.mean(poisson.logpmf(data.y, np.exp(data.f))))
    return [{"metric": name, "value": value, "detail": ""} for name, value in scores.items()]


def table(frame: pd.DataFrame) -> str:
    """A row a model."""
    rows = [
        [
            model,
            str(len(values(frame, "rmse", model=model))),
            *(summary(frame, metric, model=model) for metric in ("rmse", "nll")),
        ]
        for model in MODELS
    ]
    rows += [
        [f"{name}, the paper's figures", "-", f"{r:.3f}", f"{n:.3f}"]
        for name, (r, n) in published.POISSON.items()
    ]
    truth = summary(frame, "nll of the truth", model="default")
    return (
        grid(["model", "data sets", "RMSE of the mean", "NLL"], rows) + f"\n\nNLL of the true mean: {truth}."
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
