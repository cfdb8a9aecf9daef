"""The most that a state has room for, and that a sweep has random numbers for."""

from __future__ import annotations

__all__ = [
    "GAMMA_SLOTS",
    "LONGEST_PERIOD",
    "MOST_ATTEMPTS",
    "MOST_FACTOR_STEPS",
    "MOST_SCREENED_ATTEMPTS",
    "MOST_TERMS",
    "MOST_VARIABLES",
]

# Room in a state. Fixed, so that another K_max or max_order compiles nothing.
MOST_TERMS = 1024
MOST_VARIABLES = 16
# First slot of the gamma variates: the uniforms of the same purpose take the slots below it.
GAMMA_SLOTS = 1 << 20
# Attempts at a move in one sweep: each of them takes a slot for every variable of a term.
MOST_ATTEMPTS = GAMMA_SLOTS // MOST_VARIABLES
# Attempts at a change of the set of each term.
MOST_SCREENED_ATTEMPTS = MOST_ATTEMPTS // MOST_TERMS
# Steps of one factor in a sweep: each has a slot of gamma variates for every term.
MOST_FACTOR_STEPS = 64
# Sweeps between two uses of a move: more than any chain has.
LONGEST_PERIOD = 1 << 40
