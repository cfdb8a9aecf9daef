"""What is kept of the watched rows at every draw; of all shards, if the rows are spread."""

from __future__ import annotations

from raytpnn.engine.mailbox import meet, next_exchange, room
from raytpnn.engine.memory import double_rows, doubles, singles
from raytpnn.numerics.jit import internal
from raytpnn.numerics.lanes import STRIPES

__all__ = ["watch_rows"]


@internal
def watch_rows(problem, work, K, beta, record, row):
    """Keep the fit at the watched rows, and the mean square of every term over them."""
    if work.shards > 1:
        watch_shards(problem, work, K, beta, record, row)
        return
    n = problem.n
    fit = doubles(work.fit, n)
    watched = record.watched
    for i in range(len(watched)):
        record.fit[row, i] = fit[watched[i]]
    for k in range(K):
        phi = singles(work.phi + 4 * n * k, n)
        total = 0.0
        for i in range(len(watched)):
            value = beta[k] * phi[watched[i]]
            total += value * value
        record.size[row, k] = total / len(watched)


@internal
def own_watched(problem, watched):
    """First and last watched rows that are here, as places in `watched`, which is ascending."""
    first = 0
    while first < len(watched) and watched[first] < problem.first_row:
        first += 1
    last = first
    while last < len(watched) and watched[last] < problem.first_row + problem.n:
        last += 1
    return first, last


@internal
def watch_shards(problem, work, K, beta, record, row):
    """Do the same with each shard's own watched rows in its part of an exchange."""
    n = problem.n
    fit = doubles(work.fit, n)
    watched = record.watched
    count = len(watched)
    first, last = own_watched(problem, watched)
    # Number -1 is the fit, 0 ... K - 1 are terms; as many at a time as there is room for.
    most = STRIPES * work.partial_width // count
    begin = -1
    while begin < K:
        end = min(begin + most, K)
        width = end - begin
        here = double_rows(room(work, next_exchange(work)), count, width)
        for k in range(begin, end):
            phi = singles(work.phi + 4 * n * max(k, 0), n)
            for i in range(first, last):
                own = watched[i] - problem.first_row
                here[i, k - begin] = fit[own] if k < 0 else beta[k] * phi[own]
        if not meet(work, first * width, (last - first) * width):
            return
        for k in range(begin, end):
            total = 0.0
            for i in range(count):
                value = here[i, k - begin]
                if k < 0:
                    record.fit[row, i] = value
                total += value * value
            if k >= 0:
                record.size[row, k] = total / count
        begin = end
