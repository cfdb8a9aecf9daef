"""Explainable boosting machines, by interpret-core."""

from __future__ import annotations

from typing import Any

from examples.paper.models.base import Task
from examples.paper.scores import Forecast

__all__ = ["Ebm"]

# Bags of the models that only judge a setting; the final one has the package's number.
REHEARSAL_BAGS = 1


class Ebm:
    """The number of pairs and the learning rate are tuned."""

    def candidates(self) -> list[dict[str, Any]]:
        """Main effects only, or twenty pairs; slow or less slow."""
        return [{"interactions": pairs, "learning_rate": rate} for pairs in (0, 20) for rate in (0.015, 0.05)]

    def forecast(self, task: Task, settings: dict[str, Any]) -> Forecast:
        """Fit with the package's other defaults."""
        from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

        bags = {"outer_bags": REHEARSAL_BAGS} if task.rehearsal else {}
        kind = ExplainableBoostingClassifier if task.binary else ExplainableBoostingRegressor
        model = kind(**settings, **bags, random_state=task.seed, n_jobs=1).fit(task.X, task.y)
        return Forecast(model.predict_proba(task.X_new)[:, 1] if task.binary else model.predict(task.X_new))
