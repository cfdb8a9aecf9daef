"""Factors of a term as tables over the bins of a feature.

A bounded factor is (1 - s/c)/h with h its height, the largest absolute value over the feature's bins: it lies
in [-1, 1]. The sigmoid grows with the value, so that the height is taken at the first or the last bin.
"""

from __future__ import annotations

import numpy as np

from raytpnn.engine.jit.pointers import double_rows, doubles, integers, single_rows
from raytpnn.numerics.elementary import exp
from raytpnn.numerics.jit import compiled, internal
from raytpnn.numerics.lanes import BLOCK, block_dot, block_moments

__all__ = [
    "SMALLEST_HEIGHT",
    "SMALLEST_MEAN",
    "bin_moments",
    "factor_table",
    "keep_table",
    "kept_table",
    "slope_tables",
    "term_heights",
]

# Below this mean of the sigmoid a factor has no prior mass: 1 - s/c could no longer be told from rounding.
SMALLEST_MEAN = 1e-30
# Nor does a bounded one below this height: it would be rounding, blown up.
SMALLEST_HEIGHT = 1e-8


@internal
def marginal_mean(weight, values, lanes):
    """Mean over a feature's marginal, in the order of row sums."""
    total = 0.0
    for start in range(0, len(values), BLOCK):
        total += block_dot(weight[start : start + BLOCK], values[start : start + BLOCK], lanes)
    return total


@internal
def height_of(s, size, inverse_mean):
    """Largest absolute value of 1 - s/c: s grows from the first bin, where it is below c, to the last."""
    return max(1.0 - s[0] * inverse_mean, s[size - 1] * inverse_mean - 1.0)


@internal
def factor_table(problem, work, j, feature, b, gamma):
    """Write the factor at every bin to table j, 0 for missing; return c, and leave s in sigmoid row 0.

    A factor without prior mass returns a c below SMALLEST_MEAN.
    """
    first = integers(problem.first_bin, problem.p)[feature]
    size = integers(problem.n_bins, problem.p)[feature]
    value = doubles(problem.bin_value + 8 * first, size)
    weight = doubles(problem.bin_weight + 8 * first, size)
    width = work.table_width
    s = doubles(work.sigmoid, size)
    inverse = 1.0 / gamma
    for i in range(size):
        s[i] = 1.0 / (1.0 + exp((b - value[i]) * inverse))
    c = marginal_mean(weight, s, work.lanes[0])
    if c >= SMALLEST_MEAN:
        out = single_rows(work.table, j + 1, width)[j]
        inverse_mean = 1.0 / c
        shrink = 1.0
        if work.bounded != 0:
            height = height_of(s, size, inverse_mean)
            if not height >= SMALLEST_HEIGHT:
                return 0.0
            shrink = 1.0 / height
        for i in range(size):
            out[i] = np.float32((1.0 - s[i] * inverse_mean) * shrink)
        out[width - 1] = np.float32(0.0)
    return c


@internal
def bin_moments(problem, work, feature, j):
    """Moments of factor table j with the sums of bins that `bin_sums` left."""
    size = integers(problem.n_bins, problem.p)[feature]
    score = doubles(work.bin_score, size)
    curvature = doubles(work.bin_curvature, size)
    table = single_rows(work.table, j + 1, work.table_width)[j]
    dot = 0.0
    norm = 0.0
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        more = block_moments(score[start:stop], curvature[start:stop], table[start:stop], work.lanes)
        dot += more[0]
        norm += more[1]
    return dot, norm


@internal
def copy_table(work, D, source, target):
    """Copy one of the 3 D tables over another."""
    tables = single_rows(work.table, 3 * D, work.table_width)
    for i in range(work.table_width):
        tables[target, i] = tables[source, i]


@internal
def keep_table(work, D, j):
    """Keep factor table j in the place of its slopes."""
    copy_table(work, D, j, D + j)


@internal
def kept_table(work, D, j):
    """Put factor table j back as it was kept."""
    copy_table(work, D, D + j, j)


@internal
def slope_tables(problem, work, D, j, feature, b, gamma, c):
    """Write the slopes of factor j in b and in log gamma; sigmoid row 0 is as `factor_table` left it.

    With g = 1 - s/c and h = |g| at the bin where it is largest, the slope of g/h is (g' - (g/h) h') / h.
    """
    first = integers(problem.first_bin, problem.p)[feature]
    size = integers(problem.n_bins, problem.p)[feature]
    value = doubles(problem.bin_value + 8 * first, size)
    weight = doubles(problem.bin_weight + 8 * first, size)
    width = work.table_width
    sigmoid = double_rows(work.sigmoid, 3, width)
    s = sigmoid[0][:size]
    t = sigmoid[1][:size]
    ut = sigmoid[2][:size]
    inverse = 1.0 / gamma
    for i in range(size):
        t[i] = s[i] * (1.0 - s[i])
        ut[i] = ((value[i] - b) * inverse) * t[i]
    share_t = marginal_mean(weight, t, work.lanes[0]) / c
    share_ut = marginal_mean(weight, ut, work.lanes[0]) / c
    tables = single_rows(work.table, 3 * D, width)
    out_b = tables[D + j]
    out_gamma = tables[2 * D + j]
    inverse_mean = 1.0 / c
    steepness = inverse_mean * inverse
    shrink = 1.0
    height_b = 0.0
    height_gamma = 0.0
    if work.bounded != 0:
        shrink = 1.0 / height_of(s, size, inverse_mean)
        at_first = 1.0 - s[0] * inverse_mean >= s[size - 1] * inverse_mean - 1.0
        top = 0 if at_first else size - 1
        sign = shrink if at_first else -shrink
        height_b = sign * ((t[top] - s[top] * share_t) * steepness)
        height_gamma = sign * ((ut[top] - s[top] * share_ut) * inverse_mean)
    for i in range(size):
        g = 1.0 - s[i] * inverse_mean
        out_b[i] = np.float32(((t[i] - s[i] * share_t) * steepness - g * height_b) * shrink)
        out_gamma[i] = np.float32(((ut[i] - s[i] * share_ut) * inverse_mean - g * height_gamma) * shrink)
    out_b[width - 1] = np.float32(0.0)
    out_gamma[width - 1] = np.float32(0.0)


@compiled
def term_heights(problem, start, feature, b, gamma, out):
    """Height of every term to `out`: the product of those of its factors, from start[t] on."""
    first_bin = integers(problem.first_bin, problem.p)
    n_bins = integers(problem.n_bins, problem.p)
    for t in range(len(out)):
        out[t] = 1.0
        for v in range(start[t], start[t + 1]):
            first, size = first_bin[feature[v]], n_bins[feature[v]]
            value = doubles(problem.bin_value + 8 * first, size)
            weight = doubles(problem.bin_weight + 8 * first, size)
            inverse = 1.0 / gamma[v]
            c = 0.0
            for i in range(size):
                c += weight[i] / (1.0 + exp((b[v] - value[i]) * inverse))
            low = 1.0 / (1.0 + exp((b[v] - value[0]) * inverse))
            high = 1.0 / (1.0 + exp((b[v] - value[size - 1]) * inverse))
            out[t] *= max(1.0 - low / c, high / c - 1.0)
