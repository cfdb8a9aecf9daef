"""How good predicted survival is, by scikit-survival."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["harrell", "integrated_brier", "structured", "survival_scores", "uno"]

# Shares of the training events between which a Brier score is integrated, and at how many times.
FIRST, LAST, TIMES = 0.1, 0.8, 50


def metrics() -> Any:
    """scikit-survival's metrics, or how to install them."""
    try:
        from sksurv import metrics
    except ImportError:
        raise ImportError(
            "scores of survival need scikit-survival: pip install 'raytpnn[survival]'"
        ) from None
    return metrics


def structured(times: np.ndarray) -> np.ndarray:
    """Times with a sign as scikit-survival's structured array."""
    return np.array(
        list(zip(times > 0.0, np.abs(times), strict=True)), dtype=[("event", bool), ("time", np.float64)]
    )


def watched_so_long(train: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Times, cut short where the training times end: of censoring beyond nothing is known."""
    last = float(np.abs(train).max())
    return np.where(np.abs(times) < last, times, -last)


def harrell(times: np.ndarray, risk: np.ndarray) -> float:
    """Harrell's concordance; NaN if no two rows can be compared."""
    try:
        return float(metrics().concordance_index_censored(times > 0.0, np.abs(times), risk)[0])
    except ValueError:
        return float("nan")


def uno(train: np.ndarray, times: np.ndarray, risk: np.ndarray, until: float | None = None) -> float:
    """Uno's concordance, with weights by the censoring of the training times, up to a time."""
    return float(
        metrics().concordance_index_ipcw(
            structured(train), structured(watched_so_long(train, times)), risk, tau=until
        )[0]
    )


def integrated_brier(train: np.ndarray, times: np.ndarray, curves: np.ndarray, at: np.ndarray) -> float:
    """Integrated Brier score of survival curves (n, m) at times (m,)."""
    return float(
        metrics().integrated_brier_score(
            structured(train), structured(watched_so_long(train, times)), curves, at
        )
    )


def survival_scores(posterior: Any, X: Any, times: np.ndarray, offset: Any = None) -> dict[str, float]:
    """Scores of rows not used for fitting.

    Returns
    -------
    dict
        nll; concordance (Harrell), uno and brier (integrated between times at which 10% and 80% of the
        training events have come).
    """
    train = posterior.times
    events = np.abs(train[train > 0.0])
    first, until = (float(time) for time in np.quantile(events, (FIRST, LAST)))
    at = np.linspace(first, until, TIMES)
    seen = np.abs(times)
    at = at[(at > seen.min()) & (at < seen.max())]
    risk = posterior.risk(X, offset)
    return {
        "nll": -float(np.mean(posterior.log_density_of(X, times, offset))),
        "concordance": harrell(times, risk),
        "uno": uno(train, times, risk, until),
        "brier": integrated_brier(train, times, posterior.survival_curves(X, at, offset), at),
    }
