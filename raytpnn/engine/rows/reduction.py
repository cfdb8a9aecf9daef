"""Sums of every stripe of the rows, and their total: where all row sums end, and where shards meet.

The order of additions is that of `raytpnn.numerics.lanes`. A stripe without rows costs a comparison: its sum
is +0, which changes no total, for a total starts from +0 and so is never -0. A shard has the sums of its own
stripes and takes those of the others from the mailbox, so that all come to the same total.
"""

from __future__ import annotations

import numpy as np

from raytpnn.engine.exchange.mailbox import meet, next_exchange, room
from raytpnn.engine.jit.pointers import doubles
from raytpnn.engine.records import MOST_VARIABLES
from raytpnn.numerics.jit import internal
from raytpnn.numerics.lanes import STRIPES

__all__ = ["combine", "partial_width", "stripe_sums"]

# A Gram matrix of more entries is summed up some rows at a time.
MOST_SUMS = 8192


def partial_width(settings: np.record) -> int:
    """Room for the sums of one stripe: the lower triangle of a Gram matrix, or some of its rows."""
    side = int(settings.K_max) + 1
    return max(min(side * (side + 1) // 2, MOST_SUMS), side, 4 * MOST_VARIABLES + 3)


@internal
def stripe_sums(problem, work, stripe, count):
    """Address of `count` sums of one stripe, set to 0; a stripe without rows is not written to."""
    address = work.partial + 8 * stripe * count
    sums = doubles(address, count)
    if problem.stripe[stripe] < problem.stripe[stripe + 1]:
        for i in range(count):
            sums[i] = 0.0
    return address


@internal
def combine(problem, work, count):
    """Add the sums of all stripes in order; returns the address of the totals (0 after a broken meeting)."""
    address = work.partial + 8 * STRIPES * count
    total = doubles(address, count)
    for i in range(count):
        total[i] = 0.0
    if work.shards > 1:
        combine_shards(problem, work, count, total)
        return address
    for stripe in range(STRIPES):
        if problem.stripe[stripe] < problem.stripe[stripe + 1]:
            sums = doubles(work.partial + 8 * stripe * count, count)
            for i in range(count):
                total[i] += sums[i]
    return address


@internal
def combine_shards(problem, work, count, total):
    """Add to `total` the sums of all stripes of all shards in order."""
    here = room(work, next_exchange(work))
    share = STRIPES // work.shards
    for stripe in range(work.shard * share, (work.shard + 1) * share):
        sums = doubles(work.partial + 8 * stripe * count, count)
        sent = doubles(here + 8 * stripe * count, count)
        filled = problem.stripe[stripe] < problem.stripe[stripe + 1]
        for i in range(count):
            sent[i] = sums[i] if filled else 0.0
    if not meet(work, work.shard * share * count, share * count):
        return
    for stripe in range(STRIPES):
        sums = doubles(here + 8 * stripe * count, count)
        for i in range(count):
            total[i] += sums[i]
