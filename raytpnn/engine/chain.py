"""One chain: its state, its scratch space, its checkpoint, and the blocks it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from raytpnn.engine.jit.function_table import unit_addresses
from raytpnn.engine.problem import Problem, new_record_of
from raytpnn.engine.records import (
    B_GAMMA,
    BATCH,
    DELAYED,
    EXACT_ONLY,
    INTERCEPT,
    MOVE_NAMES,
    N_SCALARS,
    NUISANCE,
    PROBLEM,
    SCREEN_NAMES,
    SIGMA_BETA2,
    STATE,
    STOP,
    SWEEPS_DONE,
    TEMPERATURE,
    TERMS,
    WORK,
    Record,
)
from raytpnn.engine.rows.reduction import partial_width
from raytpnn.engine.sweeps import ensemble  # noqa: F401  It imports every move: all units are declared.
from raytpnn.families import family_of_code
from raytpnn.numerics.lanes import STRIPES

__all__ = ["ALONE", "Block", "Chain", "ShardPlace", "new_state", "screening_of", "tally_of"]

# Features of a subset whose codes are held at a time: more than the terms of most states have.
MOST_GATHERED = 256


class ShardPlace(NamedTuple):
    """Which shard of how many a chain's rows are, and where it meets the others, (words,) int64."""

    shards: int = 1
    shard: int = 0
    mailbox: np.ndarray | None = None


ALONE = ShardPlace()


def new_state(
    settings: np.record,
    seed: int,
    chain: int,
    step_size: float,
    nuisance: float,
    b_gamma: float,
    sigma_beta2: float,
) -> np.record:
    """A chain with no terms, at the intercept's prior mean."""
    state = new_record_of(STATE)
    state.scalar[INTERCEPT] = settings.intercept_mean
    state.scalar[NUISANCE] = nuisance
    state.scalar[B_GAMMA] = b_gamma
    state.scalar[SIGMA_BETA2] = sigma_beta2
    state.scalar[TEMPERATURE] = 1.0
    state.log_step[:] = np.log(step_size)
    state.walk_step[:] = np.log(step_size)
    state.intercepts[:] = settings.intercept_means
    state.stream[:] = [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF, chain, 0]
    return state


def new_work(
    problem: Problem, settings: np.record, place: ShardPlace = ALONE
) -> tuple[np.record, tuple[np.ndarray, ...]]:
    """Scratch space for one chain, or for a shard of one: the record and the arrays it points to.

    A chain that looks at subsets alone has room for a subset; one that screens proposals on subsets has room
    for both.
    """
    batch = int(settings.batch)
    subset_only = batch > 0 and int(settings.delayed) == EXACT_ONLY
    own_batch = rows_of_subset(problem, batch)
    record, arrays = scratch(problem, settings, own_batch if subset_only else len(problem.y))
    # Functions that other chains need not wait for.
    record.units[:] = 0
    family = family_of_code(int(settings.family))
    addresses = unit_addresses(family, subsets=batch > 0, shards=place.shards > 1)
    record.units[: len(addresses)] = addresses
    take_place(record, place)
    kept: list[Any] = list(arrays)
    if batch > 0:
        part, part_arrays = new_subset(problem, batch)
        record.batch = address_of(part)
        kept += [part, *part_arrays]
        if not subset_only:
            part_record, part_scratch = scratch(problem, settings, own_batch)
            part_record.units[:] = record.units
            take_place(part_record, place)
            record.batch_work = address_of(part_record)
            kept += [part_record, *part_scratch]
    return record, tuple(kept)


def address_of(record: np.record) -> int:
    """Where a record lies."""
    return int(np.frombuffer(record, np.uint8).ctypes.data)


def take_place(record: np.record, place: ShardPlace) -> None:
    """Write into scratch space which shard it belongs to."""
    record.shards, record.shard = place.shards, place.shard
    if place.mailbox is not None:
        record.mailbox = place.mailbox.ctypes.data


def rows_of_subset(problem: Problem, m_all: int) -> int:
    """Rows that are here of a subset of m_all rows."""
    first, n_all = int(problem.record.first_row), problem.n_all
    return m_all * (first + len(problem.y)) // n_all - m_all * first // n_all


def new_subset(problem: Problem, m_all: int) -> tuple[np.record, tuple[Any, ...]]:
    """Problem of m_all rows to be chosen, or of those of them that are here, and what it points to."""
    p, m = len(problem.codes), rows_of_subset(problem, m_all)
    batch = new_record_of(BATCH)
    rows, turn = np.zeros(m, np.int64), np.zeros(p, np.int64)
    batch.codes, batch.stride = problem.record.codes, problem.record.stride
    batch.rows = rows.ctypes.data
    batch.turn = turn.ctypes.data
    batch.slots = min(p, MOST_GATHERED)
    part = new_record_of(PROBLEM)
    for name in PROBLEM.names or ():
        part[name] = problem.record[name]
    arrays = {
        "codes": np.zeros((int(batch.slots), m), problem.codes.dtype),
        "y": np.zeros(m),
        "w": np.zeros(m),
        "offset": np.zeros(m),
    }
    part.n = part.stride = m
    part.n_all = m_all
    part.batch = address_of(batch)
    for name, array in arrays.items():
        part[name] = array.ctypes.data
    return part, (batch, rows, turn, *arrays.values())


