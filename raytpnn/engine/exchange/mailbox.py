"""Where the shards of one chain meet: memory that all of them see.

Words of 8 bytes: at 0 whether the meeting is broken off, then a line for each shard, then two rooms for what
is exchanged. A shard's line says to which exchange it has put in its part last, and where that part lies in
the room. Exchange number e uses room e mod 2: nobody writes to a room before all have read what was in it,
which they do before they put in their part of the next exchange. So one meeting an exchange is enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.signatures import FLAG, INTEGER, WORK_T
from raytpnn.engine.records import STOP
from raytpnn.numerics.jit import internal
from raytpnn.numerics.lanes import STRIPES

__all__ = [
    "BROKEN_WORD",
    "FAILED",
    "HEADER_WORDS",
    "LINE_WORDS",
    "STOPPED",
    "mailbox_words",
    "meet",
    "new_mailbox",
    "next_exchange",
    "room",
]

# Words of a cache line: each shard writes to a line of its own.
LINE_WORDS = 8
HEADER_WORDS = LINE_WORDS * (1 + STRIPES)
BROKEN_WORD = 0
# Why a meeting was broken off: somebody asked for it, or a shard is gone.
STOPPED, FAILED = 1, 2
# Looks at a number before the core is offered to others, offers before sleeping, and microseconds of sleep: a
# shard on a core of its own loses nothing, one that shares its core or waits for a network does not burn it.
SPINS = 2_000
YIELDS = 200
NAP_MICROSECONDS = 50
# One that waits for its next block sleeps longer.
NAPS = 2_000
LONG_NAP_MICROSECONDS = 1_000

# Of the C library; they let other threads have the core.
sched_yield: Any = types.ExternalFunction("sched_yield", types.intc())
usleep: Any = types.ExternalFunction("usleep", types.intc(types.uintc))


def _load_word(typingctx, address):
    """Read a word that another thread or process may write, and all that was written before it."""

    def codegen(context, builder, signature, args):
        word = context.get_value_type(types.int64)
        return builder.load_atomic(builder.inttoptr(args[0], word.as_pointer()), "acquire", 8)

    return types.int64(types.int64), codegen


def _store_word(typingctx, address, value):
    """Write a word that another thread or process may read, after all that was written before."""

    def codegen(context, builder, signature, args):
        word = context.get_value_type(types.int64)
        place = builder.inttoptr(args[0], word.as_pointer())
        builder.store_atomic(args[1], place, "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


load_word: Any = intrinsic(_load_word)
store_word: Any = intrinsic(_store_word)


def mailbox_words(width: int) -> int:
    """Size of a mailbox for `width` sums of every stripe."""
    return HEADER_WORDS + 2 * STRIPES * width


def new_mailbox(width: int) -> np.ndarray:
    """Mailbox in this process, (words,) int64, its lines on lines of the cache."""
    memory = np.zeros(mailbox_words(width) + LINE_WORDS, np.int64)
    skip = -(memory.ctypes.data // 8) % LINE_WORDS
    return memory[skip : skip + mailbox_words(width)]


@internal
def room(work, exchange):
    """Address of the room of an exchange."""
    return work.mailbox + 8 * (HEADER_WORDS + (exchange % 2) * STRIPES * work.partial_width)


@internal
def wait_for(mailbox, shard, exchange):
    """Wait until a shard has put in its part of an exchange; False if the meeting is broken off."""
    place = mailbox + 8 * LINE_WORDS * (1 + shard)
    looks = 0
    while load_word(place) < exchange:
        if load_word(mailbox) != 0:
            return False
        looks += 1
        if looks > SPINS + YIELDS + NAPS:
            usleep(np.uint32(LONG_NAP_MICROSECONDS))
        elif looks > SPINS + YIELDS:
            usleep(np.uint32(NAP_MICROSECONDS))
        elif looks > SPINS:
            sched_yield()
    return True


@unit(FLAG(WORK_T, INTEGER, INTEGER))
def meet(work, first, count):
    """Say that this shard's part of the next exchange is in its room, and wait for those of the others.

    The part is words first ... first + count - 1. False if the meeting is broken off; then the block ends at
    the next look at the stop flag.
    """
    own = work.mailbox + 8 * LINE_WORDS * (1 + work.shard)
    exchange = load_word(own) + 1
    store_word(own + 8, first)
    store_word(own + 16, count)
    store_word(own, exchange)
    for shard in range(work.shards):
        if not wait_for(work.mailbox, shard, exchange):
            work.control[STOP] = 1
            return False
    return True


@internal
def next_exchange(work):
    """Number of the exchange that this shard takes part in next."""
    return load_word(work.mailbox + 8 * LINE_WORDS * (1 + work.shard)) + 1
