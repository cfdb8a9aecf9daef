"""A shard's mailbox as Python sees it: in memory that processes share, or carried between machines."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from raytpnn.engine.exchange.mailbox import (
    BROKEN_WORD,
    FAILED,
    HEADER_WORDS,
    LINE_WORDS,
    mailbox_words,
    meet,
    store_word,
    wait_for,
)
from raytpnn.engine.jit.function_table import compile_unit
from raytpnn.engine.jit.signatures import WORK_T
from raytpnn.numerics.jit import compiled
from raytpnn.numerics.lanes import STRIPES

__all__ = ["Meeting", "MeetingBroken", "compile_meeting", "map_mailbox", "remove_old_mailboxes"]

# Younger files are left alone.
YOUNG_SECONDS = 60.0


class MeetingBroken(RuntimeError):
    """A meeting of shards that was broken off: one of them is gone."""


@compiled
def meet_now(work, first, count):
    """Take part in an exchange."""
    return meet(work, first, count)


@compiled
def wait_now(mailbox, shard, exchange):
    """Wait for a shard's part of an exchange; False if the meeting is broken off."""
    return wait_for(mailbox, shard, exchange)


@compiled
def publish(mailbox, shard, exchange):
    """Say that a shard's part of an exchange is there."""
    store_word(mailbox + 8 * LINE_WORDS * (1 + shard), exchange)


def compile_meeting() -> None:
    """Compile what shards need beside a chain, so that other processes find it in the cache."""
    from numba import types

    compile_unit("meet")
    meet_now.compile((WORK_T, types.int64, types.int64))
    wait_now.compile((types.int64, types.int64, types.int64))
    publish.compile((types.int64, types.int64, types.int64))


def map_mailbox(path: str, width: int) -> np.ndarray:
    """Mailbox in a file that several processes map, (words,) int64; made, all 0, by whoever comes first.

    Whoever has it mapped has it locked, as long as the process lives: see `remove_old_mailboxes`.
    """
    size = 8 * mailbox_words(width)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    os.ftruncate(descriptor, size)
    return np.memmap(path, np.int64, "r+", shape=(mailbox_words(width),))


def remove_old_mailboxes(folder: Path, prefix: str) -> None:
    """Remove mailbox files left by killed processes: files that no process has locked."""
    for path in folder.glob(f"{prefix}*"):
        with suppress(OSError):
            # One that was made just now may not be locked yet.
            if path.is_symlink() or time.time() - path.stat().st_mtime < YOUNG_SECONDS:
                continue
            descriptor = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(descriptor)


class Meeting:
    """One shard's seat.

    Parameters
    ----------
    mailbox : (words,) int64
    width : int
        Sums of a stripe for which it has room.
    shards, shard : int
    work : numpy.record of layout WORK
        Of the shard's chain.
    """

    def __init__(
        self, mailbox: np.ndarray, width: int, shards: int, shard: int, work: np.record | None = None
    ) -> None:
        self.mailbox = mailbox
        self.capacity = STRIPES * width
        self.shards = shards
        self.shard = shard
        self.work = work

    def line(self, shard: int) -> np.ndarray:
        """What a shard says: its last exchange, and where its part of it lies."""
        return self.mailbox[LINE_WORDS * (1 + shard) : LINE_WORDS * (1 + shard) + 3]

    def room(self, exchange: int) -> np.ndarray:
        """Room of an exchange, (16 width,) int64."""
        start = HEADER_WORDS + exchange % 2 * self.capacity
        return self.mailbox[start : start + self.capacity]

    def exchange(self, words: np.ndarray) -> np.ndarray:
        """Words of all shards, as many each, (shards, words) int64; MeetingBroken if it comes to none."""
        size = len(words)
        room = self.room(int(self.line(self.shard)[0]) + 1)
        room[self.shard * size : (self.shard + 1) * size] = words
        self.meet(self.shard * size, size)
        return room[: self.shards * size].reshape(self.shards, size).copy()

    def meet(self, first: int, count: int) -> None:
        """Take part in an exchange with these words of its room."""
        if not meet_now(self.work, first, count):
            raise MeetingBroken("the shards of a chain have lost one of them")

    def broadcast(self, data: bytes) -> bytes:
        """What shard 0 gives."""
        size = int(self.exchange(np.array([len(data)], np.int64))[0, 0])
        words = np.zeros(-(-size // 8), np.int64)
        if self.shard == 0:
            words.view(np.uint8)[:size] = np.frombuffer(data, np.uint8)
        for start in range(0, len(words), self.capacity):
            part = words[start : start + self.capacity]
            room = self.room(int(self.line(self.shard)[0]) + 1)
            if self.shard == 0:
                room[: len(part)] = part
            self.meet(0, len(part) if self.shard == 0 else 0)
            part[:] = room[: len(part)]
        return words.tobytes()[:size]

    def own_part(self, exchange: int) -> tuple[int, np.ndarray] | None:
        """Wait for this shard's part of an exchange: its place and its words; None if broken off."""
        if not wait_now(self.mailbox.ctypes.data, self.shard, exchange):
            return None
        _, first, count = (int(word) for word in self.line(self.shard))
        return first, self.room(exchange)[first : first + count]

    def put(self, shard: int, exchange: int, first: int, words: np.ndarray) -> None:
        """Put another shard's part of an exchange in."""
        self.room(exchange)[first : first + len(words)] = words
        publish(self.mailbox.ctypes.data, shard, exchange)

    def break_off(self) -> None:
        """Wake all shards that wait."""
        self.mailbox[BROKEN_WORD] = FAILED
