"""The rows of a sweep that looks at a subset of them.

A subset of m rows is drawn anew for every sweep: from each stratum its share, without repetition. Which rows
they are is a function of seed, chain and sweep: the i-th row of a stratum is the image of i under a keyed
permutation of its rows. So nothing of the length of the data is ever stored or shuffled, and whoever needs
some of the rows computes those alone. Strata are whole runs of row blocks: a device that holds some of them
takes its part of the subset without asking others.

A row's weight is multiplied by (rows of its stratum) / (rows taken of it): sums over the subset are unbiased
estimates of sums over all rows. Marginals, and so every basis function, stay those of all rows; so do the sum
of weights in the law of the noise variance, and the count of rows in the prior of K.
"""

from __future__ import annotations

import numpy as np

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.pointers import batch_at, doubles, integers, problem_at
from raytpnn.engine.jit.signatures import NOTHING, PROBLEM_T, STATE_T, WORK_T
from raytpnn.engine.records import FOR_SUBSET
from raytpnn.engine.rows.set_table import take_proposals
from raytpnn.numerics.jit import internal
from raytpnn.numerics.lanes import BLOCK, STRIPES
from raytpnn.numerics.philox import WEYL_0
from raytpnn.numerics.random import words

__all__ = ["FEISTEL_ROUNDS", "LEAST_OF_STRATUM", "permuted", "strata_of", "stratum_start", "take_subset"]

# Fewer rows of a stratum than this are not worth a stratum of their own.
LEAST_OF_STRATUM = 512
# Of the Feistel network; four would do for large strata.
FEISTEL_ROUNDS = 8
LOW_32 = np.uint64(0xFFFFFFFF)
MIX_0 = np.uint64(0x85EBCA6B)
MIX_1 = np.uint64(0xC2B2AE35)


@internal
def strata_of(n, m):
    """Number of strata for m of n rows: a power of two, none of them empty."""
    blocks = (n + BLOCK - 1) // BLOCK
    strata = STRIPES
    while strata > 1 and (strata * LEAST_OF_STRATUM > m or strata > blocks):
        strata //= 2
    return strata


@internal
def stratum_start(n, strata, s):
    """First row of stratum s; n for the stratum after the last."""
    blocks = (n + BLOCK - 1) // BLOCK
    return min(n, BLOCK * (s * blocks // strata))


@internal
def mixed(x, key):
    """Hash of a word of 32 bits."""
    x = ((x ^ key) * MIX_0) & LOW_32
    x ^= x >> np.uint64(15)
    x = (x * MIX_1) & LOW_32
    x ^= x >> np.uint64(13)
    x = (x * MIX_0) & LOW_32
    return x ^ (x >> np.uint64(16))


@internal
def permuted(i, size, k0, k1, k2, k3):
    """Image of i under a permutation of 0 ... size - 1.

    A Feistel network permutes the numbers of as many bits; one that falls outside is permuted again.
    """
    bits = 0
    while (1 << bits) < size:
        bits += 1
    low = np.uint64(bits // 2)
    low_mask = np.uint64((1 << (bits // 2)) - 1)
    high_mask = np.uint64((1 << (bits - bits // 2)) - 1)
    value = np.uint64(i)
    while True:
        left = value >> low
        right = value & low_mask
        for turn in range(0, FEISTEL_ROUNDS, 2):
            first = k0 if turn % 4 == 0 else k2
            second = k1 if turn % 4 == 0 else k3
            shift = WEYL_0 * np.uint64(turn)
            left ^= mixed(right, (first + shift) & LOW_32) & high_mask
            right ^= mixed(left, (second + shift) & LOW_32) & low_mask
        value = (left << low) | right
        if value < np.uint64(size):
            return np.int64(value)


@internal
def is_here(problem, start, stop):
    """Whether a stratum is among the rows of this shard, which has whole strata."""
    return problem.first_row <= start and stop <= problem.first_row + problem.n


@internal
def choose_rows(problem, state, part, batch):
    """Write the subset's rows, or those of them that are here."""
    n, m = problem.n_all, part.n_all
    rows = integers(batch.rows, part.n)
    # Place in the whole subset of its first row here.
    base = m * problem.first_row // n
    strata = strata_of(n, m)
    for s in range(strata):
        start = stratum_start(n, strata, s)
        stop = stratum_start(n, strata, s + 1)
        if is_here(problem, start, stop):
            k0, k1, k2, k3 = words(state, FOR_SUBSET, s, 0)
            first = m * start // n
            for i in range(first, m * stop // n):
                row = start + permuted(i - first, stop - start, k0, k1, k2, k3)
                rows[i - base] = row - problem.first_row


@internal
def gather_responses(problem, part, rows):
    """Responses, weights and offsets of the subset."""
    n, m = problem.n_all, part.n_all
    y, w = doubles(problem.y, problem.n), doubles(problem.w, problem.n)
    offset = doubles(problem.offset, problem.n)
    y_part, w_part, offset_part = (
        doubles(part.y, part.n),
        doubles(part.w, part.n),
        doubles(part.offset, part.n),
    )
    base = m * problem.first_row // n
    strata = strata_of(n, m)
    for s in range(strata):
        start = stratum_start(n, strata, s)
        stop = stratum_start(n, strata, s + 1)
        first, last = m * start // n, m * stop // n
        if not is_here(problem, start, stop):
            continue
        scale = (1.0 * (stop - start)) / (last - first)
        for i in range(first - base, last - base):
            row = rows[i]
            y_part[i] = y[row]
            w_part[i] = w[row] * scale
            offset_part[i] = offset[row]


@unit(NOTHING(PROBLEM_T, STATE_T, WORK_T))
def take_subset(problem, state, work):
    """Draw the subset of a sweep into the problem at work.batch."""
    part = problem_at(work.batch)
    batch = batch_at(part.batch)
    batch.earlier = batch.gathered
    # Feature weights may have been learned since the problem was made.
    take_proposals(part, problem)
    # The stripes of its sums are the strata, each where its first stripe of all rows is.
    n, m = problem.n_all, part.n_all
    strata = strata_of(n, m)
    base = m * problem.first_row // n
    for stripe in range(STRIPES + 1):
        s = (stripe * strata + STRIPES - 1) // STRIPES
        part.stripe[stripe] = min(max(m * stratum_start(n, strata, s) // n - base, 0), part.n)
    choose_rows(problem, state, part, batch)
    gather_responses(problem, part, integers(batch.rows, part.n))
