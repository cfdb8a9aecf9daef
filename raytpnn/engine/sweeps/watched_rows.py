"""What is kept of the watched rows at every draw; of all shards, if the rows are spread."""

from __future__ import annotations

from numba import types

from raytpnn.engine.exchange.mailbox import meet, next_exchange, room
from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.pointers import double_rows, doubles, singles
from raytpnn.engine.jit.signatures import NOTHING, PROBLEM_T, STATE_T, VECTOR, WORK_T
from raytpnn.engine.rows.factor_tables import factor_table
from raytpnn.engine.rows.outputs import intercept_of
from raytpnn.engine.rows.row_passes import phi_at
from raytpnn.numerics.jit import internal
from raytpnn.numerics.lanes import STRIPES

__all__ = ["watch_rows", "watch_terms"]


@internal
def watch_rows(problem, work, K, beta, record, row):
    """Keep the fit at the watched rows, and the mean square of every term over them."""
    if work.shards > 1:
        watch_shards(problem, work, K, beta, record, row)
        return
    n = problem.n
    watched = record.watched
    for output in range(work.outputs):
        fit = doubles(work.fits + 8 * n * output, n)
        for i in range(len(watched)):
            record.fit[row, output * len(watched) + i] = fit[watched[i]]
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
def at_a_time(work, count):
    """Numbers of every one of `count` rows for which an exchange has room."""
    return STRIPES * work.partial_width // count


@internal
def watch_shards(problem, work, K, beta, record, row):
    """Do the same with each shard's own watched rows in its part of an exchange."""
    n = problem.n
    fit = doubles(work.fit, n)
    watched = record.watched
    count = len(watched)
    first, last = own_watched(problem, watched)
    # Number -1 is the fit, 0 ... K - 1 are terms.
    begin = -1
    while begin < K:
        end = min(begin + at_a_time(work, count), K)
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


@internal
def tables_of_term(problem, state, work, k):
    """Factor tables of a term."""
    for j in range(state.order[k]):
        factor_table(problem, work, j, state.features[k][j], state.b[k, j], state.gamma[k, j])


@unit(NOTHING(PROBLEM_T, STATE_T, WORK_T, types.int64[::1], VECTOR, VECTOR))
def watch_terms(problem, state, work, watched, fit, size):
    """The same from the terms, for chains that do not keep the fit of all rows."""
    if work.shards > 1:
        watch_terms_of_shards(problem, state, work, watched, fit, size)
        return
    offset = doubles(problem.offset, problem.n)
    for output in range(work.outputs):
        for i in range(len(watched)):
            shift = offset[watched[i]] if output == 0 else 0.0
            fit[output * len(watched) + i] = shift + intercept_of(state, output)
    for k in range(state.K):
        tables_of_term(problem, state, work, k)
        total = 0.0
        for i in range(len(watched)):
            value = state.beta[k] * phi_at(problem, work, state.features[k], state.order[k], watched[i])
            fit[state.output[k] * len(watched) + i] += value
            total += value * value
        size[k] = total / len(watched)


@internal
def watch_terms_of_shards(problem, state, work, watched, fit, size):
    """Do that with each shard's own watched rows in its part of an exchange."""
    offset = doubles(problem.offset, problem.n)
    count = len(watched)
    first, last = own_watched(problem, watched)
    # Number -1 is the offset, 0 ... K - 1 are terms.
    begin = -1
    while begin < state.K:
        end = min(begin + at_a_time(work, count), state.K)
        width = end - begin
        here = double_rows(room(work, next_exchange(work)), count, width)
        for k in range(begin, end):
            if k >= 0:
                tables_of_term(problem, state, work, k)
            for i in range(first, last):
                own = watched[i] - problem.first_row
                if k < 0:
                    here[i, 0] = offset[own]
                else:
                    value = phi_at(problem, work, state.features[k], state.order[k], own)
                    here[i, k - begin] = state.beta[k] * value
        if not meet(work, first * width, (last - first) * width):
            return
        for k in range(begin, end):
            total = 0.0
            for i in range(count):
                value = here[i, k - begin]
                fit[i] = value + intercept_of(state, 0) if k < 0 else fit[i] + value
                total += value * value
            if k >= 0:
                size[k] = total / count
        begin = end
