"""Times until an event: what users give as y, and persons cut into intervals of time.

A time is one number here: negative where it was cut short, without an event.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from raytpnn.data.tables.tables import Table
from raytpnn.families.weibull import impossible_time

__all__ = ["InIntervals", "Intervals", "WithTime", "as_times"]

# Most intervals of time, and the fewest events in one on average.
MOST_INTERVALS = 10
EVENTS_PER_INTERVAL = 8
# What the feature of time may be called, unless a column is called so already.
TIME_NAMES = ("time", "time at risk", "time of the interval")


def as_times(y: Any) -> np.ndarray:
    """Times until an event, negative where they were cut short.

    Parameters
    ----------
    y : structured array, (n, 2) table or array, pair of (n,), or (n,)
        scikit-survival's structured array (a truth value, then a time); or time and event, in this order
        unless only the first holds nothing but 0 and 1; or times with a sign.

    Returns
    -------
    (n,) float64

    Raises
    ------
    ValueError
        If y is none of these, or a time cannot be; the message names the row.
    """
    time, event = halves(y)
    if event is None:
        times = time
    else:
        if is_truth(time) and not is_truth(event):
            time, event = event, time
        bad = np.flatnonzero((event != 0.0) & (event != 1.0))
        if len(bad):
            raise ValueError(f"event is {event[bad[0]]:g} in row {bad[0]}; it is 1 (event) or 0 (cut short)")
        bad = np.flatnonzero(time <= 0.0)
        if len(bad):
            raise ValueError(f"time is {time[bad[0]]:g} in row {bad[0]}; it must be above 0")
        times = np.where(event == 1.0, time, -time)
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad):
        raise ValueError(f"time or event is {times[bad[0]]:g} in row {bad[0]}; leave such rows out")
    problem = impossible_time(times)
    if problem:
        raise ValueError(f"y cannot be used: {problem}")
    return times


def halves(y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """The columns of y as numbers: two, or one with a sign."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(y, pandas.DataFrame):
        columns = [numbers(y.iloc[:, i]) for i in range(y.shape[1])]
    elif isinstance(y, tuple) and len(y) == 2 and np.ndim(y[0]) == 1:
        columns = [numbers(part) for part in y]
    else:
        array = np.asarray(y)
        if array.dtype.names is not None:
            columns = [numbers(array[name]) for name in array.dtype.names]
        elif array.ndim == 2:
            columns = [numbers(column) for column in array.T]
        else:
            columns = [numbers(array)]
    if len(columns) not in (1, 2) or any(len(column) != len(columns[0]) for column in columns):
        raise ValueError(
            "y of a survival family is a time and whether the event was seen: two columns, a structured "
            "array of scikit-survival, or times that are negative where they were cut short; not "
            f"{type(y).__name__} of shape {np.shape(y)}"
        )
    return columns[0], columns[1] if len(columns) == 2 else None


def numbers(values: Any) -> np.ndarray:
    """One column as float64; truth values may be text."""
    array = np.asarray(values)
    if array.dtype.kind in "OUS":
        truth = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
        array = np.array([truth.get(str(cell).strip().lower(), cell) for cell in array], dtype=object)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"time and event must be numbers or truth values: {problem}") from None


def is_truth(values: np.ndarray) -> bool:
    """Whether there is nothing but 0 and 1."""
    return bool(np.all((values == 0.0) | (values == 1.0)))


