"""Passes over rows that lie on devices: what the moves ask for, in as few launches as can be.

Two things make launches few. A basis function is built by the pass that first needs it, and moments of one
that was just built are taken along: whoever builds one asks for them next. And nothing of an evaluation is
stored: trial fit, score and curvature are remembered as the change of the fit that they come from, and
computed again where they are needed. Whatever touches the fit or a basis function in that change makes them
void, and to ask for them then is an error; the moves never do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from raytpnn.engine.gpu.grid.command import Command
from raytpnn.engine.gpu.grid.joining import Exchange, add_counts, add_stripes, join_processes
from raytpnn.engine.gpu.grid.shard import GridShard, RowSet
from raytpnn.engine.gpu.grid_records import GRAM_SIDE, PASS_SUMS, SCORE_TERMS, SLOPE_SUMS, TERM_SUMS
from raytpnn.engine.records import STOP
from raytpnn.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.numerics.lanes import STRIPES

__all__ = ["FIT", "TRIAL", "Exchange", "GridRows"]

# Stand for the addresses of the fit and the trial fit, which no compiled code reads here.
FIT, TRIAL = 1, 2


class Change(NamedTuple):
    """A fit in which new_beta * phi[new_row] replaces old_beta * phi[old_row], and a dispersion."""

    of_trial: bool = False
    old_row: int = 0
    old_beta: float = 0.0
    new_row: int = 0
    new_beta: float = 0.0
    dispersion: float = 1.0

    def reads(self, row: int) -> bool:
        """Whether it depends on a basis function."""
        return (self.old_beta != 0.0 and self.old_row == row) or (
            self.new_beta != 0.0 and self.new_row == row
        )


@dataclass
class Build:
    """A basis function that is to be built: a copy of another one or nothing, times factors."""

    target: int
    source: int = -1
    features: list[int] = field(default_factory=list)


def doubles_at(address: int, n: int) -> np.ndarray:
    """Array over memory of compiled code."""
    return np.ctypeslib.as_array((ctypes.c_double * n).from_address(address))


class GridRows:
    """Rows of one chain on devices.

    Parameters
    ----------
    shards : sequence of RowSet
        Stripe after stripe; all rows of the devices, or a subset of them.
    settings : numpy.record of layout SETTINGS
    work : numpy.record of layout WORK
        Of the chain: sums go there, tables come from there.
    tables : (3 D, width) float32
        Those of `work`.
    gram : (K_max + 1, K_max + 1) float64
        That of `work`.
    exchange : callable, optional
        Joins the sums of several processes, each with an equal share of the stripes.
    """

    def __init__(
        self,
        shards: Sequence[RowSet],
        settings: np.record,
        work: np.record,
        tables: np.ndarray,
        gram: np.ndarray,
        exchange: Exchange | None = None,
    ) -> None:
        self.low, self.high = shards[0].low, shards[-1].high
        if exchange is not None and STRIPES % (self.high - self.low):
            raise ValueError(
                f"processes have equal shares of the {STRIPES} stripes, got {self.low} to {self.high}"
            )
        self.shards = [shard for shard in shards if shard.blocks]
        self.D, self.exchange = int(settings.max_order), exchange
        self.columns = shards[0].columns
        self.host_tables, self.gram = tables, gram
        self.sums, self.moments = work["sums"], work["block"][0]
        self.bin_addresses = int(work["bin_score"]), int(work["bin_curvature"])
        self.control = work["control"]
        self.width = shards[0].width
        # Tables of the next pass; the entry for a missing value stays 0.
        self.tables = np.zeros((3 * self.D, self.width), np.float32)
        self.problem: BaseException | None = None
        self.forget()

    def forget(self) -> None:
        """Nothing is to be done any more, and nothing is known."""
        self.build: Build | None = None
        self.accepted: Change | None = None
        self.trial: Change | None = None
        self.derivatives: Change | None = None
        self.known_moments: dict[int, tuple[float, float]] = {}

    def finish(self) -> None:
        """Wait for all that was enqueued."""
        for shard in self.shards:
            shard.finish()

    def __call__(self, call, a, b, c, d, e, f, g, x, y, z) -> None:
        """What compiled code calls, see `grid_calls.CALLS`; an error ends the block."""
        if self.problem is not None:
            return
        try:
            self.called[call](self, a, b, c, d, e, f, g, x, y, z)
        except BaseException as problem:
            self.problem = problem
            self.control[STOP] = 1

    # What stands in the same place of `grid_calls.CALLS`, with the arguments that are given there.
    called = (
        lambda self, a, b, c, d, e, f, g, x, y, z: self.multiply_factor(a, b, c),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.evaluate(a, Change(False, b, x, c, y, z), d, e, g, f),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.phi_moments(a),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.replace_term(a, x, b, y),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.copy_phi(a, b),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.take_trial_fit(),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.shift_fit(x),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.fit_from_terms(a, x, b, c),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.gram_matrix(a),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.score_of_terms(a, b),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.change_trial_fit(a, Change(False, b, x, c, y)),
        lambda self, a, b, c, d, e, f, g, x, y, z: self.bin_sums(
            Change(False, a, x, a, 0.0, y), b, c, d, e, z
        ),
    )

    # What the moves ask for.

    def multiply_factor(self, feature: int, j: int, row: int) -> None:
        """Note a factor of a basis function; j = 0 starts one."""
        self._settle()
        if j == 0 or self.build is None or self.build.target != row:
            self._new_build(Build(row, -1 if j == 0 else row))
        assert self.build is not None
        self.tables[len(self.build.features), :-1] = self.host_tables[j, : self.width - 1]
        self.build.features.append(feature)

    def copy_phi(self, source: int, target: int) -> None:
        """Note a copy: with the acceptance that it belongs to, or as the beginning of a build."""
        if self.accepted is not None:
            self._settle((source, target))
            return
        self._new_build(Build(target, source))

    def evaluate(self, address: int, change: Change, need: int, row: int, features: int, d: int) -> None:
        """Evaluate at a changed fit; launches nothing if no sum is asked for."""
        self._settle()
        change = change._replace(of_trial=address == TRIAL)
        self.trial = change
        if need & DERIVATIVES:
            self.derivatives = change
            self.known_moments = {}
        self.sums[: TERM_SUMS + SLOPE_SUMS * d] = 0.0
        if need == DERIVATIVES and d == 0:
            return
        if d > 0:
            own = list((ctypes.c_int32 * d).from_address(features))
            sums = self._slopes(change, need, row, own)
        else:
            second = -1
            if self.build is not None and self.build.target != row and need & DERIVATIVES:
                second = self.build.target
            sums = self._pass(change, need, row, second)
            if second >= 0:
                self.known_moments[second] = float(sums[3]), float(sums[4])
        place = 0 if need & LIKELIHOOD else 1
        self.sums[place:TERM_SUMS] = sums[place:TERM_SUMS]
        self.sums[TERM_SUMS : TERM_SUMS + SLOPE_SUMS * d] = sums[TERM_SUMS : TERM_SUMS + SLOPE_SUMS * d]

    def phi_moments(self, row: int) -> None:
        """Moments with the derivatives, which the last pass may have taken already."""
        self._settle()
        if row not in self.known_moments:
            sums = self._pass(self._known(self.derivatives), DERIVATIVES, 0, row)
            self.known_moments[row] = float(sums[3]), float(sums[4])
        self.moments[:2] = self.known_moments[row]

    def replace_term(self, k: int, old_beta: float, row: int, new_beta: float) -> None:
        """Replace one term by another in fit and phi."""
        self._settle()
        self.accepted = Change(False, k, old_beta, row, new_beta)
        self._settle((row, k) if row != k else None)

    def take_trial_fit(self) -> None:
        """Take the trial fit over: computed again by the next launch, or by name if it was written out."""
        self._settle()
        trial = self._known(self.trial)
        if trial.of_trial:
            for shard in self.shards:
                shard.take_trial()
            self._fit_changed()
        else:
            self.accepted = trial

    def shift_fit(self, amount: float) -> None:
        """Add a constant to the fit."""
        self._settle()
        for shard in self.shards:
            shard.run("grid_shift", Command(out=shard.fit, amount=amount))
        self._fit_changed()

    def fit_from_terms(self, terms: int, intercept: float, coefficients: int, address: int) -> None:
        """Write a fit out from its terms."""
        self._settle()
        self._flush()
        values = doubles_at(coefficients, terms) if terms else np.zeros(0)
        for shard in self.shards:
            out = shard.trial if address == TRIAL else shard.fit
            shard.run("grid_terms", Command(terms=terms, amount=intercept, out=out), values)
        if address == TRIAL:
            self.trial = Change(of_trial=True)
            self.derivatives = None if self.derivatives and self.derivatives.of_trial else self.derivatives
        else:
            self._fit_changed()

    def gram_matrix(self, terms: int) -> None:
        """Gram matrix tile by tile, as many at a time as there is room for their sums."""
        self._settle()
        self._flush()
        size = GRAM_SIDE * GRAM_SIDE
        left, right = np.tril_indices(-(-(terms + 1) // GRAM_SIDE))
        corner = np.arange(GRAM_SIDE)
        line = GRAM_SIDE * left[:, None, None] + corner[:, None] + 0 * corner
        column = GRAM_SIDE * right[:, None, None] + corner + 0 * corner[:, None]
        wanted = (line <= terms) & (column <= line)
        at_a_time = self.columns // size
        for first in range(0, len(left), at_a_time):
            some = slice(first, min(first + at_a_time, len(left)))
            tiles = some.stop - first
            command = Command(terms=terms, first_tile=first, columns=size * tiles)
            for shard in self.shards:
                shard.run("grid_gram", command, parts=tiles)
            sums = self._sums(command.columns).reshape(wanted[some].shape)
            self.gram[line[some][wanted[some]], column[some][wanted[some]]] = sums[wanted[some]]

    def score_of_terms(self, terms: int, out: int) -> None:
        """Score against every term."""
        self._settle()
        self._flush()
        if terms == 0:
            return
        change = self._known(self.derivatives)
        command = Command(need=DERIVATIVES, terms=terms, columns=terms)
        for shard in self.shards:
            shard.run("grid_scores", self._at(shard, change, command), parts=-(-terms // SCORE_TERMS))
        doubles_at(out, terms + 1)[1:] = self._sums(terms)

    def change_trial_fit(self, address: int, change: Change) -> None:
        """Write a changed fit out as the trial fit."""
        self._settle()
        self._flush()
        change = change._replace(of_trial=address == TRIAL)
        for shard in self.shards:
            command = Command(out=shard.trial, source=0, target=-1)
            shard.run("grid_update", self._at(shard, change, command))
        self.trial = Change(of_trial=True)
        self.derivatives = None if self.derivatives and self.derivatives.of_trial else self.derivatives

    def bin_sums(self, change: Change, j: int, d: int, features: int, bins: int, unit: float) -> None:
        """Sums of every bin of factor j of a term with d of them, at the fit without it."""
        self._settle()
        self._flush()
        own = list((ctypes.c_int32 * d).from_address(features))
        others = [i for i in range(d) if i != j]
        self.tables[: d - 1, :-1] = self.host_tables[others, : self.width - 1]
        numbers = self.tables[: d - 1].reshape(-1)
        # The feature whose bins are counted comes after those of the tables.
        named = tuple(own[i] for i in (*others, j))
        command = Command(need=DERIVATIVES, order=d - 1, columns=2 * bins, amount=unit, features=named)
        for shard in self.shards:
            shard.count_bins(self._at(shard, change, command), numbers)
        counts = np.zeros(2 * bins, np.int64)
        for shard in self.shards:
            shard.finish()
            counts += shard.back(1, 2 * bins)[0].view(np.int64)
        if self.exchange is not None:
            counts = add_counts(counts, self.low, self.high, self.exchange)
        for address, part in zip(self.bin_addresses, counts.reshape(bins, 2).T, strict=True):
            doubles_at(address, bins)[:] = part * (1.0 / unit)

    def watch(self, terms: int, n_watched: int) -> np.ndarray:
        """Fit and basis functions at the watched rows, (1 + terms, n_watched) float64."""
        self.settle()
        seen = np.zeros((1 + terms, n_watched))
        looking = [s for s in self.shards if isinstance(s, GridShard) and len(s.seen_here)]
        for shard in looking:
            shard.watch(Command(fit=shard.fit), 1 + terms)
        for shard in looking:
            shard.finish()
            seen[:, shard.seen_here] = shard.back(1 + terms, len(shard.seen_here))
        return self.join_watched(seen)

    def join_watched(self, seen: np.ndarray) -> np.ndarray:
        """What all processes saw, each 0 at the watched rows of others."""
        if self.exchange is None:
            return seen
        return join_processes(seen.ravel(), self.low, self.high, self.exchange).reshape(seen.shape)

    def settle(self) -> None:
        """Enqueue all that was put off: fit and basis functions are then what the moves take them for."""
        self._settle()
        self._flush()

    # What is done about it.

    def _known(self, change: Change | None) -> Change:
        if change is None:
            raise RuntimeError("trial fit or derivatives are asked for after a change of what they come from")
        return change

    def _touched(self, row: int) -> None:
        """What was computed from a basis function is void."""
        self.known_moments.pop(row, None)
        if self.trial is not None and self.trial.reads(row):
            self.trial = None
        if self.derivatives is not None and self.derivatives.reads(row):
            self.derivatives = None

    def _fit_changed(self) -> None:
        self.trial = self.derivatives = None
        self.known_moments = {}

    def _new_build(self, build: Build) -> None:
        """Begin a build; another one of the same row was for nothing, unless it is the source."""
        if self.build is not None and (self.build.target != build.target or build.source == build.target):
            self._flush()
        self.build = build
        self._touched(build.target)

    def _flush(self) -> None:
        """Build the pending basis function by a launch of its own."""
        if self.build is not None:
            self._launch_pass("grid_pass", Change(), Command(), len(self.build.features), 1)

    def _settle(self, copy: tuple[int, int] | None = None) -> None:
        """Write an accepted change to the fit, and copy one basis function to another's place."""
        change, self.accepted = self.accepted, None
        if change is None:
            return
        self._flush()
        source, target = copy or (0, -1)
        for shard in self.shards:
            command = Command(out=shard.fit, source=source, target=target)
            shard.run("grid_update", self._at(shard, change, command))
        self._fit_changed()
        if copy is not None:
            self._touched(target)

    def _at(self, shard: RowSet, change: Change, command: Command) -> Command:
        """A command at a changed fit."""
        of_trial, old_row, old_beta, new_row, new_beta, dispersion = change
        fit = shard.trial if of_trial else shard.fit
        return command._replace(
            fit=fit,
            old_row=old_row,
            old_beta=old_beta,
            new_row=new_row,
            new_beta=new_beta,
            dispersion=dispersion,
        )

    def _pass(self, change: Change, need: int, row: int, second: int) -> np.ndarray:
        """One pass over all rows, which also builds the pending basis function; returns its sums."""
        order = 0 if self.build is None else len(self.build.features)
        command = Command(need=need, row=row, second=second, columns=PASS_SUMS)
        self._launch_pass("grid_pass", change, command, order, 1)
        return self._sums(PASS_SUMS)

    def _slopes(self, change: Change, need: int, row: int, features: list[int]) -> np.ndarray:
        """One pass with the slopes of all factors of a term, which may be just the one to be built."""
        d, D, entries = len(features), self.D, self.width - 1
        build = self.build
        shared = build is not None and build.source < 0 and build.features == features
        if not (shared and np.array_equal(self.tables[:d, :-1], self.host_tables[:d, :entries])):
            self._flush()
            self.tables[:d, :-1] = self.host_tables[:d, :entries]
        self.tables[d : 2 * d, :-1] = self.host_tables[D : D + d, :entries]
        self.tables[2 * d : 3 * d, :-1] = self.host_tables[2 * D : 2 * D + d, :entries]
        columns = TERM_SUMS + SLOPE_SUMS * d
        command = Command(need=need, row=row, columns=columns, features=tuple(features))
        self._launch_pass("grid_slopes" if d <= 2 else "grid_many_slopes", change, command, d, 3)
        return self._sums(columns)

    def _launch_pass(self, kernel: str, change: Change, command: Command, order: int, kinds: int) -> None:
        build, self.build = self.build, None
        command = command._replace(order=order, slopes=int(kinds > 1))
        if build is not None:
            features = tuple(build.features)
            command = command._replace(target=build.target, source=build.source, features=features)
        numbers = self.tables[: kinds * order].reshape(-1)
        for shard in self.shards:
            shard.run(kernel, self._at(shard, change, command), numbers, tables=kinds * order)

    def _sums(self, columns: int) -> np.ndarray:
        """Sums of the pass that was enqueued last, over all rows."""
        for shard in self.shards:
            shard.join(columns)
        stripes = np.zeros((STRIPES, columns))
        for shard in self.shards:
            shard.finish()
            stripes[shard.low : shard.high] = shard.back(shard.high - shard.low, columns)
        if self.exchange is not None:
            stripes = np.ascontiguousarray(self.exchange(stripes))
        return add_stripes(stripes)
