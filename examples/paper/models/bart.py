"""Bayesian additive regression trees, by stochtree and by bartz, as each recommends them.

Both have 200 trees and as many chains as ours; nothing is tuned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from examples.paper.models.base import Task
from examples.paper.models.encode import to_numbers
from examples.paper.scores import Forecast

__all__ = ["Bart", "Bartz", "sample_trees"]

TREES = 200
# Warm starts of the forest by stochtree's grow-from-root algorithm, which the paper's BART did not have.
WARM_STARTS = 10


class Bart:
    """Trees by stochtree: warm starts, then draws, one chain after the other."""

    def candidates(self) -> list[dict[str, Any]]:
        """One setting."""
        return [{"num_trees": TREES}]

    def forecast(self, task: Task, settings: dict[str, Any]) -> Forecast:
        """Fit and predict."""
        means, variances = [], []
        for chain in range(task.size.chains):
            model, X_new = sample_trees(task, settings, 0, task.size.draws, chain)
            if task.binary:
                means.append(np.asarray(model.predict(X_new, scale="probability", terms="y_hat")).T)
            else:
                means.append(np.asarray(model.predict(X_new, terms="y_hat")).T)
                variances.append(np.asarray(model.global_var_samples, np.float64))
        drawn = np.concatenate(means)
        if task.binary:
            return Forecast(drawn.mean(axis=0))
        return Forecast(drawn.mean(axis=0), drawn, np.concatenate(variances))


class Bartz:
    """Trees by bartz: all chains in one compiled loop."""

    def candidates(self) -> list[dict[str, Any]]:
        """One setting."""
        return [{"ntree": TREES}]

    def forecast(self, task: Task, settings: dict[str, Any]) -> Forecast:
        """Fit and predict."""
        from bartz.BART import mc_gbart

        X, X_new = (part.astype(np.float32) for part in to_numbers(task.X, task.X_new))
        size = task.size
        fitted = mc_gbart(
            X,
            task.y.astype(np.float32),
            x_test=X_new,
            type="pbart" if task.binary else "wbart",
            ndpost=size.chains * size.draws,
            nskip=size.warmup,
            keepevery=1,
            mc_cores=size.chains,
            printevery=None,
            seed=task.seed,
            **settings,
        )
        drawn = np.asarray(fitted.yhat_test, np.float64)
        if task.binary:
            return Forecast(ndtr(drawn).mean(axis=0))
        # One column a chain, burn-in first.
        variance = np.asarray(fitted.sigma, np.float64)[-size.draws :].T.ravel() ** 2
        return Forecast(drawn.mean(axis=0), drawn, variance)


def sample_trees(task: Task, settings: dict[str, Any], burn_in: int, draws: int, chain: int = 0) -> Any:
    """A chain of stochtree and the new rows as it wants them; with a burn-in there is no warm start."""
    from stochtree import BARTModel, OutcomeModel

    X, X_new = to_numbers(task.X, task.X_new)
    seed = task.size.chains * task.seed + chain + 1
    general: dict[str, Any] = {"random_seed": seed, "num_threads": 1}
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
