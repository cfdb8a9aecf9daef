"""Sums over the rows of each bin of one factor, and the term that a changed factor makes.

For factor j of a term, with the fit without the term: sums of score times the other factors, and of curvature
times their squares, over the rows of each bin. All that a location, a scale and a coefficient do to the
log-likelihood is known from them: exactly if it is quadratic, else to second order.

Rows of a bin are added as whole numbers, in units of 1 / bin_unit: their order does not matter, nor how many
threads, shards or devices share them.
"""

from __future__ import annotations

from numpy import int64

from raytpnn.engine.exchange.mailbox import meet, next_exchange, room
from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.pointers import code_bytes, code_words, doubles, integers, single_rows, singles
from raytpnn.engine.jit.signatures import CHAIN, DOUBLE, FEATURES, INTEGER, NOTHING, PROBLEM_T, WORK_T
from raytpnn.engine.records import TILE
from raytpnn.engine.rows.row_passes import codes_from
from raytpnn.engine.rows.term_moments import tile_without
from raytpnn.numerics.jit import internal
from raytpnn.numerics.lanes import STRIPES

__all__ = ["bin_sums", "rebuild_term"]


@internal
def product_of_factors(problem, work, features, d, skip, start, stop):
    """Product of factor tables 0 ... d - 1 but `skip` at rows start ... stop - 1, into work.slope[0]."""
    size = stop - start
    out = work.slope[0][:size]
    tables = single_rows(work.table, d, work.table_width)
    begun = False
    for j in range(d):
        if j == skip:
            continue
        table = tables[j]
        codes = codes_from(problem, int(features[j]), start)
        if problem.wide_codes:
            words = code_words(codes, size)
            for i in range(size):
                out[i] = out[i] * table[words[i]] if begun else table[words[i]]
        elif begun:
            octets = code_bytes(codes, size)
            for i in range(size):
                out[i] = out[i] * table[octets[i]]
        else:
            octets = code_bytes(codes, size)
            for i in range(size):
                out[i] = table[octets[i]]
        begun = True


@internal
def quantise(problem, work, features, d, j, start, stop, bin_unit):
    """What each row adds to the sums of its bin, in whole numbers, into work.quanta."""
    size = stop - start
    score = work.tile[1][:size]
    curvature = work.tile[2][:size]
    first = work.quanta[0][:size]
    second = work.quanta[1][:size]
    if d == 1:
        for i in range(size):
            first[i] = int64(score[i] * bin_unit)
            second[i] = int64(curvature[i] * bin_unit)
        return
    product_of_factors(problem, work, features, d, j, start, stop)
    others = work.slope[0][:size]
    for i in range(size):
        value = float(others[i])
        first[i] = int64((score[i] * value) * bin_unit)
        second[i] = int64(((curvature[i] * value) * value) * bin_unit)


@internal
def count_rows(problem, work, feature, start, stop, counts):
    """Add work.quanta to the sums of the bins, two numbers side by side for each."""
    size = stop - start
    first = work.quanta[0][:size]
    second = work.quanta[1][:size]
    codes = codes_from(problem, feature, start)
    if problem.wide_codes:
        words = code_words(codes, size)
        for i in range(size):
            place = 2 * int64(words[i])
            counts[place] += first[i]
            counts[place + 1] += second[i]
    else:
        octets = code_bytes(codes, size)
        for i in range(size):
            place = 2 * int64(octets[i])
            counts[place] += first[i]
            counts[place + 1] += second[i]


@internal
def join_counts(work, counts, size):
    """Add the counts of all shards, as many at a time as there is room for."""
    most = work.partial_width * STRIPES // work.shards
    for start in range(0, size, most):
        number = min(most, size - start)
        here = room(work, next_exchange(work))
        own = integers(here + 8 * work.shard * number, number)
        for i in range(number):
            own[i] = counts[start + i]
            counts[start + i] = 0
        if not meet(work, work.shard * number, number):
            return
        for shard in range(work.shards):
            part = integers(here + 8 * shard * number, number)
            for i in range(number):
                counts[start + i] += part[i]


@unit(NOTHING(*CHAIN, INTEGER, INTEGER))
def bin_sums(problem, settings, state, work, k, j):
    """Sums of every bin of factor j of term k, at the fit without it: work.bin_score, work.bin_curvature.

    Tables of the term's other factors stand in work.table.
    """
    n = problem.n
    d = state.order[k]
    features = state.features[k]
    beta = state.beta[k]
    size = integers(problem.n_bins, problem.p)[features[j]]
    # Rows whose value is missing have the last code: they are counted, and not looked at.
    counts = integers(work.counts, 2 * work.table_width)
    for i in range(2 * size):
        counts[i] = 0
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        tile_without(problem, state, work, k, beta, start, stop)
        quantise(problem, work, features, d, j, start, stop, settings.bin_unit)
        count_rows(problem, work, int(features[j]), start, stop, counts)
    if work.shards > 1:
        join_counts(work, counts, 2 * size)
    score = doubles(work.bin_score, size)
    curvature = doubles(work.bin_curvature, size)
    inverse = 1.0 / settings.bin_unit
    for i in range(size):
        score[i] = counts[2 * i] * inverse
        curvature[i] = counts[2 * i + 1] * inverse


@unit(NOTHING(PROBLEM_T, WORK_T, FEATURES, INTEGER, INTEGER, INTEGER, DOUBLE, DOUBLE))
def rebuild_term(problem, work, features, d, k, trial, old_beta, new_beta):
    """Put the product of factor tables 0 ... d - 1, times new_beta, in the place of term k in fit and phi.

    Row `trial` of phi may be written over.
    """
    n = problem.n
    fit = doubles(work.fit, n)
    phi = singles(work.phi + 4 * n * k, n)
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        product_of_factors(problem, work, features, d, -1, start, stop)
        new = work.slope[0]
        old = phi[start:stop]
        part = fit[start:stop]
        for i in range(stop - start):
            part[i] = (part[i] - old_beta * old[i]) + new_beta * new[i]
            old[i] = new[i]
