"""Importances of features in a small XGBoost model."""

from __future__ import annotations

from typing import Any

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.families import Family
from raytpnn.model.marginal import marginal_scores

__all__ = ["xgboost_scores"]

ROUNDS = 50
MAX_BIN = 128
SEED = 0
# Trees on more cost minutes and gigabytes, and find nothing that these do not.
MOST_FEATURES = 4_000
MOST_ROWS = 100_000


def xgboost_scores(bins: Bins, y: np.ndarray, family: Family, sample_weight: np.ndarray) -> np.ndarray:
    """Root of the gain of every feature over all splits of an XGBoost fit, less what splits on noise gain.

    Settings and seed are fixed, and one thread is used, so that equal data gives equal importances. With
    more than 4,000 features the trees see the 4,000 best of the marginal screen, with more than 100,000 rows
    a random 100,000.

    Parameters
    ----------
    bins : Bins
    y : (n,) float64
    family : Family
    sample_weight : (n,) float64

    Returns
    -------
    (p,) float64
        0 or more; all zeros if no split is worth it.

    Raises
    ------
    ImportError
        If XGBoost is not installed.
    """
    xgboost = import_xgboost()
    p, n = bins.codes.shape
    if sample_weight.sum() <= 0.0 or np.ptp(y) == 0.0:
        return np.zeros(p)
    features = np.arange(p)
    if p > MOST_FEATURES:
        screen = marginal_scores(bins, y, family, sample_weight)
        features = np.sort(np.argsort(-screen, kind="stable")[:MOST_FEATURES])
    rows = np.arange(n)
    if n > MOST_ROWS:
        rows = np.sort(np.random.default_rng(SEED).choice(n, MOST_ROWS, replace=False))
    data = xgboost.QuantileDMatrix(
        np.ascontiguousarray(bins.codes[np.ix_(features, rows)].T),
        weight=sample_weight[rows],
        missing=float(bins.missing_code),
        max_bin=MAX_BIN,
        nthread=1,
    )
    # A split on noise gains chi-square(1), the best of m such splits about 2 log(m); the cuts of a feature,
    # being alike, count as about ten.
    noise = 2.0 * float(np.log(10.0 * p))
    target = y[rows]
    if family.boosting_objective == "reg:squarederror":
        # Gains are chi-square only in units of the noise: its size is what a first fit leaves over.
        target = (target - target.mean()) / target.std()
        data.set_label(target)
        left = target - boost(xgboost, data, family, noise).predict(data)
        target = target / max(float(left.std()), 1e-6)
    data.set_label(target)
    nodes = boost(xgboost, data, family, noise).trees_to_dataframe()
    splits = nodes[nodes["Feature"] != "Leaf"]
    place = features[splits["Feature"].str[1:].astype(int).to_numpy()]
    excess = np.maximum(splits["Gain"].to_numpy() - 0.75 * noise, 0.0)
    # Gains are squares: in proportion to them, two strong features would leave nothing to the others.
    return np.sqrt(np.bincount(place, weights=excess, minlength=p))


def boost(xgboost: Any, data: Any, family: Family, noise: float) -> Any:
    """Fit the trees; `noise` is the gain of the best split on noise."""
    settings = {
        "objective": family.boosting_objective,
        "max_depth": 6,
        "eta": 0.1,
        # Half the noise: weak splits may stand above strong ones, as in an exclusive or.
        "gamma": 0.5 * noise,
        "tree_method": "hist",
        "max_bin": MAX_BIN,
        "nthread": 1,
        "seed": SEED,
        "verbosity": 0,
    }
    return xgboost.train(settings, data, ROUNDS)


def import_xgboost() -> Any:
    """Import XGBoost, or say how to install it."""
    try:
        import xgboost
    except ImportError:
        raise ImportError("feature_weights='xgboost' needs XGBoost: pip install 'raytpnn[xgboost]'") from None
    return xgboost