@dataclass(frozen=True)
class Intervals:
    """Intervals of time, in each of which the hazard of a person stays.

    Attributes
    ----------
    starts : tuple of float
        The first is 0; the last interval has no end.
    unit : float
        Time that is 1 inside: what a person is watched in an interval, on average.
    name : str
        Of the feature of time.
    """

    starts: tuple[float, ...]
    unit: float
    name: str

    @staticmethod
    def of(times: np.ndarray, names: Sequence[str]) -> Intervals:
        """Intervals that hold equal numbers of events, at most 10; columns of the table have `names`."""
        events = np.sort(times[times > 0.0])
        count = int(np.clip(len(events) // EVENTS_PER_INTERVAL, 1, MOST_INTERVALS))
        inner = np.unique(np.quantile(events, np.arange(1, count) / count)) if count > 1 else np.empty(0)
        # An event at a cut ends the interval before it; the last interval has an event, too.
        starts = (0.0, *(float(cut) for cut in inner if cut < events[-1]))
        free = [name for name in TIME_NAMES if name not in names]
        if not free:
            raise ValueError(
                f"columns are called {', '.join(TIME_NAMES)}: rename one, for the feature of time"
            )
        watched = Intervals(starts, 1.0, free[0]).cut(times)[2]
        return Intervals(starts, float(np.mean(np.abs(watched))), free[0])

    def cut(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of persons: person, interval, and the time watched in it, negative if no event ended it.

        Rows of a person are consecutive, in the order of time.
        """
        time = np.abs(times)
        starts = np.array(self.starts)
        last = np.searchsorted(starts, time, side="left") - 1
        person = np.repeat(np.arange(len(times)), last + 1)
        interval = np.arange(len(person)) - np.repeat(np.cumsum(last + 1) - (last + 1), last + 1)
        ends = np.append(starts[1:], np.inf)
        watched = (np.minimum(ends[interval], time[person]) - starts[interval]) / self.unit
        ended = (interval == last[person]) & (times[person] > 0.0)
        return person, interval, np.where(ended, watched, -watched)

    def to_json(self) -> dict[str, Any]:
        """In terms of JSON, for `of_json`."""
        return asdict(self) | {"starts": list(self.starts)}

    @staticmethod
    def of_json(kept: dict[str, Any]) -> Intervals:
        """What `to_json` gave."""
        return Intervals(tuple(kept["starts"]), kept["unit"], kept["name"])


class WithTime(Table):
    """Another table and, last, a column of time.

    Parameters
    ----------
    parent : Table
    name : str
    time : (n,) float64
        NaN: effects are averaged over time.
    """

    def __init__(self, parent: Table, name: str, time: np.ndarray) -> None:
        self.parent, self.time = parent, time
        self.names, self.named = (*parent.names, name), parent.named
        self.preparation, self.annotation = parent.preparation, parent.annotation

    @property
    def n_rows(self) -> int:
        """Those of the parent."""
        return self.parent.n_rows

    @property
    def plain(self) -> np.ndarray:
        """As in the parent; time is plain."""
        return np.append(self.parent.plain, True)

    def of_parent(self, cells: np.ndarray) -> np.ndarray:
        """Cells of the parent at the rows of this table."""
        return cells

    def column(self, i: int) -> np.ndarray:
        """Column of the parent, or time."""
        return self.time if i == len(self.names) - 1 else self.of_parent(self.parent.column(i))

    def declared_levels(self, i: int) -> tuple[str, ...] | None:
        """As in the parent."""
        return None if i == len(self.names) - 1 else self.parent.declared_levels(i)

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Columns of the parent, and time."""
        places = np.asarray(columns, dtype=np.intp)
        of_time = places == len(self.names) - 1
        if not np.any(of_time):
            return self.of_parent(self.parent.block(places))
        block = np.empty((len(places), self.n_rows))
        if not np.all(of_time):
            block[~of_time] = self.of_parent(self.parent.block(places[~of_time]))
        block[of_time] = self.time
        return block


class InIntervals(WithTime):
    """Persons in intervals of time: rows of another table, each as often as the person was watched.

    Parameters
    ----------
    parent : Table
        A row a person.
    intervals : Intervals
    person, interval : (m,) int
        Of every row, as `Intervals.cut` gives them.
    """

    def __init__(self, parent: Table, intervals: Intervals, person: np.ndarray, interval: np.ndarray) -> None:
        super().__init__(parent, intervals.name, np.array(intervals.starts)[interval])
        self.person = person

    @property
    def n_rows(self) -> int:
        """Intervals of all persons."""
        return len(self.person)

    def of_parent(self, cells: np.ndarray) -> np.ndarray:
        """Cells of persons, once an interval."""
        return np.ascontiguousarray(cells[..., self.person])
