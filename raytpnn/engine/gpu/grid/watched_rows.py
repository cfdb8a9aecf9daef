"""What is kept of the watched rows at every draw of a chain whose rows lie on devices, see `sweeps`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from raytpnn.engine.gpu.grid.rows import GridRows
from raytpnn.engine.gpu.grid.shard import GridShard
from raytpnn.engine.jit.pointers import doubles
from raytpnn.engine.records import INTERCEPT
from raytpnn.engine.rows.row_passes import phi_at
from raytpnn.engine.sweeps.watched_rows import tables_of_term
from raytpnn.numerics.jit import compiled

__all__ = ["mean_squares", "watch_terms_of"]


@compiled
def mean_squares(beta, phi, out):
    """Mean square of every term over the watched rows; phi is (terms, watched)."""
    for k in range(phi.shape[0]):
        total = 0.0
        for i in range(phi.shape[1]):
            value = beta[k] * phi[k, i]
            total += value * value
        out[k] = total / phi.shape[1]


@compiled
def look_at_terms(problem, state, work, rows, places, seen):
    """Offset and basis functions at some of the host's rows, into places of `seen`, (1 + terms, watched)."""
    offset = doubles(problem.offset, problem.n)
    for i in range(len(rows)):
        seen[0, places[i]] = offset[rows[i]]
    for k in range(state.K):
        tables_of_term(problem, state, work, k)
        for i in range(len(rows)):
            value = phi_at(problem, work, state.features[k], state.order[k], rows[i])
            seen[1 + k, places[i]] = value


def watch_terms_of(
    problem: np.record,
    state: np.record,
    work: np.record,
    shards: Sequence[GridShard],
    rows: GridRows,
    n_watched: int,
) -> np.ndarray:
    """Fit and basis functions at the watched rows from the terms, for chains that keep no fit of all rows.

    They are few, and the host has them, too: nothing is asked of the devices.
    """
    seen = np.zeros((1 + int(state.K), n_watched))
    for shard in shards:
        look_at_terms(problem, state, work, shard.own_watched, shard.seen_here, seen)
    seen = rows.join_watched(seen)
    seen[0] += state.scalar[INTERCEPT]
    for k in range(int(state.K)):
        seen[0] += state.beta[k] * seen[1 + k]
    return seen
