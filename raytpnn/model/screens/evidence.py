"""From score statistics to how likely a set is an effect, among so many."""

from __future__ import annotations

from math import log

import numpy as np

__all__ = ["evidence", "log_evidence"]


def log_evidence(statistic: np.ndarray) -> np.ndarray:
    """Rough log Bayes factor of an effect against none, from its score statistic."""
    return 0.5 * statistic - 0.5 * np.log1p(statistic)


def evidence(statistic: np.ndarray, sets: int) -> np.ndarray:
    """Rough probability that a set is an effect, from its statistic among so many sets, between 0 and 1."""
    log_odds = log_evidence(statistic) - log(max(sets, 2))
    return 0.5 * (1.0 + np.tanh(0.5 * np.clip(log_odds, -600.0, 600.0)))