def scratch(problem: Problem, settings: np.record, n: int) -> tuple[np.record, tuple[np.ndarray, ...]]:
    """Scratch space for n rows."""
    K_max, D = int(settings.K_max), int(settings.max_order)
    width = int(np.iinfo(problem.codes.dtype).max) + 1
    arrays: dict[str, np.ndarray] = {
        "phi": np.zeros((K_max + 1, n), np.float32),
        "fits": np.zeros((int(settings.outputs), n)),
        "trial_fit": np.zeros(n),
        "score": np.zeros(n),
        "curvature": np.zeros(n),
        "table": np.zeros((3 * D, width), np.float32),
        "sigmoid": np.zeros((3, width)),
        "counts": np.zeros((width, 2), np.int64),
        "bin_score": np.zeros(width),
        "bin_curvature": np.zeros(width),
        "gram": np.zeros((K_max + 1, K_max + 1)),
        "partial": np.zeros((STRIPES + 1, partial_width(settings))),
    }
    record = new_record_of(WORK)
    record.table_width = width
    record.bounded = int(settings.bounded)
    record.partial_width = partial_width(settings)
    record.outputs = settings.outputs
    record.quadratic = settings.quadratic
    for name, array in arrays.items():
        record[name] = array.ctypes.data
    record.fit = record.fits
    return record, tuple(arrays.values())


def new_record(settings: np.record, draws: int, watched: np.ndarray) -> Record:
    """Room for the draws of one block, and for the fit at some rows."""
    K_max, max_order, outputs = int(settings.K_max), int(settings.max_order), int(settings.outputs)
    return Record(
        K=np.zeros(draws, np.int64),
        order=np.zeros((draws, K_max), np.int64),
        features=np.zeros((draws, K_max, max_order), np.int32),
        b=np.zeros((draws, K_max, max_order)),
        gamma=np.zeros((draws, K_max, max_order)),
        beta=np.zeros((draws, K_max)),
        scalar=np.zeros((draws, N_SCALARS)),
        watched=watched,
        fit=np.zeros((draws, outputs * len(watched))),
        size=np.zeros((draws, K_max)),
        output=np.zeros((draws, K_max), np.int64),
        intercepts=np.zeros((draws, outputs)),
    )


def tally_of(state: np.record) -> dict[str, tuple[int, int]]:
    """Proposals and acceptances of every move so far."""
    return {name: (int(p), int(a)) for name, (p, a) in zip(MOVE_NAMES, state.tally, strict=True)}


def screening_of(settings: np.record, state: np.record) -> dict[str, dict[str, Any]]:
    """What delayed acceptance did so far, by group of moves; empty without it.

    `screened` says whether the group is screened from now on, unless that is still being found out; the rest
    counts proposals that were.
    """
    if int(settings.delayed) == EXACT_ONLY:
        return {}
    always = int(settings.delayed) == DELAYED
    report = {}
    for group, name in enumerate(SCREEN_NAMES):
        proposed, passed, accepted, _ = (int(count) for count in state.screen_tally[group, 1])
        used = always or bool(state.screened[group])
        report[name] = {"screened": used, "proposed": proposed, "passed": passed, "accepted": accepted}
    return report


@dataclass(frozen=True)
class Block:
    """What a block of sweeps gave: the record and how much of it is filled."""

    record: Record
    sweeps: int
    draws: int


class Chain:
    """One chain of the sampler.

    Parameters
    ----------
    problem, settings
        Shared by all chains, never written to.
    state : numpy.record of layout STATE
        Where the chain starts; it moves on with every block.
    run_block
        The compiled function or its reference, see `raytpnn.engine.backends`.
    watched : (W,) int, optional
        Rows whose fit is kept in every draw, counted over all shards.
    place : ShardPlace
        If the rows are a shard of more.
    """

    def __init__(
        self,
        problem: Problem,
        settings: np.record,
        state: np.record,
        run_block: Any,
        watched: np.ndarray | None = None,
        place: ShardPlace = ALONE,
    ) -> None:
        self.problem = problem
        self.settings = settings
        self.state = state
        self.work, self._arrays = new_work(problem, settings, place)
        self.place = place
        self._control = self.work["control"]
        self._run_block = run_block
        self.watched = np.array([] if watched is None else watched, np.int64)

    def run(self, first: int, sweeps: int, warmup: int, thin: int) -> Block:
        """Run sweeps first ... first + sweeps - 1 and return the draws they kept."""
        kept = max(0, first + sweeps - warmup) // thin - max(0, first - warmup) // thin
        record = new_record(self.settings, max(kept, 1), self.watched)
        self._control[SWEEPS_DONE] = first
        done, draws = self._run_block(
            self.problem.record, self.settings, self.state, self.work, record, first, sweeps, warmup, thin
        )
        return Block(record, int(done), int(draws))

    def request_stop(self) -> None:
        """Ask a running block to end after the term at hand; safe from another thread."""
        self._control[STOP] = 1

    @property
    def progress(self) -> tuple[int, int]:
        """Sweeps done and terms at present; safe from another thread."""
        return int(self._control[SWEEPS_DONE]), int(self._control[TERMS])

    def checkpoint(self) -> bytes:
        """What the next block depends on."""
        return self.state.tobytes()

    def restore(self, checkpoint: bytes) -> None:
        """Go back to a checkpoint."""
        saved = np.frombuffer(checkpoint, STATE)[0]
        for name in STATE.names or ():
            self.state[name] = saved[name]

    def acceptance(self) -> dict[str, tuple[int, int]]:
        """Proposals and acceptances of every move so far."""
        return tally_of(self.state)

    def screening(self) -> dict[str, dict[str, Any]]:
        """What delayed acceptance did so far, see `screening_of`."""
        return screening_of(self.settings, self.state)
