"""raytpnn: with its defaults, and as the paper's sampler with the paper's hyperparameters."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np

import raytpnn
from examples.paper.models.base import Size, Task
from examples.paper.scores import Forecast

__all__ = ["Ours", "PaperSampler", "forecast_of", "paper_options", "sample"]


def sample(task: Task, size: Size | None = None, **options: Any) -> raytpnn.Posterior:
    """Fit; the draws do not depend on where it runs.

    Raises
    ------
    KeyboardInterrupt
        If it was interrupted. `raytpnn.sample` returns what it has then; that must not become a result.
    """
    size = size or task.size
    family = "bernoulli" if task.binary else "gaussian"
    told = asdict(size) | {"family": family, "seed": task.seed, "executor": "threads"}
    post = raytpnn.sample(task.X, task.y, **(told | options))
    if post.draws.n_draws != size.chains * size.draws:
        raise KeyboardInterrupt(f"interrupted: {post.draws.n_draws} of {size.chains * size.draws} draws")
    return post


def forecast_of(post: raytpnn.Posterior, X_new: Any) -> Forecast:
    """Forecast of a posterior; its notes are the mean of K and the leading components."""
    scalars = post.scalars()
    notes = {"terms": f"{scalars['K'].mean():.1f}", "components": json.dumps(leading(post))}
    if post.family.binary:
        return Forecast(post.predict(X_new), notes=notes)
    return Forecast(post.predict(X_new), post.predict_draws(X_new), np.asarray(scalars["nuisance"]), notes)


def leading(post: raytpnn.Posterior, count: int = 5) -> list[tuple[list[str], float]]:
    """Leading components and their importance over the largest."""
    table = post.components().head(count)
    most = float(table["importance"].max()) if len(table) else 1.0
    return [
        (list(names), float(value) / most)
        for names, value in zip(table["component"], table["importance"], strict=True)
    ]


class Ours:
    """Default settings; nothing is tuned.

    Parameters
    ----------
    **options
        Of `raytpnn.sample`, for variants.
    """

    def __init__(self, **options: Any) -> None:
        self.options = options

    def candidates(self) -> list[dict[str, Any]]:
        """One setting."""
        return [dict(self.options)]

    def forecast(self, task: Task, settings: dict[str, Any]) -> Forecast:
        """Fit and predict."""
        return forecast_of(sample(task, **settings), task.X_new)


# The paper's grid has 1,458 settings: here the two that matter most vary, the others are at their middle.
GRID = [(sigma, b) for sigma in (1e-3, 1e-2) for b in (1e-3, 1e-2)]
REHEARSAL = Size(1, 300, 300)


def paper_options(**prior: Any) -> dict[str, Any]:
    """Options of `raytpnn.sample` for the paper's sampler with hyperparameters from its grid."""
    own = replace(raytpnn.Prior.paper(), **({"sigma_beta2": 1e-2} | prior))
    return {"prior": own, "moves": raytpnn.Moves.paper()}


class PaperSampler:
    """`Moves.paper()` and features proposed by their importance in XGBoost; variances of terms are tuned."""

    def candidates(self) -> list[dict[str, Any]]:
        """Four settings of the paper's grid."""
        return [{"sigma_beta2": sigma, "b_gamma": b} for sigma, b in GRID]

    def forecast(self, task: Task, settings: dict[str, Any]) -> Forecast:
        """Fit and predict; a short chain to judge a setting."""
        size = REHEARSAL if task.rehearsal else task.size
        post = sample(task, size, feature_weights="xgboost", **paper_options(**settings))
        return forecast_of(post, task.X_new)
