"""An ensemble of replicas that runs, stops and is restored like one chain."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from raytpnn.engine.backends import EnsembleRunner
from raytpnn.engine.chain import Block, new_record, new_work, tally_of
from raytpnn.engine.jit.function_table import unit_addresses
from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.problem import Problem, new_record_of
from raytpnn.engine.records import STATE, STOP, SWEEPS_DONE, TEMPERATURE, TERMS, WORK
from raytpnn.engine.tempering.ladder import (
    adaptation_sweeps,
    adapted_temperatures,
    first_temperatures,
    pair_barriers,
)
from raytpnn.engine.tempering.options import Tempering
from raytpnn.families import family_of_code

__all__ = ["LadderStatus", "ReplicaBlock", "ReplicaSet", "Replicas"]

# A replica's stream is that of its chain with its own number in the upper bits of the chain's word.
REPLICA_BIT = 20


@dataclass(frozen=True)
class LadderStatus:
    """How an ensemble's replicas travel, since the ladder last changed.

    Attributes
    ----------
    temperature : (levels,) float64
        Inverse temperatures, hottest first; the last is 1.
    tried, swapped : (levels - 1,) int64
        Swaps of a level with the next.
    rejection : (levels - 1,) float64
        Mean rejection probability of those swaps, NaN before the first.
    restarts, round_trips : int
        Replicas that came from the hot end to the cold one, and from there back again.
    """

    temperature: np.ndarray
    tried: np.ndarray
    swapped: np.ndarray
    rejection: np.ndarray
    restarts: int
    round_trips: int

    @property
    def barrier(self) -> float:
        """Global communication barrier, NaN before the first swaps; see `ladder.pair_barriers`."""
        return float(pair_barriers(self.rejection).sum()) if self.tried.all() else float("nan")

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for a manifest."""
        return {
            "temperature": self.temperature.tolist(),
            "tried": self.tried.tolist(),
            "swapped": self.swapped.tolist(),
            "rejection": [None if np.isnan(value) else float(value) for value in self.rejection],
            "barrier": None if np.isnan(self.barrier) else self.barrier,
            "restarts": self.restarts,
            "round_trips": self.round_trips,
        }


@dataclass(frozen=True)
class ReplicaBlock(Block):
    """What a block of an ensemble gave: the cold replica's draws, and every level's log-likelihood.

    Attributes
    ----------
    level_loglik : (draws, levels) float64
        Log-likelihood on the internal scale at every kept draw, hottest level first.
    temperature : (levels,) float64
        Inverse temperatures of the levels.
    """

    level_loglik: np.ndarray
    temperature: np.ndarray


