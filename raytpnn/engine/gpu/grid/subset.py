"""The subset of a sweep on devices: each draws its own part of it, with fits and basis functions of its own.

Which rows they are, and in which order and stripes they are summed up, is said in `subset.py`. A device takes
whole strata of the rows. Responses, weights and offsets are gathered for every subset; codes are looked up by
row where they are: a pass needs those of one to three features, a table may have thousands.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from raytpnn.engine.gpu.grid.command import Command
from raytpnn.engine.gpu.grid.shard import GridShard, RowSet
from raytpnn.engine.gpu.grid_records import GRID_STRATUM
from raytpnn.engine.problem import Problem
from raytpnn.engine.records import FOR_SUBSET
from raytpnn.engine.rows.subset import strata_of, stratum_start
from raytpnn.numerics.jit import compiled
from raytpnn.numerics.lanes import STRIPES
from raytpnn.numerics.random import words

__all__ = ["GridSubset", "draw_subset", "follow_fit"]


@compiled
def stratum_keys(state, keys):
    """Keys of the permutations of all strata in this sweep, (strata, 4) uint64."""
    for s in range(keys.shape[0]):
        keys[s, 0], keys[s, 1], keys[s, 2], keys[s, 3] = words(state, FOR_SUBSET, s, 0)


class GridSubset(RowSet):
    """Part of a subset of the rows on a device.

    Parameters
    ----------
    whole : GridShard
        The rows that it is taken from.
    problem : Problem
        Whose rows these are.
    settings : numpy.record of layout SETTINGS

    Raises
    ------
    ValueError
        If a stratum of the subset has rows on more than one device.
    """

    def __init__(self, whole: GridShard, problem: Problem, settings: np.record) -> None:
        n, m = problem.n_all, int(settings.batch)
        self.strata = int(strata_of.py_func(n, m))
        # Stripes of the subset's sums are strata, each where its first stripe of all rows is.
        stratum = -(-np.arange(whole.low, whole.high + 1) * self.strata // STRIPES)
        row = np.array([stratum_start.py_func(n, self.strata, int(s)) for s in stratum])
        first = int(problem.record.first_row) + whole.start
        if row[0] != first or row[-1] != first + whole.n:
            raise ValueError(
                f"a subset of {m} of {n} rows has {self.strata} strata, each of which must be on one device; "
                "use fewer devices or larger subsets"
            )
        stripe = m * row // n - m * first // n
        super().__init__(whole.device, whole.stream, whole.geometry, settings, stripe, whole.low, whole.high)
        self.whole = whole
        if not self.blocks:
            return
        self.filled = np.flatnonzero(np.diff(stripe))
        self.stratum = stratum[self.filled]
        taken, size = np.diff(stripe)[self.filled], np.diff(row)[self.filled]
        self.table = np.zeros(len(stripe) - 1, GRID_STRATUM)
        self.table["first"][self.filled] = stripe[self.filled]
        self.table["start"][self.filled] = row[self.filled] - first
        self.table["size"][self.filled] = size
        self.table["scale"][self.filled] = size / taken
        self.module = whole.module
        record = self._new_record(settings)
        record.whole, record.codes, record.stride = whole.address, whole.codes, whole.n
        record.rows = self._allocate(4 * self.n)
        record.y, record.w, record.offset = (self._allocate(8 * self.n) for _ in range(3))
        self._make_room(record, int(settings.max_order), numbers=self.table.nbytes)
        self._put(record)

    def draw(self, keys: np.ndarray) -> None:
        """Enqueue a new subset, by the keys of all strata."""
        self.table["keys"][self.filled] = keys[self.stratum]
        self.run("grid_subset", Command(), self.table.view(np.uint8))

    def follow(self, terms: int) -> None:
        """Enqueue fit and basis functions of as many terms, from those of all rows."""
        self.run("grid_gather", Command(fit=self.whole.fit, out=self.fit, terms=terms), parts=terms + 1)


def draw_subset(subsets: Sequence[GridSubset], state: np.record) -> None:
    """Have all devices draw the subset of a chain's sweep."""
    keys = np.zeros((subsets[0].strata, 4), np.uint64)
    stratum_keys(state, keys)
    for subset in subsets:
        if subset.blocks:
            subset.draw(keys)


def follow_fit(subsets: Sequence[GridSubset], terms: int) -> None:
    """Have all devices gather fit and basis functions of the subset, which must be drawn before."""
    for subset in subsets:
        if subset.blocks:
            subset.follow(terms)
