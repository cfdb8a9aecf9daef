"""Rows of one chain in shards: every shard has the same state and decides alike, see `reduction.py`.

Shard g of G owns stripes 16 g / G to 16 (g + 1) / G - 1. It runs the whole sampler on its rows and the same
random numbers, and meets the others wherever rows are summed up. What they come to is the same, bit by bit,
for any G.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from typing import Any

import numpy as np

from raytpnn.engine.chain import Block, Chain, ShardPlace
from raytpnn.engine.exchange.mailbox import BROKEN_WORD, HEADER_WORDS, STOPPED, new_mailbox
from raytpnn.engine.exchange.meeting import Meeting, MeetingBroken
from raytpnn.engine.problem import Problem, new_record_of
from raytpnn.engine.records import PROBLEM, STOP
from raytpnn.engine.rows.reduction import partial_width
from raytpnn.numerics.lanes import STRIPES, stripe_starts

__all__ = [
    "SHARD_COUNTS",
    "ShardError",
    "ShardedChain",
    "agree",
    "as_shard",
    "check_shards",
    "room_width",
    "shard_of",
    "shard_rows",
]

SHARD_COUNTS = tuple(count for count in range(1, STRIPES + 1) if STRIPES % count == 0)


class ShardError(RuntimeError):
    """Shards that could not come to one state."""


def check_shards(shards: Any) -> None:
    """Raise ValueError if rows cannot be split into so many shards."""
    if isinstance(shards, bool) or shards not in SHARD_COUNTS:
        counts = ", ".join(str(count) for count in SHARD_COUNTS)
        raise ValueError(
            f"shards must be one of {counts}: each takes whole stripes of the rows; got {shards!r}"
        )


def shard_rows(starts: np.ndarray, shards: int, shard: int) -> tuple[int, int]:
    """First row of a shard, and where it ends; `starts` are first rows of the stripes, and n."""
    share = STRIPES // shards
    return int(starts[share * shard]), int(starts[share * (shard + 1)])


def stripes_of_shard(starts: np.ndarray, shards: int, shard: int) -> np.ndarray:
    """Bounds of all stripes among the shard's own rows, (17,) int64: those of other shards are empty."""
    start, stop = shard_rows(starts, shards, shard)
    return np.clip(starts, start, stop) - start


def shard_of(problem: Problem, shards: int, shard: int) -> Problem:
    """Problem of a shard's rows, which stay where they are."""
    start, stop = shard_rows(problem.record.stripe, shards, shard)
    record = new_record_of(PROBLEM)
    for name in PROBLEM.names or ():
        record[name] = problem.record[name]
    record.n = stop - start
    record.first_row = start
    record.stripe[:] = stripes_of_shard(problem.record.stripe, shards, shard)
    record.codes += start * problem.codes.itemsize
    for name in ("y", "w", "offset"):
        record[name] += 8 * start
    return replace(
        problem,
        record=record,
        codes=problem.codes[:, start:stop],
        y=problem.y[start:stop],
        w=problem.w[start:stop],
        offset=problem.offset[start:stop],
        others=problem.others,
    )


def as_shard(problem: Problem, n_all: int, shards: int, shard: int) -> Problem:
    """Problem that was made of a shard's rows alone, with its place among all of them."""
    starts = stripe_starts(n_all)
    start, stop = shard_rows(starts, shards, shard)
    if len(problem.y) != stop - start:
        raise ValueError(
            f"shard {shard} of {shards} has {stop - start} of {n_all} rows, got {len(problem.y)}"
        )
    problem.record.first_row, problem.record.n_all = start, n_all
    problem.record.stripe[:] = stripes_of_shard(starts, shards, shard)
    return replace(problem, n_all=n_all)


