"""Reference of what subsets of the rows need, see `execution.py`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from raytpnn.engine.records import FOR_SUBSET, PROBLEM, WORK
from raytpnn.engine.reference.execution import (
    batch_at,
    codes_of,
    doubles,
    integers,
    phi_of,
    tables_of,
    view,
    words,
)
from raytpnn.numerics.lanes import BLOCK

__all__ = ["SUBSET_REPLACEMENTS", "permutation", "strata"]


def problem_at(address):
    return view(address, (1,), PROBLEM).view(np.recarray)[0]


def work_at(address):
    return view(address, (1,), WORK).view(np.recarray)[0]


def permutation(size, keys):
    """Images of 0 ... size - 1 under the keyed permutation of `subset.permuted`."""
    bits = int(size - 1).bit_length()
    low = bits // 2
    low_mask, high_mask = (1 << low) - 1, (1 << (bits - low)) - 1
    word = 0xFFFFFFFF

    def mixed(x, key):
        x = ((x ^ key) * 0x85EBCA6B) & word
        x ^= x >> 15
        x = (x * 0xC2B2AE35) & word
        x ^= x >> 13
        x = (x * 0x85EBCA6B) & word
        return x ^ (x >> 16)

    def once(value):
        left, right = value >> low, value & low_mask
        for turn in range(0, 8, 2):
            first, second = (keys[0], keys[1]) if turn % 4 == 0 else (keys[2], keys[3])
            left ^= mixed(right, (first + turn * 0x9E3779B9) & word) & high_mask
            right ^= mixed(left, (second + turn * 0x9E3779B9) & word) & low_mask
        return (left << low) | right

    images = []
    for i in range(int(size)):
        value = once(i)
        while value >= size:
            value = once(value)
        images.append(value)
    return np.array(images, np.int64)


def strata(n, m):
    """Bounds of the strata: whole row blocks, as even as that allows."""
    blocks = -(-n // BLOCK)
    count = max(k for k in (1, 2, 4, 8, 16) if k == 1 or (512 * k <= m and k <= blocks))
    return [min(n, BLOCK * (s * blocks // count)) for s in range(count + 1)]


def choose_rows(problem, state, part, batch):
    n, m = int(problem.n), int(part.n)
    rows = []
    bounds = strata(n, m)
    for s, (start, stop) in enumerate(itertools.pairwise(bounds)):
        share = m * stop // n - m * start // n
        rows += (start + permutation(stop - start, words(state, FOR_SUBSET, s, 0))[:share]).tolist()
    integers(batch.rows, m)[:] = rows


def gather_responses(problem, part, rows):
    n, m = int(problem.n), int(part.n)
    for name in ("y", "offset"):
        doubles(part[name], m)[:] = doubles(problem[name], n)[rows]
    bounds = strata(n, m)
    for start, stop in itertools.pairwise(bounds):
        first, last = m * start // n, m * stop // n
        taken = doubles(problem.w, n)[rows[first:last]]
        doubles(part.w, m)[first:last] = taken * ((stop - start) / (last - first))


def gather_fit(problem, work, part, part_work, K):
    rows = integers(batch_at(part.batch).rows, part.n)
    doubles(part_work.fit, part.n)[:] = doubles(work.fit, problem.n)[rows]
    for k in range(K):
        phi_of(part, part_work, k)[:] = phi_of(problem, work, k)[rows]


def phi_at(problem, work, features, d, i):
    value = np.float32(1.0)
    for j in range(d):
        value = value * tables_of(d, work)[j][codes_of(problem, features[j])[i]]
    return value


SUBSET_REPLACEMENTS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (problem_at, work_at, choose_rows, gather_responses, gather_fit, phi_at)
}