class Replicas:
    """States of the replicas of one chain, and the ladder of inverse temperatures on which they stand.

    Parameters
    ----------
    settings : numpy.record of layout SETTINGS
    n_rows : int
    state : numpy.record of layout STATE
        Where every replica starts. Its stream is the first replica's.
    tempering : Tempering
    """

    def __init__(self, settings: np.record, n_rows: int, state: np.record, tempering: Tempering) -> None:
        self.settings = settings
        self.n_rows = n_rows
        self.tempering = tempering
        self.states = np.zeros(tempering.replicas, STATE).view(np.recarray)
        self._start_from(state)

    def _start_from(self, state: np.record) -> None:
        """Start every replica from one state, on a new ladder."""
        if int(state.stream[2]) >= 1 << REPLICA_BIT:
            raise ValueError(
                f"tempered chains are numbered below {1 << REPLICA_BIT:,}, got {state.stream[2]}"
            )
        levels = self.tempering.replicas
        for r in range(levels):
            self.states[r] = state
            self.states[r].stream[2] |= np.uint64(r << REPLICA_BIT)
        self.ladder = self._first_ladder()
        hottest = self.tempering.t_min or 0.0
        self._hand_out_temperatures(first_temperatures(levels, hottest, self.n_rows))

    @property
    def state(self) -> np.record:
        """State of the cold replica."""
        return self.states[self.ladder.replica_at[self.tempering.replicas - 1]]

    def _first_ladder(self) -> np.record:
        ladder = new_record_of(LADDER)
        levels = self.tempering.replicas
        ladder.levels = levels
        ladder.swap_every = self.tempering.swap_every
        ladder.replica_at[:levels] = np.arange(levels)
        # With a move switched off, what it would change is held, and the prior is not all there is.
        settings = self.settings
        ladder.prior_draws = settings.birth_death_attempts > 0 and settings.intercept and settings.nuisance
        return ladder

    def _hand_out_temperatures(self, temperature: np.ndarray) -> None:
        """Set the ladder; what was counted on the one before is forgotten."""
        levels = self.tempering.replicas
        self.ladder.temperature[:levels] = temperature
        for level, replica in enumerate(self.ladder.replica_at[:levels]):
            self.states[replica].scalar[TEMPERATURE] = temperature[level]
        for name in ("tried", "rejection", "swapped", "met", "travels"):
            self.ladder[name][:] = 0

    def stops(self, warmup: int) -> list[int]:
        """Sweeps after which `change_ladder` is called."""
        tempering = self.tempering
        return [*(adaptation_sweeps(warmup, tempering.swap_every) if tempering.adapt else []), warmup]

    def change_ladder(self, adapt: bool) -> None:
        """Reset the counts; adapt the temperatures to them before, if these may still change."""
        temperature = self.status().temperature
        if adapt:
            rejection = self.status().rejection
            # A pair that was not tried yet says nothing: the ladder stays, and the count goes on.
            if np.isnan(rejection).any():
                return
            # The first round saw replicas on their way from the start: it says little on how far they go.
            fixed_end = self.tempering.t_min is not None or self.ladder.rounds == 0
            temperature = adapted_temperatures(temperature, rejection, self.n_rows, fixed_end)
            self.ladder.rounds += 1
        self._hand_out_temperatures(temperature)

    def status(self) -> LadderStatus:
        """Swaps and travels since the ladder last changed: after warm-up, all that count."""
        pairs = self.tempering.replicas - 1
        tried = self.ladder.tried[:pairs].copy()
        rejection = np.where(tried > 0, self.ladder.rejection[:pairs] / np.maximum(tried, 1), np.nan)
        restarts, round_trips = (int(count) for count in self.ladder.travels)
        return LadderStatus(
            temperature=self.ladder.temperature[: pairs + 1].copy(),
            tried=tried,
            swapped=self.ladder.swapped[:pairs].copy(),
            rejection=rejection,
            restarts=restarts,
            round_trips=round_trips,
        )

    def checkpoint(self) -> bytes:
        """What the next block depends on: the ladder and every replica's state."""
        return self.ladder.tobytes() + self.states.tobytes()

    def restore(self, checkpoint: bytes) -> None:
        """Go back to a checkpoint; that of a single chain has all replicas start from its state.

        Raises
        ------
        ValueError
            If it is not one of an ensemble with as many replicas.
        """
        if len(checkpoint) == STATE.itemsize:
            self._start_from(np.frombuffer(checkpoint, STATE).view(np.recarray)[0])
            return
        expected = LADDER.itemsize + self.states.nbytes
        if len(checkpoint) != expected:
            raise ValueError(
                f"the checkpoint holds {len(checkpoint):,} bytes, an ensemble of {len(self.states)} replicas "
                f"has {expected:,}: it belongs to a run with other replicas or another version"
            )
        saved = np.frombuffer(checkpoint, LADDER, 1)[0]
        for name in LADDER.names or ():
            self.ladder[name] = saved[name]
        self.states[:] = np.frombuffer(checkpoint, STATE, offset=LADDER.itemsize)

    def acceptance(self) -> dict[str, tuple[int, int]]:
        """Proposals and acceptances of every move so far at the cold level."""
        return tally_of(self.state)


