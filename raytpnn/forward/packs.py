"""Terms side by side in the lanes of vectors.

A pack is up to eight terms over one set of features, a lane each: a row then costs one vector load a
feature for all eight. Terms of one feature only are added up in their lane before any row is looked at.
Packs come in groups; in compiled code a group ends as one (rows, 8) block of lane sums.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.vectors import LANES

__all__ = ["Packs", "pack_by_component", "pack_by_draw"]

# Table entries built at a time: 256 kB in float32, which a second-level cache holds.
TABLE_ENTRIES = 65_536


@dataclass(frozen=True)
class Packs:
    """Packs and their groups, P packs with E terms and F factors in all.

    A factor of a pack has a table over the bins of its feature, eight lanes wide, with a row of zeros for
    missing at the end. The tables of neighbouring packs, a slice, are built together in one buffer.

    Attributes
    ----------
    group_start : (G + 1,) int64
        Where the packs of a group start.
    component : (P,) int64
        Component of a pack; ascending within a group.
    term_start, factor_start : (P + 1,) int64
        Where the terms and the factors of a pack start.
    term, lane : (E,) int64
    row : (F,) int64
        Row of the codes that a factor reads.
    table : (F,) int64
        Where the factor's table starts in the buffer.
    slice_start : list of int
        First packs of the slices.
    buffer_size : int
        Entries of the buffer.
    """

    group_start: np.ndarray
    component: np.ndarray
    term_start: np.ndarray
    factor_start: np.ndarray
    term: np.ndarray
    lane: np.ndarray
    row: np.ndarray
    table: np.ndarray
    slice_start: list[int]
    buffer_size: int

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_start) - 1

    def pieces(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Cut packs first ... last - 1 where slices begin."""
        cuts = self.slice_start[bisect_right(self.slice_start, first) : bisect_left(self.slice_start, last)]
        return pairwise([first, *cuts, last] if last > first else [])


def pack_by_draw(ensemble: Ensemble, term: np.ndarray | None = None) -> Packs:
    """Groups of eight neighbouring draws, one lane per draw: lane sums are f of each draw, without intercept.

    Neighbours in a chain share most of their components, so that most packs are full.

    Parameters
    ----------
    ensemble : Ensemble
    term : (E,) int64, optional
        Terms to keep, ascending; all of them if not given.
    """
    if term is None:
        term = np.arange(ensemble.n_terms)
    draw, component = ensemble.draw[term], ensemble.component[term]
    slot = place_in_run(draw * len(ensemble.components) + component)
    slot[ensemble.order[component] == 1] = 0
    n_groups = -(-ensemble.n_draws // LANES)
    return assemble(ensemble, term, draw // LANES, slot, draw % LANES, n_groups)


def pack_by_component(ensemble: Ensemble, column: np.ndarray) -> Packs:
    """Terms of all draws, one group per column: lane sums add up to the sum over draws of the column.

    Parameters
    ----------
    ensemble : Ensemble
    column : (number of components,) int64
        Column to which a component is added; -1 leaves it out.
    """
    term = np.flatnonzero(column[ensemble.component] >= 0)
    component = ensemble.component[term]
    place = place_in_run(component)
    slot = np.where(ensemble.order[component] == 1, 0, place // LANES)
    n_groups = int(column.max(initial=-1)) + 1
    return assemble(ensemble, term, column[component], slot, place % LANES, n_groups)


def assemble(
    ensemble: Ensemble, term: np.ndarray, group: np.ndarray, slot: np.ndarray, lane: np.ndarray, n_groups: int
) -> Packs:
    """Make one pack of the terms that share group, component and slot."""
    terms = ensemble.terms
    component = ensemble.component[term]
    sort = np.lexsort((lane, slot, component, group))
    keys = np.stack([group[sort], component[sort], slot[sort]])
    first = np.flatnonzero(np.concatenate([[True], np.any(keys[:, 1:] != keys[:, :-1], axis=0)])[: len(term)])
    example = term[sort][first]
    order = np.diff(terms.start)[example]
    factor_start = np.concatenate([[0], np.cumsum(order)])
    within = np.arange(factor_start[-1]) - np.repeat(factor_start[:-1], order)
    row = terms.feature[np.repeat(terms.start[example], order) + within]
    end = np.concatenate([[0], np.cumsum((terms.n_bins[row] + 1) * LANES)])
    begin = end[factor_start]
    slices = begin[:-1] // TABLE_ENTRIES
    # The buffer starts anew with the first pack of a slice.
    slice_begin = begin[:-1][np.searchsorted(slices, slices)]
    return Packs(
        group_start=np.searchsorted(keys[0, first], np.arange(n_groups + 1)),
        component=keys[1, first],
        term_start=np.append(first, len(term)),
        factor_start=factor_start,
        term=term[sort],
        lane=lane[sort],
        row=row,
        table=end[:-1] - np.repeat(slice_begin, order),
        slice_start=np.flatnonzero(np.diff(slices, prepend=-1)).tolist(),
        buffer_size=int(np.max(begin[1:] - slice_begin, initial=0)),
    )


def place_in_run(key: np.ndarray) -> np.ndarray:
    """Place of every element among those with the same key, in order: 0, 1, 2, ..."""
    sort = np.argsort(key, kind="stable")
    ordered = key[sort]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(key)])
    place = np.empty(len(key), np.int64)
    place[sort] = np.arange(len(key)) - np.repeat(first, np.diff(np.append(first, len(key))))
    return place
