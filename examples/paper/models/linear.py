"""Ridge regression, or logistic regression with the same penalty."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LogisticRegression, Ridge

from examples.paper.models.base import Task
from examples.paper.models.encode import to_numbers
from examples.paper.scores import Forecast

__all__ = ["Linear"]

PENALTIES = (0.1, 1.0, 10.0, 100.0)


class Linear:
    """The penalty is tuned."""

    def candidates(self) -> list[dict[str, Any]]:
        """Weights of the squared norm of the coefficients."""
        return [{"penalty": value} for value in PENALTIES]

    def forecast(self, task: Task, settings: dict[str, Any]) -> Forecast:
        """Fit on standardised numbers."""
        X, X_new = to_numbers(task.X, task.X_new)
        if task.binary:
            model = LogisticRegression(C=1 / settings["penalty"], max_iter=2000).fit(X, task.y)
            return Forecast(model.predict_proba(X_new)[:, 1])
        return Forecast(Ridge(settings["penalty"]).fit(X, task.y).predict(X_new))
