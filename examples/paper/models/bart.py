"""Bayesian additive regression trees, by stochtree."""

from __future__ import annotations

from typing import Any

import numpy as np

from examples.paper.models.base import Task
from examples.paper.models.encode import to_numbers
from examples.paper.scores import Forecast

__all__ = ["Bart", "sample_trees"]

# Warm starts of the forest by stochtree's grow-from-root algorithm, which the paper's BART did not have.
WARM_STARTS = 10
REHEARSAL_DRAWS = 50


class Bart:
    """The number of trees and the prior of a tree's depth are tuned."""

    def candidates(self) -> list[dict[str, Any]]:
        """Few and many trees; splits more or less likely."""
        return [{"num_trees": trees, "beta": beta} for trees in (50, 100) for beta in (2.0, 1.0)]

    def forecast(self, task: Task, settings: dict[str, Any]) -> Forecast:
        """One chain, as in the paper: a warm start, then draws; fewer draws to judge a setting."""
        draws = REHEARSAL_DRAWS if task.rehearsal else task.size.draws
        model, X_new = sample_trees(task, settings, 0, draws)
        if task.binary:
            return Forecast(np.asarray(model.predict(X_new, scale="probability", terms="y_hat")).mean(axis=1))
        drawn = np.asarray(model.predict(X_new, terms="y_hat")).T
        return Forecast(drawn.mean(axis=0), drawn, np.asarray(model.global_var_samples, np.float64))


def sample_trees(task: Task, settings: dict[str, Any], burn_in: int, draws: int) -> Any:
    """A fitted model and the new rows as it wants them; with a burn-in there is no warm start."""
    from stochtree import BARTModel, OutcomeModel

    X, X_new = to_numbers(task.X, task.X_new)
    general: dict[str, Any] = {"random_seed": task.seed + 1, "num_threads": 1}
    if task.binary:
        general["outcome_model"] = OutcomeModel(outcome="binary", link="probit")
    model = BARTModel()
    model.sample(
        X_train=X,
        y_train=task.y,
        num_gfr=0 if burn_in else WARM_STARTS,
        num_burnin=burn_in,
        num_mcmc=draws,
        general_params=general,
        mean_forest_params=dict(settings),
    )
    return model, X_new
