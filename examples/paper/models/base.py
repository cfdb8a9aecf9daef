"""What a model is, and how one is tuned, fitted and scored on a split.

Every model that has something to tune gets the same budget: at most `CANDIDATES` settings, each judged by
`FOLDS`-fold cross-validation within the training part, by squared error or log loss.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy.special import ndtr

from examples.paper.scores import Forecast, detection_auroc, score
from examples.paper.splits import folds

__all__ = ["CANDIDATES", "FOLDS", "Model", "Outcome", "Size", "Task", "evaluate"]

CANDIDATES = 4
FOLDS = 2


@dataclass(frozen=True)
class Size:
    """How long samplers run: chains, and sweeps of each before and after the draws begin."""

    chains: int = 4
    warmup: int = 1000
    draws: int = 1000


@dataclass(frozen=True)
class Task:
    """One fit: rows to learn from, rows to predict.

    Attributes
    ----------
    X, y : DataFrame, (n,)
    X_new : DataFrame
    binary : bool
    seed : int
    size : Size
    rehearsal : bool
        Whether the fit only judges a setting; samplers and bags may be shorter then.
    """

    X: pd.DataFrame
    y: np.ndarray
    X_new: pd.DataFrame
    binary: bool
    seed: int
    size: Size
    rehearsal: bool = False


class Model(Protocol):
    """A model and the settings it is tuned over."""

    def candidates(self) -> list[dict[str, Any]]:
        """Settings to choose from; a single one is taken as it is."""

    def forecast(self, task: Task, settings: dict[str, Any]) -> Forecast:
        """Fit and predict."""


@dataclass(frozen=True)
class Outcome:
    """Scores on a test part, what was chosen, and what it took.

    Attributes
    ----------
    scores : dict
    chosen : dict
        Settings of the fit.
    seconds, cpu_seconds : float
        Of the final fit and its prediction.
    tuning_seconds : float
        CPU seconds of the choice of settings.
    notes : dict
        See `Forecast`.
    """

    scores: dict[str, float]
    chosen: dict[str, Any]
    seconds: float
    cpu_seconds: float
    tuning_seconds: float
    notes: dict[str, str] = field(default_factory=dict)

    def records(self) -> list[dict[str, Any]]:
        """Rows of a tidy table: metric, value, detail."""
        told = self.scores | {
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "tuning_cpu_seconds": self.tuning_seconds,
        }
        rows = [{"metric": name, "value": float(value), "detail": ""} for name, value in told.items()]
        notes = {"chosen": json.dumps(self.chosen, default=str)} | self.notes
        return [*rows, *({"metric": n, "value": float("nan"), "detail": text} for n, text in notes.items())]


def evaluate(
    model: Model,
    X: pd.DataFrame,
    y: np.ndarray,
    rows: tuple[np.ndarray, np.ndarray],
    binary: bool,
    size: Size,
    outside: pd.DataFrame | None = None,
) -> Outcome:
    """Choose settings in the training part, fit there, and score the test part.

    Parameters
    ----------
    model : Model
    X, y : DataFrame, (n,)
        The whole table.
    rows : pair of int arrays
        For training and for testing.
    binary : bool
    size : Size
    outside : DataFrame, optional
        Of two classes: standardised rows from elsewhere. How well certainty tells test rows from them is one
        more score, "detection".
    """
    train, test = rows
    X_train, y_train = X.iloc[train].reset_index(drop=True), y[train]
    begin = time.process_time()
    chosen, variance = choose(model, X_train, y_train, binary, size)
    tuned = time.process_time()
    start = time.monotonic()
    X_new = X.iloc[test].reset_index(drop=True)
    if outside is not None:
        X_new = pd.concat([X_new, on_scale_of(X_train, outside)], ignore_index=True)
    found = model.forecast(Task(X_train, y_train, X_new, binary, seed=0, size=size), chosen)
    cpu, wall = time.process_time() - tuned, time.monotonic() - start
    if not binary and found.variance is None:
        found = replace(found, variance=variance)
    scores = score(y[test], found.part(slice(len(test))), binary)
    if outside is not None:
        scores["detection"] = detection_auroc(found.mean[: len(test)], found.mean[len(test) :])
    return Outcome(scores, chosen, wall, cpu, tuned - begin, found.notes)


def on_scale_of(X: pd.DataFrame, outside: pd.DataFrame) -> pd.DataFrame:
    """Standardised rows as rows of a table.

    Numbers, of mean 0 and variance 1, get mean and variance of the table's column; for text, equal shares of
    the normal distribution become the levels.
    """
    columns = {}
    for name, values in zip(X.columns, outside.to_numpy(np.float64).T, strict=True):
        if pd.api.types.is_numeric_dtype(X[name]):
            columns[name] = values * X[name].std() + X[name].mean()
        else:
            levels = np.sort(X[name].dropna().unique())
            place = (ndtr(values) * len(levels)).astype(np.int64)
            columns[name] = levels[np.minimum(place, len(levels) - 1)]
    return pd.DataFrame(columns)


def choose(
    model: Model, X: pd.DataFrame, y: np.ndarray, binary: bool, size: Size
) -> tuple[dict[str, Any], float | None]:
    """Best of a model's settings by cross-validation, and its mean squared error on held-out rows."""
    candidates = model.candidates()
    if len(candidates) == 1:
        return candidates[0], None
    if len(candidates) > CANDIDATES:
        raise ValueError(f"{len(candidates)} settings are more than the budget of {CANDIDATES}")
    losses = []
    for settings in candidates:
        found = np.empty(len(y))
        for fit, judge in folds(y, FOLDS, binary):
            task = Task(X.iloc[fit], y[fit], X.iloc[judge], binary, seed=0, size=size, rehearsal=True)
            found[judge] = model.forecast(task, settings).mean
        losses.append(loss(y, found, binary))
    best = int(np.argmin(losses))
    return candidates[best], losses[best]


def loss(y: np.ndarray, found: np.ndarray, binary: bool) -> float:
    """Mean log loss of two classes, mean squared error of numbers."""
    if binary:
        return score(y, Forecast(found), True)["nll"]
    return float(np.mean((y - found) ** 2))
