"""The best sets seen so far."""

from __future__ import annotations

import numpy as np

__all__ = ["TopList"]


class TopList:
    """Sets with the largest statistics of all that were offered; ties are settled by the sets themselves.

    What is kept does not depend on the order in which sets were offered.

    Parameters
    ----------
    most : int
        Sets that are kept.
    order : int
        Features of each.
    """

    def __init__(self, most: int, order: int) -> None:
        self.most = most
        self.sets = np.zeros((0, order), np.int64)
        self.statistic = np.zeros(0)

    @property
    def threshold(self) -> float:
        """Statistic below which a set has no chance; 0 while there is room."""
        return float(self.statistic[-1]) if len(self.statistic) >= self.most else 0.0

    def offer(self, sets: np.ndarray, statistic: np.ndarray) -> None:
        """Take the best of some sets, (k, order), with features in ascending order, none offered twice."""
        good = statistic >= self.threshold
        sets = np.concatenate([self.sets, sets[good]])
        statistic = np.concatenate([self.statistic, np.asarray(statistic[good], np.float64)])
        order = np.lexsort((*sets.T[::-1], -statistic))[: self.most]
        self.sets, self.statistic = sets[order], statistic[order]