class ShardedChain:
    """One chain whose shards run in threads of this process; used like a `Chain`.

    Parameters
    ----------
    problem, settings, state, run_block, watched
        As of a `Chain`.
    shards : int
    """

    def __init__(
        self,
        problem: Problem,
        settings: np.record,
        state: np.record,
        run_block: Any,
        shards: int,
        watched: np.ndarray | None = None,
    ) -> None:
        check_shards(shards)
        self._problem = problem
        width = room_width(settings, watched)
        self.mailbox = new_mailbox(width)
        self.parts = [
            Chain(
                shard_of(problem, shards, shard),
                settings,
                state.copy(),
                run_block,
                watched,
                ShardPlace(shards, shard, self.mailbox),
            )
            for shard in range(shards)
        ]
        self.seats = [
            Meeting(self.mailbox, width, shards, shard, part.work) for shard, part in enumerate(self.parts)
        ]
        self._stopped = False

    @property
    def problem(self) -> Problem:
        """All rows."""
        return self._problem

    @problem.setter
    def problem(self, problem: Problem) -> None:
        if problem is not self._problem:
            self._problem = problem
            for shard, part in enumerate(self.parts):
                part.problem = shard_of(problem, len(self.parts), shard)

    @property
    def state(self) -> np.record:
        """State of the chain, which all shards share."""
        return self.parts[0].state

    def run(self, first: int, sweeps: int, warmup: int, thin: int) -> Block:
        """Run sweeps first ... first + sweeps - 1 and return the draws they kept."""
        self.mailbox[:HEADER_WORDS] = 0
        for part in self.parts:
            part.work.control[STOP] = 0
        if self._stopped:
            self.mailbox[BROKEN_WORD] = STOPPED
        results: list[Block | BaseException] = [ShardError("a shard has not run")] * len(self.parts)

        def run_part(shard: int) -> None:
            try:
                results[shard] = self._run_part(shard, first, sweeps, warmup, thin)
            except BaseException as problem:
                # Nobody waits for a shard that does not come.
                self.seats[shard].break_off()
                results[shard] = problem

        threads = [
            threading.Thread(target=run_part, args=(shard,), name=f"raytpnn-shard-{shard}", daemon=True)
            for shard in range(1, len(self.parts))
        ]
        for thread in threads:
            thread.start()
        run_part(0)
        for thread in threads:
            thread.join()
        blocks = []
        for result in results:
            if isinstance(result, BaseException):
                raise result
            blocks.append(result)
        return replace(blocks[0], sweeps=min(block.sweeps for block in blocks))

    def _run_part(self, shard: int, first: int, sweeps: int, warmup: int, thin: int) -> Block:
        """Run a block of one shard, and compare where it led with the others."""
        part = self.parts[shard]
        block = part.run(first, sweeps, warmup, thin)
        try:
            if block.sweeps == sweeps:
                agree(self.seats[shard], part.checkpoint())
        except MeetingBroken:
            # Stopped on request, or another shard raises the error.
            return replace(block, sweeps=max(min(block.sweeps, sweeps - 1), 0))
        return block

    def request_stop(self) -> None:
        """Ask a running block to end at the next sum over rows; safe from another thread."""
        self._stopped = True
        self.mailbox[BROKEN_WORD] = STOPPED

    @property
    def progress(self) -> tuple[int, int]:
        """Sweeps done and terms at present; safe from another thread."""
        return self.parts[0].progress

    def checkpoint(self) -> bytes:
        """What the next block depends on."""
        return self.parts[0].checkpoint()

    def restore(self, checkpoint: bytes) -> None:
        """Go back to a checkpoint."""
        for part in self.parts:
            part.restore(checkpoint)

    def acceptance(self) -> dict[str, tuple[int, int]]:
        """Proposals and acceptances of every move so far."""
        return self.parts[0].acceptance()

    def screening(self) -> dict[str, dict[str, Any]]:
        """What delayed acceptance did so far, by group of moves; empty without it."""
        return self.parts[0].screening()


def room_width(settings: np.record, watched: np.ndarray | None) -> int:
    """Sums of a stripe for which a mailbox has room; the watched rows fit in it too."""
    count = 0 if watched is None else len(watched)
    if count > STRIPES * partial_width(settings):
        raise ValueError(f"shards can watch {STRIPES * partial_width(settings)} rows, got {count}")
    return partial_width(settings)


def agree(seat: Meeting, checkpoint: bytes) -> None:
    """Raise ShardError unless all shards came to the same state.

    One that took another way has met the others more or fewer times: it takes their digests for sums, or they
    its sums for a digest, which shows too.
    """
    digest = np.frombuffer(hashlib.sha256(checkpoint).digest(), np.int64)
    if (seat.exchange(digest) != digest).any():
        raise ShardError(
            "the shards of a chain came to different states, which must not happen; nothing is kept"
        )
