"""Records of the grid execution: the rows of one device, and what a kernel is told to do with them.

`kernels/core/layout.cuh` holds them as C structs, written by `headers.py`.
"""

from __future__ import annotations

import numpy as np

from raytpnn.engine.records import MOST_VARIABLES
from raytpnn.numerics.lanes import STRIPES

__all__ = [
    "BIN_TABLES",
    "GRAM_SIDE",
    "GRID_COMMAND",
    "GRID_SHARD",
    "GRID_STRATUM",
    "MOST_COLUMNS",
    "PASS_SUMS",
    "SCORE_TERMS",
    "SLOPE_SUMS",
    "TERM_SUMS",
]

# Sums of a pass: log-likelihood, and moments of one basis function or totals; then moments of a second one,
# or for every factor four with its slopes.
TERM_SUMS = 3
PASS_SUMS = 5
SLOPE_SUMS = 4
# Rows and columns of the part of a Gram matrix that a block of threads takes, terms whose scores it takes.
GRAM_SIDE = 4
SCORE_TERMS = 8
# Tables in whose room two sums of 8 bytes fit for every bin.
BIN_TABLES = 4
# Sums of a row block that there is room for, unless there are more terms.
MOST_COLUMNS = 512

# Rows of one device, or a subset of them: uploaded once.
GRID_SHARD = np.dtype(
    [
        ("n", np.int64),  # rows here
        ("family", np.int64),
        ("table_width", np.int64),  # entries of a table: the most bins of a feature, and one for missing
        ("stripe_block", np.int64, (STRIPES + 1,)),  # first row block of every stripe
        ("block_start", np.int64),  # address of (row blocks + 1,) int32, first row of every row block
        ("stride", np.int64),  # cells from one feature's codes to the next one's; n unless this is a subset
        ("codes", np.int64),  # (p, stride) uint8 or uint16
        ("rows", np.int64),  # (n,) int32, cells where the codes of a subset's rows stand; 0 if they are all
        ("whole", np.int64),  # address of the GRID_SHARD that a subset is of; 0 if there is none
        ("y", np.int64),  # (n,) float64
        ("w", np.int64),  # (n,) float64
        ("offset", np.int64),  # (n,) float64
        ("phi", np.int64),  # (K_max + 1, n) float32; the last row is the trial's
        ("partial", np.int64),  # (row blocks, columns) float64, sums of row blocks
        ("joined", np.int64),  # (stripes, columns) float64, sums of stripes
        ("n_watched", np.int64),
        ("watched", np.int64),  # (n_watched,) int32, among the rows here
        ("seen", np.int64),  # (K_max + 1, n_watched) float64, fit and basis functions at these rows
    ],
    align=True,
)

# What a launch does: uploaded for each, with the numbers that follow it. Rows of phi are -1 if there is none.
GRID_COMMAND = np.dtype(
    [
        ("fit", np.int64),  # address of the fit to start from
        ("old_row", np.int64),
        ("new_row", np.int64),
        ("old_beta", np.float64),
        ("new_beta", np.float64),
        ("dispersion", np.float64),
        ("need", np.int64),  # what `evaluate` is asked for
        ("row", np.int64),  # basis function whose moments are taken
        ("second", np.int64),  # and another one
        ("target", np.int64),  # basis function that is built or copied first
        ("source", np.int64),  # from this one, if any
        ("order", np.int64),  # times so many factors; of sums of bins, the other factors
        ("slopes", np.int64),  # whether sums with the slopes of all factors are taken
        ("columns", np.int64),  # sums of a row block, or of all bins
        ("first_tile", np.int64),  # of the Gram matrix
        ("terms", np.int64),
        ("out", np.int64),  # address of the fit or of the sums of bins that are written, 0 if none are
        ("amount", np.float64),  # intercept, shift, or unit of the sums of bins
        ("numbers", np.int64),  # address of tables (float32) or coefficients (float64)
        ("features", np.int32, (MOST_VARIABLES,)),  # of the factors, then the one whose bins are summed up
    ],
    align=True,
)

# One stratum of the rows of a device, of which a subset takes some: as many as its stripe has there.
GRID_STRATUM = np.dtype(
    [
        ("first", np.int64),  # row of the subset that is its first
        ("start", np.int64),  # its first row on the device
        ("size", np.int64),  # and how many there are
        ("scale", np.float64),  # by which weights are multiplied
        ("keys", np.uint64, (4,)),  # of the permutation, words of 32 bits
    ],
    align=True,
)
