"""Which components matter: importance, its interval, and the probability of being there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from raytpnn.forward.norms import Norms
from raytpnn.forward.prediction import Predictor

__all__ = [
    "REST",
    "by_importance",
    "check_level",
    "check_size",
    "component_table",
    "contributions",
    "label",
    "shapley",
]

REST = "(rest)"
# Cells of a table of contributions beyond which it would not fit an ordinary machine: 4 GB.
MAX_CELLS = 500_000_000
# Cells of contributions held at a time on the way to Shapley values: 160 MB.
BATCH_CELLS = 20_000_000


def label(features: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """Names of a component's features, in the order of the features."""
    return tuple(names[feature] for feature in features)


def component_table(
    sets: Sequence[Sequence[int]], norms: Norms, names: Sequence[str], level: float
) -> pd.DataFrame:
    """Components by importance, largest first.

    Parameters
    ----------
    sets : sequence of tuples of int
        Features of every component, or input columns.
    norms : Norms
    names : sequence of str
        Names of all encoded features, or of all input columns.
    level : float
        Posterior probability of the interval [importance_low, importance_high], with equal tails.

    Returns
    -------
    DataFrame
        component (tuple of names), order, importance, importance_low, importance_high, share_of_draws.
    """
    check_level(level)
    table = pd.DataFrame(
        {
            "component": pd.Series([label(features, names) for features in sets], dtype=object),
            "order": np.array([len(features) for features in sets], np.int64),
            "importance": norms.mean,
            "importance_low": norms.quantile((1.0 - level) / 2.0),
            "importance_high": norms.quantile((1.0 + level) / 2.0),
            "share_of_draws": norms.share_of_draws,
        }
    )
    return table.iloc[by_importance(norms)].reset_index(drop=True)


def check_level(level: float) -> None:
    """Refuse a level outside (0, 1)."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, not {level!r}")


def by_importance(norms: Norms) -> np.ndarray:
    """Components, the largest mean norm first; ties in the order of `Ensemble.components`."""
    return np.argsort(-norms.mean, kind="stable")


def contributions(
    predictor: Predictor, norms: Norms, codes: np.ndarray, names: Sequence[str], top: int | None = None
) -> pd.DataFrame:
    """Posterior mean of every component at every row.

    Parameters
    ----------
    predictor : Predictor
    norms : Norms
        Decides the order of the columns, and which are the top ones.
    codes : (k, n)
        Codes of the features in use.
    names : sequence of str
    top : int, optional
        Keep this many components and add up the others in a column "(rest)".

    Returns
    -------
    (n, components) DataFrame
        A column label is the tuple of the component's names. Rows add up to the posterior mean of f less
        that of the intercept.

    Raises
    ------
    ValueError
        If `top` is negative, or the table would take more than 4 GB.
    """
    if top is not None and (not isinstance(top, int | np.integer) or top < 0):
        raise ValueError(f"top must be a number of components, 0 or more, not {top!r}")
    ranked = by_importance(norms)
    kept = len(ranked) if top is None else min(int(top), len(ranked))
    n_columns = kept + (top is not None)
    check_size(codes.shape[1], n_columns, "keep fewer components with top=")
    column = np.empty(len(ranked), np.int64)
    column[ranked] = np.minimum(np.arange(len(ranked)), max(n_columns - 1, 0))
    means = predictor.column_means(codes, column, n_columns)
    components = predictor.ensemble.components
    labels: list[object] = [label(components[i], names) for i in ranked[:kept]]
    if top is not None:
        labels.append(REST)
    return pd.DataFrame(means, columns=pd.Index(labels, dtype=object, tupleize_cols=False))


def shapley(
    predictor: Predictor, codes: np.ndarray, names: Sequence[str], used_only: bool = False
) -> pd.DataFrame:
    """Exact Shapley values of f: feature j gets the sum over components S that hold it of f_S / |S|.

    Parameters
    ----------
    predictor : Predictor
    codes : (k, n)
        Codes of the features in use.
    names : sequence of str
    used_only : bool
        Leave out the features that no draw uses, whose value is 0.

    Returns
    -------
    (n, features) DataFrame
        Posterior means, a column an encoded feature. Rows add up to the posterior mean of f less that of the
        intercept.

    Raises
    ------
    ValueError
        If the table would take more than 4 GB.
    """
    ensemble = predictor.ensemble
    columns = ensemble.used.tolist() if used_only else list(range(len(names)))
    check_size(codes.shape[1], len(columns), "give fewer rows, or used_only=True")
    values = np.zeros((len(columns), codes.shape[1]))
    place = {feature: i for i, feature in enumerate(columns)}
    # Some components at a time, so that never all of their contributions stand side by side.
    step = max(1, BATCH_CELLS // max(codes.shape[1], 1))
    for start in range(0, len(ensemble.components), step):
        batch = range(start, min(start + step, len(ensemble.components)))
        column = np.full(len(ensemble.components), -1, np.int64)
        column[batch.start : batch.stop] = np.arange(len(batch))
        means = predictor.column_means(codes, column, len(batch))
        for i in batch:
            features = ensemble.components[i]
            for feature in features:
                values[place[feature]] += means[:, i - start] / len(features)
    return pd.DataFrame(values.T, columns=pd.Index([names[feature] for feature in columns]))


def check_size(n: int, columns: int, what: str) -> None:
    """Refuse a table that would not fit an ordinary machine."""
    if n * columns > MAX_CELLS:
        raise ValueError(
            f"{n:,} rows x {columns:,} columns would take {n * columns * 8 / 1e9:.1f} GB; {what}"
        )