class ReplicaSet(Replicas):
    """Replicas of one chain at a ladder of inverse temperatures.

    It has the interface of `raytpnn.engine.chain.Chain`. What it draws depends neither on the number of
    threads nor on where it runs.

    Parameters
    ----------
    problem, settings
        Shared by all chains, never written to.
    state : numpy.record of layout STATE
        Where every replica starts. Its stream is the first replica's.
    tempering : Tempering
    runner : EnsembleRunner
        Compiled functions or their reference, see `raytpnn.engine.backends`.
    threads : int
        Replicas that sweep at a time.
    watched : (W,) int, optional
        Rows whose fit is kept in every draw.
    in_parts : bool
        Replicas run one at a time, see `raytpnn.chains.work.replica_parts`: they share their scratch space.
    """

    def __init__(
        self,
        problem: Problem,
        settings: np.record,
        state: np.record,
        tempering: Tempering,
        runner: EnsembleRunner,
        threads: int = 1,
        watched: np.ndarray | None = None,
        in_parts: bool = False,
    ) -> None:
        super().__init__(settings, len(problem.y), state, tempering)
        self.watched = np.array([] if watched is None else watched, np.int64)
        self.problem = problem
        self.runner = runner
        self._threads = min(threads, tempering.replicas)
        levels = tempering.replicas
        self.works = np.zeros(levels, WORK).view(np.recarray)
        self._arrays = []
        addresses = unit_addresses(family_of_code(int(settings.family)), ensemble=True)
        for r in range(levels):
            if r == 0 or not in_parts:
                work, arrays = new_work(problem, settings)
                work.units[: len(addresses)] = addresses
                self._arrays.append(arrays)
            self.works[r] = work

    def run(self, first: int, sweeps: int, warmup: int, thin: int) -> ReplicaBlock:
        """Run sweeps first ... first + sweeps - 1 and return the cold replica's draws."""
        levels = self.tempering.replicas
        kept = max(0, first + sweeps - warmup) // thin - max(0, first - warmup) // thin
        record = new_record(self.settings, max(kept, 1), self.watched)
        self.works[0].control[SWEEPS_DONE] = first
        trace = np.zeros((max(kept, 1), levels))
        self.runner.begin(self.problem.record, self.settings, self.states, self.works)
        stops = self.stops(warmup)
        row, at, last = 0, first, first + sweeps
        while at < last:
            until = min([stop for stop in stops if stop > at] + [last])
            done, row = self._advance(record, trace, row, at, until - at, warmup, thin)
            if done < until - at:
                return self.block(record, trace, at + done - first, row)
            at = until
            if at in stops:
                self.change_ladder(at < warmup)
        return self.block(record, trace, sweeps, row)

    def _advance(
        self, record: Any, trace: np.ndarray, row: int, first: int, sweeps: int, warmup: int, thin: int
    ) -> tuple[int, int]:
        """Sweeps on one ladder; returns how many were done and the first free row of the record."""
        problem, settings, ladder = self.problem.record, self.settings, self.ladder
        if self._threads == 1:
            done, row = self.runner.run(
                problem,
                settings,
                self.states,
                self.works,
                ladder,
                record,
                trace,
                row,
                first,
                sweeps,
                warmup,
                thin,
            )
            return int(done), int(row)

        def sweep_one(replica: int, index: int) -> bool:
            return self.runner.sweep(
                problem,
                settings,
                self.states,
                self.works,
                ladder,
                replica,
                replica + 1,
                index,
                index < warmup,
            )

        with ThreadPoolExecutor(self._threads) as pool:
            for i in range(first, first + sweeps):
                swept = pool.map(sweep_one, range(len(self.states)), [i] * len(self.states))
                if not all(list(swept)):
                    return i - first, row
                keep = i >= warmup and (i - warmup + 1) % thin == 0
                self.runner.end(
                    problem, settings, self.states, self.works, ladder, record, trace, row, i, keep
                )
                row += keep
        return sweeps, row

    def block(self, record: Any, trace: np.ndarray, sweeps: int, draws: int) -> ReplicaBlock:
        """Give what a block has drawn."""
        temperature = self.ladder.temperature[: self.tempering.replicas].copy()
        return ReplicaBlock(record, sweeps, draws, trace[:draws], temperature)

    def request_stop(self) -> None:
        """Ask a running block to end after the term at hand; safe from another thread."""
        for work in self.works:
            work.control[STOP] = 1

    @property
    def progress(self) -> tuple[int, int]:
        """Sweeps done and terms of the cold replica at present; safe from another thread."""
        control = self.works[0].control
        return int(control[SWEEPS_DONE]), int(control[TERMS])
