"""Building the basis function of a proposed term."""

from __future__ import annotations

from raytpnn.engine.rows import multiply_factor
from raytpnn.engine.tables import SMALLEST_MEAN, factor_table
from raytpnn.numerics.jit import internal

__all__ = ["build_phi"]


@internal
def build_phi(problem, work, features, b, gamma, d, first, row):
    """Multiply factors first ... d - 1 into a row of phi that holds those before; False if one has no mass."""
    for j in range(first, d):
        c = factor_table(problem, work, j, features[j], b[j], gamma[j])
        if not c >= SMALLEST_MEAN:
            return False
        multiply_factor(problem, work, features[j], j, row)
    return True
