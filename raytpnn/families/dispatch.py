"""Which compiled kernel belongs to which family code: a new family adds its line here."""

from __future__ import annotations

from raytpnn.families import bernoulli, gaussian, poisson
from raytpnn.numerics.jit import internal

__all__ = ["family_rows"]

gaussian_rows = gaussian.rows
bernoulli_rows = bernoulli.rows
poisson_rows = poisson.rows


@internal
def family_rows(code, y, f, w, score, curvature, loglik, need):
    """Run the `rows` kernel of a family on one block."""
    if code == 0:
        gaussian_rows(y, f, w, score, curvature, loglik, need)
    elif code == 1:
        bernoulli_rows(y, f, w, score, curvature, loglik, need)
    else:
        poisson_rows(y, f, w, score, curvature, loglik, need)
