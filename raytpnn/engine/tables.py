"""Factors of a term as tables over the bins of a feature."""

from __future__ import annotations

import numpy as np

from raytpnn.engine.memory import double_rows, doubles, integers, single_rows
from raytpnn.numerics.elementary import exp
from raytpnn.numerics.jit import internal
from raytpnn.numerics.lanes import BLOCK, block_dot

__all__ = ["SMALLEST_MEAN", "factor_table", "slope_tables"]

# Below this mean of the sigmoid a factor has no prior mass: 1 - s/c could no longer be told from rounding.
SMALLEST_MEAN = 1e-30


@internal
def marginal_mean(weight, values, lanes):
    """Mean over a feature's marginal, in the order of row sums."""
    total = 0.0
    for start in range(0, len(values), BLOCK):
        total += block_dot(weight[start : start + BLOCK], values[start : start + BLOCK], lanes)
    return total


@internal
def factor_table(problem, work, j, feature, b, gamma):
    """Write 1 - s/c of every bin to table j, 0 for missing; return c, and leave s in sigmoid row 0."""
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
        height = 1.0 / c
        for i in range(size):
            out[i] = np.float32(1.0 - s[i] * height)
        out[width - 1] = np.float32(0.0)
    return c


@internal
def slope_tables(problem, work, D, j, feature, b, gamma, c):
    """Write the slopes of factor j in b and in log gamma; sigmoid row 0 is as `factor_table` left it."""
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
    height = 1.0 / c
    steepness = height * inverse
    for i in range(size):
        out_b[i] = np.float32((t[i] - s[i] * share_t) * steepness)
        out_gamma[i] = np.float32((ut[i] - s[i] * share_ut) * height)
    out_b[width - 1] = np.float32(0.0)
    out_gamma[width - 1] = np.float32(0.0)
