"""Moments of a term, and of one that might take its place, at the fit without it.

One pass over the rows that stores nothing.
"""

from __future__ import annotations

from numba import types
from numpy import int64

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.pointers import doubles, singles
from raytpnn.engine.jit.signatures import CHAIN, DOUBLE, INTEGER
from raytpnn.engine.records import NUISANCE, TILE
from raytpnn.engine.rows.reduction import combine, stripe_sums
from raytpnn.engine.rows.row_passes import family_rows
from raytpnn.families.base import DERIVATIVES
from raytpnn.numerics.jit import internal
from raytpnn.numerics.lanes import BLOCK, LANES, STRIPES, trees

__all__ = ["moments_without", "tile_without"]


@internal
def add_moments(score, curvature, x, dot, norm):
    """Add score * x and (curvature * x) * x to the lanes of two sums; rows begin at a lane 0."""
    for start in range(0, len(x), LANES):
        s = score[start : start + LANES]
        c = curvature[start : start + LANES]
        part = x[start : start + LANES]
        for i in range(len(part)):
            value = float(part[i])
            dot[i] += s[i] * value
            norm[i] += (c[i] * value) * value


@internal
def tile_without(problem, state, work, k, beta, start, stop):
    """Fit without term k, its score and its curvature at rows start ... stop - 1, into work.tile."""
    size = stop - start
    fit = doubles(work.fit + 8 * start, size)
    phi = singles(work.phi + 4 * (problem.n * k + start), size)
    base = work.tile[0][:size]
    for i in range(size):
        base[i] = fit[i] - beta * phi[i]
    at = int64(work.tile[0].ctypes.data)
    dispersion = state.scalar[NUISANCE]
    family_rows(problem, work, start, stop, dispersion, DERIVATIVES, at, at + 8 * TILE, at + 16 * TILE)


@unit(types.UniTuple(types.float64, 4)(*CHAIN, INTEGER, DOUBLE, INTEGER))
def moments_without(problem, settings, state, work, k, beta, row):
    """Moments of phi[k], then those of phi[row], at the fit without beta * phi[k]; row may be k itself.

    Score and curvature in `work` are left alone.
    """
    n = problem.n
    for stripe in range(STRIPES):
        last = problem.stripe[stripe + 1]
        sums = doubles(stripe_sums(problem, work, stripe, 4), 4)
        for block in range(problem.stripe[stripe], last, BLOCK):
            work.lanes[:, :] = 0.0
            end = min(block + BLOCK, last)
            for start in range(block, end, TILE):
                stop = min(start + TILE, end)
                tile_without(problem, state, work, k, beta, start, stop)
                score, curvature = work.tile[1], work.tile[2]
                own = singles(work.phi + 4 * (n * k + start), stop - start)
                add_moments(score, curvature, own, work.lanes[0], work.lanes[1])
                if row != k:
                    other = singles(work.phi + 4 * (n * row + start), stop - start)
                    add_moments(score, curvature, other, work.lanes[2], work.lanes[3])
            dot, norm = trees(work.lanes[0], work.lanes[1])
            sums[0] += dot
            sums[1] += norm
            if row != k:
                dot, norm = trees(work.lanes[2], work.lanes[3])
            sums[2] += dot
            sums[3] += norm
    total = doubles(combine(problem, work, 4), 4)
    return total[0], total[1], total[2], total[3]
