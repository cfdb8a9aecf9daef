"""XGBoost."""

from __future__ import annotations

import os
from typing import Any

import pandas as pd

from examples.paper.models.base import Task
from examples.paper.models.encode import text_columns
from examples.paper.scores import Forecast

__all__ = ["Boosting"]

# Depth, trees, learning rate and rows a tree: from smooth and additive to deep.
GRID = ((2, 600, 0.05, 0.8), (3, 300, 0.05, 0.8), (5, 300, 0.05, 0.8), (8, 400, 0.03, 0.5))


class Boosting:
    """Depth, number of trees, learning rate and share of rows are tuned."""

    def candidates(self) -> list[dict[str, Any]]:
        """A line from shallow to deep."""
        names = ("max_depth", "n_estimators", "learning_rate", "subsample")
        return [dict(zip(names, values, strict=True)) for values in GRID]

    def forecast(self, task: Task, settings: dict[str, Any]) -> Forecast:
        """Fit on numbers as they are; text is split on by level."""
        from xgboost import XGBClassifier, XGBRegressor

        X, X_new = levels(task.X, task.X_new)
        kind = XGBClassifier if task.binary else XGBRegressor
        model = kind(
            **settings,
            colsample_bytree=0.8,
            tree_method="hist",
            enable_categorical=True,
            random_state=task.seed,
            n_jobs=int(os.environ.get("RAYTPNN_THREADS", "1")),
        ).fit(X, task.y)
        return Forecast(model.predict_proba(X_new)[:, 1] if task.binary else model.predict(X_new))


def levels(X: pd.DataFrame, X_new: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Text columns as categories of the training rows."""
    X, X_new = X.copy(), X_new.copy()
    for name in text_columns(X):
        X[name] = X[name].astype("category")
        X_new[name] = pd.Categorical(X_new[name], categories=X[name].cat.categories)
    return X, X_new
