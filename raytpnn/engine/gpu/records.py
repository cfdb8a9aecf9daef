"""Records of a chain on a device: scratch space and room for draws, as addresses of device memory.

PROBLEM, SETTINGS, STATE and LADDER go to a device as they are; `kernels/core/layout.cuh` holds all as C
structs, written by `headers.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from raytpnn.engine.records import EXACT_ONLY, N_SCALARS, Record

__all__ = [
    "BEGIN",
    "DEVICE_RECORD",
    "DEVICE_WORK",
    "PRIOR_DRAWS",
    "record_arrays",
    "record_of_arrays",
    "rows_of_chain",
    "screens",
    "shared_table_bytes",
    "table_width",
    "work_arrays",
]

# Flags of the kernel sweep_block; they may be added.
BEGIN = 1  # recompute phi and fit from the terms first
PRIOR_DRAWS = 2  # a chain at temperature 0 draws from the prior instead of sweeping

# Scratch space of one chain on a device; nothing in it needs a first value but `control` and `table_width`.
DEVICE_WORK = np.dtype(
    [
        ("control", np.int64, (3,)),  # stop (the host may write it at any time), sweeps done, terms
        ("table_width", np.int64),  # entries of a table: the most bins of a feature, and one for missing
        ("at_fit", np.int64),  # whether score and curvature are those at the fit
        ("phi", np.int64),  # address of (K_max + 1, n) float32; the last row is the trial's
        ("fit", np.int64),  # (n,) float64
        ("trial_fit", np.int64),  # (n,) float64
        ("score", np.int64),  # (n,) float64
        ("curvature", np.int64),  # (n,) float64
        ("sigmoid", np.int64),  # (width,) float64
        ("table", np.int64),  # (3 D, width) float32; not used with tables in shared memory
        ("counts", np.int64),  # (width, 2) int64, sums of bins; not used if they are there, too
        ("gram", np.int64),  # (K_max + 1, K_max + 1) float64
        ("vector", np.int64),  # (6, K_max + 1) float64
        ("batch_rows", np.int64),  # (m,) int64, rows of a subset; this and what follows only if there is one
        ("batch_y", np.int64),  # (m,) float64
        ("batch_w", np.int64),  # (m,) float64
        ("batch_offset", np.int64),  # (m,) float64
        ("batch_phi", np.int64),  # (K_max + 1, m) float32; this and what follows only with screens
        ("batch_fit", np.int64),  # (m,) float64
        ("batch_trial_fit", np.int64),  # (m,) float64
        ("batch_score", np.int64),  # (m,) float64
        ("batch_curvature", np.int64),  # (m,) float64
    ],
    align=True,
)

# Room for the draws of one chain or ensemble in one block, zeroed by the host.
DEVICE_RECORD = np.dtype(
    [
        ("row", np.int64),  # first free row; the device counts on
        ("n_watched", np.int64),
        ("K", np.int64),  # address of (B,) int64
        ("order", np.int64),  # (B, K_max) int64
        ("features", np.int64),  # (B, K_max, D) int32
        ("b", np.int64),  # (B, K_max, D) float64
        ("gamma", np.int64),  # (B, K_max, D) float64
        ("beta", np.int64),  # (B, K_max) float64
        ("scalar", np.int64),  # (B, N_SCALARS) float64
        ("watched", np.int64),  # (W,) int64
        ("fit", np.int64),  # (B, W) float64
        ("size", np.int64),  # (B, K_max) float64
        ("trace", np.int64),  # (B, levels) float64, of an ensemble
    ],
    align=True,
)


def record_of_arrays(watched: np.ndarray, arrays: dict[str, np.ndarray]) -> Record:
    """Draws of a device, whose families have one output."""
    output, intercepts = np.zeros(arrays["order"].shape, np.int64), arrays["scalar"][:, :1]
    return Record(watched=watched, output=output, intercepts=intercepts, **arrays)


Arrays = dict[str, tuple[tuple[int, ...], Any]]


def table_width(n_bins: np.ndarray) -> int:
    """Entries of a table on a device, from the numbers of bins (p,): the most, and one for missing.

    Codes beyond stand for missing, so that tables are as wide as the data, not as the code's type.
    """
    return int(n_bins.max()) + 1


def shared_table_bytes(settings: np.record, width: int) -> int:
    """Dynamic shared memory of a block of threads that keeps its tables there."""
    return 3 * int(settings.max_order) * width * np.dtype(np.float32).itemsize


def screens(settings: np.record) -> bool:
    """Whether chains screen proposals on subsets: kernels are compiled for it apart."""
    return int(settings.delayed) != EXACT_ONLY


def rows_of_chain(settings: np.record, n: int) -> int:
    """Rows that a chain's scratch space is for, of n: those of a subset if it looks at nothing else."""
    return n if screens(settings) else int(settings.batch) or n


def work_arrays(settings: np.record, n: int, width: int, tables_in_shared: bool) -> Arrays:
    """Shape and type of every array that DEVICE_WORK points to, for a problem of n rows."""
    side = int(settings.K_max) + 1
    m = int(settings.batch)
    n = rows_of_chain(settings, n)
    arrays: Arrays = {
        "phi": ((side, n), np.float32),
        "fit": ((n,), np.float64),
        "trial_fit": ((n,), np.float64),
        "score": ((n,), np.float64),
        "curvature": ((n,), np.float64),
        "sigmoid": ((width,), np.float64),
        "gram": ((side, side), np.float64),
        "vector": ((6, side), np.float64),
    }
    if m:
        arrays["batch_rows"] = ((m,), np.int64)
        arrays |= dict.fromkeys(("batch_y", "batch_w", "batch_offset"), ((m,), np.float64))
    if screens(settings):
        arrays["batch_phi"] = ((side, m), np.float32)
        names = "batch_fit", "batch_trial_fit", "batch_score", "batch_curvature"
        arrays |= dict.fromkeys(names, ((m,), np.float64))
    if not tables_in_shared:
        arrays["table"] = ((3 * int(settings.max_order), width), np.float32)
    # Sums of bins stand in the place of slopes: for terms of one variable there are too few of these.
    if not tables_in_shared or int(settings.max_order) == 1:
        arrays["counts"] = ((width, 2), np.int64)
    return arrays


def record_arrays(settings: np.record, draws: int, n_watched: int, levels: int = 0) -> Arrays:
    """Shape and type of every array that DEVICE_RECORD points to, but `watched`; levels of an ensemble."""
    K_max, D = int(settings.K_max), int(settings.max_order)
    arrays: Arrays = {
        "K": ((draws,), np.int64),
        "order": ((draws, K_max), np.int64),
        "features": ((draws, K_max, D), np.int32),
        "b": ((draws, K_max, D), np.float64),
        "gamma": ((draws, K_max, D), np.float64),
        "beta": ((draws, K_max), np.float64),
        "scalar": ((draws, N_SCALARS), np.float64),
        "fit": ((draws, n_watched), np.float64),
        "size": ((draws, K_max), np.float64),
    }
    if levels:
        arrays["trace"] = ((draws, levels), np.float64)
    return arrays
