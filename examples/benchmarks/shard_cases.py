"""Simulated rows and timed chains for `shards.py`: p = 50 features of 255 bins, five of which matter."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

# One thread for each shard, and none for anybody else: before any numerical library is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

from raytpnn import Prior
from raytpnn.chains.plan import Length, Plan, make_plan
from raytpnn.data.encoding.bins import Bins
from raytpnn.data.rows.rows_io import TrainingRows
from raytpnn.engine.chain import Chain
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.engine.sharded_chain import ShardedChain
from raytpnn.families import get_family

P = 50
BINS = 255


def simulate(n: int, p: int = P) -> TrainingRows:
    """Rows whose response depends on five of the features."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, BINS, (p, n), np.uint8)
    value = (np.arange(BINS) + 0.5) / BINS
    x = value[codes[:5]]
    y = np.sin(6 * x[0]) + 2 * (x[1] > 0.4) + 3 * x[2] * x[3] + x[4] ** 2 + rng.normal(size=n)
    bins = Bins(
        codes=codes,
        names=tuple(f"x{j}" for j in range(p)),
        marginal=np.arange(p, dtype=np.int32),
        first=np.arange(0, BINS * p + 1, BINS, dtype=np.int64),
        value=np.tile(value, p),
        weight=np.full(BINS * p, 1 / BINS),
    )
    return TrainingRows(bins, y, np.ones(n), np.zeros(n), np.full(p, 1 / p))


def plan_of(rows: TrainingRows, shards: int = 1, subsets: SubsetUse | None = None) -> Plan:
    length = Length(1, 10**6, 1)
    family = get_family("gaussian")
    return make_plan(rows, family, Prior(), Moves(), 1, length, "numba", subsets=subsets, shards=shards)


class Cost(NamedTuple):
    """Of a sweep."""

    wall: float
    cpu: float  # of all threads


def timed(chain: Chain | ShardedChain, state: bytes, first: int, sweeps: int) -> Cost:
    """Cost of a sweep from a given state."""
    chain.restore(state)
    chain.run(first, 0, 10**9, 1)
    wall, cpu = time.perf_counter(), time.process_time()
    chain.run(first, sweeps, 10**9, 1)
    return Cost((time.perf_counter() - wall) / sweeps, (time.process_time() - cpu) / sweeps)
