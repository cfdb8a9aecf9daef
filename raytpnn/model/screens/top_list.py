"""The best sets seen so far."""

from __future__ import annotations

import numpy as np

__all__ = ["TopList"]

# Sets that wait, for every one that is kept, before the best are picked.
WAITING = 4


class TopList:
    """Sets with the largest statistics of all that were offered; ties are settled by the sets themselves.

    What is kept does not depend on the order in which sets were offered. A set that is offered several times
    counts once, with its largest statistic.

    Parameters
    ----------
    most : int
        Sets that are kept.
    order : int
        Features of each.
    """

    def __init__(self, most: int, order: int) -> None:
        self.most = most
        # Statistic below which a set has no chance, as far as is known; 0 while there is room.
        self.threshold = 0.0
        self._sets = [np.zeros((0, order), np.int64)]
        self._statistics = [np.zeros(0)]
        self._waiting = 0

    def offer(self, sets: np.ndarray, statistic: np.ndarray) -> None:
        """Take the best of some sets, (k, order), with features in ascending order."""
        good = statistic >= self.threshold
        self._sets.append(sets[good])
        self._statistics.append(np.asarray(statistic[good], np.float64))
        self._waiting += int(good.sum())
        if self._waiting > WAITING * self.most:
            self.best()

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Sets that are kept, (k, order), and their statistics, (k,): the largest first."""
        sets, statistic = np.concatenate(self._sets), np.concatenate(self._statistics)
        by_set = np.lexsort((-statistic, *sets.T[::-1]))
        sets, statistic = sets[by_set], statistic[by_set]
        new = np.ones(len(sets), bool)
        new[1:] = np.any(sets[1:] != sets[:-1], axis=1)
        sets, statistic = sets[new], statistic[new]
        # Sets are in order already: a stable sort keeps that among ties.
        first = np.argsort(-statistic, kind="stable")[: self.most]
        sets, statistic = sets[first], statistic[first]
        self._sets, self._statistics, self._waiting = [sets], [statistic], 0
        if len(sets) == self.most:
            self.threshold = float(statistic[-1])
        return sets, statistic
