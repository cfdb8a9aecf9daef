"""The records a chain works on: shared by every execution.

Everything of fixed size is a field; arrays that grow with the data are addresses, see `pointers.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from raytpnn.families.base import MOST_OUTPUTS
from raytpnn.model.limits import MOST_TERMS, MOST_VARIABLES
from raytpnn.numerics.lanes import BLOCK, LANES, STRIPES

# Functions compiled apart, see `function_table.py`; room for some more.
MOST_UNITS = 48

# Slots of State.scalar.
INTERCEPT, NUISANCE, B_GAMMA, SIGMA_BETA2, FIT_LOGLIK, TEMPERATURE = range(6)
N_SCALARS = 6

# Rows of State.tally, in the order in which they are reported.
(
    BIRTH,
    DEATH,
    ADDING,
    DELETING,
    CHANGING,
    JOINING,
    LANGEVIN,
    JOINT_BETA,
    INTERCEPT_MOVE,
    COMPONENT,
    FACTOR,
    OUTPUT,
) = range(12)
MOVE_NAMES = (
    "birth",
    "death",
    "adding",
    "deleting",
    "changing",
    "joining",
    "langevin",
    "joint_beta",
    "intercept",
    "component",
    "factor",
    "output",
)

# Slots of Work.control, shared with the thread that waits for a block.
STOP, SWEEPS_DONE, TERMS = range(3)

# What a random number is for: the third word of the Philox counter.
(
    FOR_BIRTH_DEATH,
    FOR_NEW_SET,
    FOR_NEW_FACTOR,
    FOR_NEW_BETA,
    FOR_RESTRUCTURE,
    FOR_RESTRUCTURE_FACTOR,
    FOR_RESTRUCTURE_BETA,
    FOR_LANGEVIN,
    FOR_JOINT_BETA,
    FOR_INTERCEPT,
    FOR_NUISANCE,
    FOR_SCALES,
    FOR_SUBSET,
    FOR_SCREEN,
    FOR_JOINED_FACTOR,
    FOR_COMPONENT,
    FOR_FACTOR,
    FOR_OUTPUT,
) = range(18)

# Ways of Settings.delayed: no delayed acceptance, always, wherever it was found to pay in warm-up.
EXACT_ONLY, DELAYED, DELAYED_IF_IT_PAYS = range(3)
# Moves that are screened together: each is the reverse of another of its group.
# The last is the Langevin step, in whose place a random walk is taken.
SCREEN_BIRTH_DEATH, SCREEN_ADD_DELETE, SCREEN_CHANGE, SCREEN_WALK = range(4)
SCREEN_NAMES = ("birth and death", "adding and deleting", "changing", "walk")

# Rows that a pass takes at a time where it keeps nothing of them: what it needs stays in the fastest cache.
TILE = 512

_DOUBLE, _INTEGER, _FLAG = np.float64, np.int64, np.bool_

# What all chains share and none changes: data, marginals, feature weights.
PROBLEM = np.dtype(
    [
        ("n", _INTEGER),  # rows
        ("n_all", _INTEGER),  # rows of all shards; n unless these are a shard's
        ("p", _INTEGER),  # encoded features
        ("n_values", _INTEGER),  # bins of all marginals
        ("stripe", _INTEGER, (STRIPES + 1,)),  # first row of each stripe of the row sums, and n
        ("first_row", _INTEGER),  # of all rows, the one that is the first here: not 0 in a shard
        ("stride", _INTEGER),  # cells from one feature's codes to the next one's; n unless this is a shard
        ("wide_codes", _FLAG),  # codes are uint16
        ("codes", _INTEGER),  # address of (p, n) uint8 or uint16, rows `stride` apart
        ("first_bin", _INTEGER),  # (p,) int64, start of a feature's bins
        ("n_bins", _INTEGER),  # (p,) int64
        ("bin_value", _INTEGER),  # (n_values,) float64
        ("bin_weight", _INTEGER),  # (n_values,) float64
        ("y", _INTEGER),  # (n,) float64
        ("w", _INTEGER),  # (n,) float64
        ("offset", _INTEGER),  # (n,) float64
        ("feature_weight", _INTEGER),  # (p,) float64
        ("cumulative", _INTEGER),  # (p + 1,) float64, sums of feature_weight
        ("weighted_births", _FLAG),  # births draw features by weight too
        ("table_share", _DOUBLE),  # of the births, those whose sets come from the table
        ("table_size", _INTEGER),  # sets in it
        ("table_sets", _INTEGER),  # (table_size, 3) int64, each ascending, -1 for none; sorted
        ("table_weight", _INTEGER),  # (table_size,) float64
        ("table_cumulative", _INTEGER),  # (table_size + 1,) float64, sums of table_weight
        ("batch", _INTEGER),  # address of a BATCH if the rows are a subset of others, else 0
    ],
    align=True,
)

# Where the rows of a subset come from, see `subset.py`. Codes of a feature are gathered when it is used, each
# time into the next slot: when all are full, into that of the feature that was gathered the longest ago.
BATCH = np.dtype(
    [
        ("codes", _INTEGER),  # those of the whole
        ("stride", _INTEGER),  # and theirs
        ("rows", _INTEGER),  # (m,) int64, which rows
        ("slots", _INTEGER),  # features whose codes there is room for
        ("gathered", _INTEGER),  # features gathered so far, for all subsets
        ("earlier", _INTEGER),  # those of them that were gathered for subsets before this one
        ("turn", _INTEGER),  # (p,) int64, what `gathered` was when a feature was gathered last; 0: never
    ],
    align=True,
)

# Numbers of the prior, the family and the moves, as a run keeps them.
STORED_SETTINGS = np.dtype(
    [
        ("family", _INTEGER),
        ("K_max", _INTEGER),
        ("max_order", _INTEGER),
        ("log_count_penalty", _DOUBLE),
        ("log_set_prior", _DOUBLE, (MOST_VARIABLES + 1,)),  # of one particular set of d features
        ("order_cumulative", _DOUBLE, (MOST_VARIABLES,)),  # P(order <= d + 1)
        ("bounded", _FLAG),  # factors are divided by their heights
        ("sharing", _DOUBLE),  # weight of a set for every other term that has it; 0: terms share none
        ("a_gamma", _DOUBLE),
        ("v", _DOUBLE),
        ("v_lambda", _DOUBLE),
        ("intercept_mean", _DOUBLE),
        ("intercept_precision", _DOUBLE),
        ("outputs", _INTEGER),  # functions of a row
        ("intercept_means", _DOUBLE, (MOST_OUTPUTS,)),  # of outputs; that of the first stands above
        ("b_gamma_shape", _DOUBLE),
        ("b_gamma_scale", _DOUBLE),
        ("learn_b_gamma", _FLAG),
        ("sigma_beta2_shape", _DOUBLE),
        ("sigma_beta2_scale", _DOUBLE),
        ("learn_sigma_beta2", _FLAG),
        ("weight_sum", _DOUBLE),
        ("null_curvature", _DOUBLE),
        ("null_curvatures", _DOUBLE, (MOST_OUTPUTS,)),  # likewise
        ("M", _DOUBLE),
        ("q_add", _DOUBLE),
        ("q_delete", _DOUBLE),
        ("q_keep", _DOUBLE),
        ("q_copy", _DOUBLE),
        ("q_join", _DOUBLE),
        ("component_changes", _INTEGER),
        ("output_changes", _INTEGER),
        ("birth_death_attempts", _INTEGER),
        ("conditional_beta", _FLAG),
        ("log_gamma", _FLAG),
        ("preconditioned", _FLAG),
        ("adapt", _FLAG),
        ("target_acceptance", _DOUBLE),
        ("joint_beta_every", _INTEGER),
        ("restructure", _FLAG),
        ("langevin", _FLAG),
        ("factor_steps", _INTEGER),  # 0: Langevin steps in the place of refitted factors
        ("bin_unit", _DOUBLE),  # sums of bins are whole multiples of one over it
        ("intercept", _FLAG),
        ("nuisance", _FLAG),
        ("batch", _INTEGER),  # rows of a subset, 0 if there is none
        ("delayed", _INTEGER),  # EXACT_ONLY, DELAYED or DELAYED_IF_IT_PAYS
        ("screened_attempts", _INTEGER),  # changes of a term's set tried where they are screened
    ],
    align=True,
)
# What the family says of itself, see `Family`: taken from there whenever settings are made or read.
FAMILY_SETTINGS = (
    ("quadratic", _FLAG),  # in the first output
    ("quadratic_outputs", _INTEGER, (MOST_OUTPUTS,)),  # in each
    ("shift_invariant", _FLAG),
    ("dispersion", _FLAG),
    ("dispersion_in_rows", _FLAG),
    ("dispersion_power", _DOUBLE),
    ("dispersion_log_unit", _DOUBLE),
)
SETTINGS = np.dtype(
    [(name, field[0]) for name, field in dict(STORED_SETTINGS.fields or {}).items()] + list(FAMILY_SETTINGS),
    align=True,
)

# One chain: this record is its checkpoint.
STATE = np.dtype(
    [
        ("K", _INTEGER),
        ("scalar", _DOUBLE, (N_SCALARS,)),
        ("log_step", _DOUBLE, (MOST_VARIABLES + 1,)),  # by order; at 0 that of the joint beta move
        ("step_count", _INTEGER, (MOST_VARIABLES + 1,)),  # adaptations so far
        ("tally", _INTEGER, (len(MOVE_NAMES), 2)),  # proposed and accepted
        ("stream", np.uint64, (4,)),  # seed low, seed high, chain, sweep
        ("screened", _INTEGER, (len(SCREEN_NAMES),)),  # whether a group of moves is screened
        # By group, without and with screening: proposed, past the screen, accepted, rows passed over.
        ("screen_tally", _INTEGER, (len(SCREEN_NAMES), 2, 4)),
        ("jump", _DOUBLE, (2,)),  # squared Langevin and walk steps taken, in units of the local scale
        ("walk_step", _DOUBLE, (MOST_VARIABLES + 1,)),  # log step of the walk, by order
        ("walk_count", _INTEGER, (MOST_VARIABLES + 1,)),  # its adaptations so far
        ("beta", _DOUBLE, (MOST_TERMS,)),
        ("order", _INTEGER, (MOST_TERMS,)),
        ("features", np.int32, (MOST_TERMS, MOST_VARIABLES)),
        ("b", _DOUBLE, (MOST_TERMS, MOST_VARIABLES)),
        ("gamma", _DOUBLE, (MOST_TERMS, MOST_VARIABLES)),
        ("output", _INTEGER, (MOST_TERMS,)),  # to which a term belongs
        ("intercepts", _DOUBLE, (MOST_OUTPUTS,)),  # of outputs; that of the first is a scalar
    ],
    align=True,
)

# Vectors that functions take stand in matrices, so that their rows are all of one type.
# Scratch space of one chain, and what is computed from its state: nothing is allocated inside a sweep.
WORK = np.dtype(
    [
        ("control", _INTEGER, (3,)),
        ("units", _INTEGER, (MOST_UNITS,)),  # addresses of functions
        ("phi", _INTEGER),  # address of (K_max + 1, n) float32; the last row is the trial's
        ("outputs", _INTEGER),  # as in the settings
        ("fits", _INTEGER),  # (outputs, n) float64: offset + intercept + sum of terms
        ("fit", _INTEGER),  # address of that of the output at hand, (n,)
        ("output", _INTEGER),  # the output at hand, see `rows/outputs.py`
        ("quadratic", _INTEGER),  # whether the log-likelihood is quadratic in it
        ("gram_weight", _INTEGER),  # address of (n,) float64, what rows count in `gram_matrix`
        ("members", _INTEGER, (1, MOST_TERMS)),  # terms of the output at hand, where a pass asks for them
        ("trial_fit", _INTEGER),  # (n,) float64
        ("score", _INTEGER),  # (n,) float64
        ("curvature", _INTEGER),  # (n,) float64
        ("table_width", _INTEGER),  # codes, missing included
        ("bounded", _INTEGER),  # 1 if factors are divided by their heights
        ("table", _INTEGER),  # (3 D, width) float32: factors, slopes in b, slopes in log gamma
        ("sigmoid", _INTEGER),  # (3, width) float64
        ("counts", _INTEGER),  # (width, 2) int64: sums of bins, in units of 1 / bin_unit
        ("bin_score", _INTEGER),  # (width,) float64, the same as numbers: of score times the other factors
        ("bin_curvature", _INTEGER),  # (width,) float64, and of curvature times their squares
        ("gram", _INTEGER),  # (K_max + 1, K_max + 1) float64
        ("partial", _INTEGER),  # (17, partial_width) float64: sums by stripe, their total
        ("partial_width", _INTEGER),  # the most sums taken at a time
        ("shards", _INTEGER),  # 1 if all rows are here
        ("shard", _INTEGER),  # which one this is
        ("mailbox", _INTEGER),  # address of where shards meet, see `mailbox.py`
        ("block", _DOUBLE, (2, BLOCK)),
        ("slope", np.float32, (2, BLOCK)),
        ("lanes", _DOUBLE, (4, LANES)),
        ("tile", _DOUBLE, (3, TILE)),  # fit, score and curvature at some rows
        ("quanta", _INTEGER, (2, TILE)),
        ("trial_features", np.int32, (1, MOST_VARIABLES)),
        ("trial_b", _DOUBLE, (1, MOST_VARIABLES)),
        ("trial_gamma", _DOUBLE, (1, MOST_VARIABLES)),
        ("sorted_set", _INTEGER, (1, MOST_VARIABLES)),
        ("sums", _DOUBLE, (4 * MOST_VARIABLES + 3,)),
        ("point", _DOUBLE, (6, 2 * MOST_VARIABLES + 1)),
        ("vector", _DOUBLE, (6, MOST_TERMS + 1)),
        ("batch", _INTEGER),  # address of the PROBLEM of a subset, 0 if there is none
        ("batch_work", _INTEGER),  # of the WORK that goes with it; 0 if the subset is all that is used
        ("at_fit", _INTEGER),  # whether score and curvature are those at the fit
        ("screen", _INTEGER, (len(SCREEN_NAMES),)),  # whether a group is screened in this sweep
    ],
    align=True,
)


class Record(NamedTuple):
    """Draws of one block, padded to K_max terms of D variables."""

    K: np.ndarray  # (B,) int64
    order: np.ndarray  # (B, K_max) int64
    features: np.ndarray  # (B, K_max, D) int32
    b: np.ndarray  # (B, K_max, D) float64
    gamma: np.ndarray  # (B, K_max, D) float64
    beta: np.ndarray  # (B, K_max) float64
    scalar: np.ndarray  # (B, N_SCALARS) float64
    watched: np.ndarray  # (W,) int64, rows whose fit is kept
    fit: np.ndarray  # (B, outputs x W) float64, offset included, one output after the other
    size: np.ndarray  # (B, K_max) float64, mean square of a term over the watched rows
    output: np.ndarray  # (B, K_max) int64
    intercepts: np.ndarray  # (B, outputs) float64; that of the first stands in `scalar`
