"""Survival of every draw as a function of time, by the law of the family."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

__all__ = ["Curves", "PiecewiseCurves", "WeibullCurves", "quantile_times"]

# Halvings of the logarithm of a bracket: to the last digits that matter.
HALVINGS = 60
# Values of time between which all answers are looked for.
SHORTEST, LONGEST = 1e-300, 1e300


class Curves(ABC):
    """Survival curves of D draws for n persons."""

    @abstractmethod
    def cumulative(self, time: np.ndarray | float) -> np.ndarray:
        """-log P(T > time), (D, n); time is one number or (n,), 0 or more."""

    @abstractmethod
    def log_hazard(self, time: np.ndarray | float) -> np.ndarray:
        """Log hazard, (D, n)."""

    @abstractmethod
    def time_of(self, cumulative: float) -> np.ndarray:
        """Time at which the cumulative hazard is so large, (D, n)."""

    def survival(self, time: np.ndarray | float) -> np.ndarray:
        """P(T > time), (D, n)."""
        return np.exp(-self.cumulative(time))

    def log_density(self, times: np.ndarray) -> np.ndarray:
        """Log density of times of events; log P(T > time) of those cut short, which are negative; (D, n)."""
        time = np.abs(times)
        return np.where(times > 0.0, self.log_hazard(time), 0.0) - self.cumulative(time)


class WeibullCurves(Curves):
    """Log T = f + eta log E, E exponential.

    Parameters
    ----------
    f : (D, n)
    spread : (D, 1)
    """

    def __init__(self, f: np.ndarray, spread: np.ndarray):
        self.f, self.spread = f, spread

    def cumulative(self, time):
        """As `Curves` says."""
        with np.errstate(over="ignore"):
            return np.exp((np.log(np.maximum(time, SHORTEST)) - self.f) / self.spread)

    def log_hazard(self, time):
        """As `Curves` says."""
        return (np.log(time) - self.f) / self.spread - np.log(self.spread) - np.log(time)

    def time_of(self, cumulative):
        """As `Curves` says."""
        return np.exp(self.f + self.spread * np.log(cumulative))


class PiecewiseCurves(Curves):
    """A hazard that stays in intervals of time; the last one goes on for ever.

    Parameters
    ----------
    starts : (J,)
        Of the intervals.
    log_hazard : (J, D, n)
    """

    def __init__(self, starts: np.ndarray, log_hazard: np.ndarray):
        self.starts = starts
        self.hazard = np.exp(log_hazard)
        self.before = np.zeros_like(self.hazard)
        np.cumsum(self.hazard[:-1] * np.diff(starts)[:, None, None], axis=0, out=self.before[1:])

    def interval(self, time: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        """Interval of a time of every person, and where it is in `hazard`."""
        times = np.broadcast_to(np.asarray(time, np.float64), (self.hazard.shape[2],))
        place = np.maximum(np.searchsorted(self.starts, times, side="left") - 1, 0)
        return place, times

    def at(self, values: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Values (J, D, n) at one interval a person, (D, n)."""
        return np.take_along_axis(values, place[None, None, :], axis=0)[0]

    def cumulative(self, time):
        """As `Curves` says."""
        place, times = self.interval(time)
        return self.at(self.before, place) + self.at(self.hazard, place) * (times - self.starts[place])

    def log_hazard(self, time):
        """As `Curves` says."""
        return np.log(self.at(self.hazard, self.interval(time)[0]))

    def time_of(self, cumulative):
        """As `Curves` says."""
        place = np.sum(self.before[1:] < cumulative, axis=0)[None]
        before, hazard = (np.take_along_axis(x, place, axis=0)[0] for x in (self.before, self.hazard))
        return self.starts[place[0]] + (cumulative - before) / hazard


def quantile_times(curves: Curves, q: float) -> np.ndarray:
    """Time by which an event has come with probability q, all draws taken together, (n,)."""
    own = curves.time_of(-np.log1p(-q))
    # The mixture's quantile lies between the smallest and the largest of its parts.
    low = np.log(np.clip(own.min(axis=0), SHORTEST, LONGEST))
    high = np.log(np.clip(own.max(axis=0), SHORTEST, LONGEST))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        reached = curves.survival(np.exp(middle)).mean(axis=0) <= 1.0 - q
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        if np.all(high - low < 1e-10):
            break
    return np.exp(high)
