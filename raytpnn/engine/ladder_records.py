"""The record of an ensemble's temperatures, and which replica has which."""

from __future__ import annotations

import numpy as np

__all__ = ["LADDER", "MOST_LEVELS"]

# Room on a ladder. Fixed, so that another number of replicas compiles nothing.
MOST_LEVELS = 256

# Where the replicas of an ensemble stand: with their states, its checkpoint. Level 0 is the hottest.
LADDER = np.dtype(
    [
        ("levels", np.int64),
        ("swap_every", np.int64),
        ("prior_draws", np.bool_),  # a replica at temperature 0 draws from the prior instead of sweeping
        ("temperature", np.float64, (MOST_LEVELS,)),  # by level
        ("replica_at", np.int64, (MOST_LEVELS,)),  # by level
        ("met", np.int64, (MOST_LEVELS,)),  # by replica
        ("travels", np.int64, (2,)),  # hot to cold, and all the way back to hot
        ("tried", np.int64, (MOST_LEVELS,)),  # swaps of a level and the next, since the last change of ladder
        ("rejection", np.float64, (MOST_LEVELS,)),  # sum of their rejection probabilities
        ("swapped", np.int64, (MOST_LEVELS,)),
        ("rounds", np.int64),  # changes of the ladder so far
    ],
    align=True,
)
