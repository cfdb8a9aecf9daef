"""From data, prior and moves to the arrays and numbers a chain runs on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import EXACT_ONLY, PROBLEM, SETTINGS
from raytpnn.engine.rows.set_table import MOST_IN_TABLE
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.families import Family
from raytpnn.model.prior import Prior
from raytpnn.numerics.lanes import stripe_starts

__all__ = [
    "Problem",
    "Scaling",
    "build_problem",
    "build_settings",
    "residual_variance",
    "scale_response",
    "take_family",
]

# Above this many features the linear fit behind the noise prior costs more than the prior is worth.
MOST_LINEAR_FEATURES = 2_000
LINEAR_CHUNK_ROWS = 8_192
# Sums of bins have this many binary places below what a row usually adds; 63 - BIN_BITS are left above it.
BIN_BITS = 36
# Settings that are fields of Moves by the same name.
SAME_IN_MOVES = (
    "M",
    "q_keep",
    "q_copy",
    "q_join",
    "component_changes",
    "output_changes",
    "birth_death_attempts",
    "conditional_beta",
    "log_gamma",
    "preconditioned",
    "adapt",
    "target_acceptance",
    "joint_beta_every",
    "restructure",
    "langevin",
    "intercept",
    "nuisance",
)


def new_record_of(dtype: np.dtype) -> np.record:
    """One zeroed record of a layout."""
    return np.zeros(1, dtype).view(np.recarray)[0]


@dataclass(frozen=True)
class Scaling:
    """Internal response = (y - location) / scale; the identity unless the family standardises."""

    location: float = 0.0
    scale: float = 1.0


def scale_response(
    family: Family, y: np.ndarray, offset: np.ndarray
) -> tuple[Scaling, np.ndarray, np.ndarray]:
    """Standardise a response if its family does; returns the scaling, internal y and offset, each (n,)."""
    scaling = Scaling(*family.scaling(y - offset))
    if scaling == Scaling():
        return scaling, y, offset
    return scaling, (y - scaling.location) / scaling.scale, offset / scaling.scale


def residual_variance(bins: Bins, y: np.ndarray) -> float:
    """Residual variance of a linear fit on bin values; the variance of y if there are too few rows."""
    p, n = bins.n_features, bins.n_rows
    spread = float(y.var())
    if n <= p + 1 or p > MOST_LINEAR_FEATURES or spread == 0.0:
        return max(spread, 1e-12)
    gram = np.zeros((p + 1, p + 1))
    right = np.zeros(p + 1)
    tables = np.full((p, bins.missing_code + 1), 0.5, np.float64) if bins.missing_code < 256 else None
    if tables is not None:
        for j in range(p):
            values = bins.values_of(j)
            tables[j, : len(values)] = values
    for start in range(0, n, LINEAR_CHUNK_ROWS):
        codes = bins.codes[:, start : start + LINEAR_CHUNK_ROWS]
        design = np.ones((p + 1, codes.shape[1]))
        for j in range(p):
            if tables is not None:
                design[j + 1] = tables[j][codes[j]]
            else:
                values = bins.values_of(j)
                known = codes[j] != bins.missing_code
                design[j + 1] = np.where(known, values[np.where(known, codes[j], 0)], 0.5)
        gram += design @ design.T
        right += design @ y[start : start + LINEAR_CHUNK_ROWS]
    solution, _, rank, _ = np.linalg.lstsq(gram, right, rcond=1e-10)
    squares = float(y @ y - solution @ right)
    freedom = n - int(rank)
    if freedom <= 0:
        return max(spread, 1e-12)
    return max(squares / freedom, 1e-6 * spread)


@dataclass(frozen=True)
class Problem:
    """What all chains share and none changes: a record of addresses, and the arrays they point to."""

    record: np.record
    n_all: int  # rows of all shards; n unless this is one of them
    codes: np.ndarray  # (p, n) uint8 or uint16
    y: np.ndarray  # (n,) float64, internal scale
    w: np.ndarray  # (n,) float64
    offset: np.ndarray  # (n,) float64, internal scale
    others: tuple[np.ndarray, ...]


def in_place(codes: np.ndarray) -> np.ndarray:
    """Codes, (p, n), copied only if the rows of a feature are not contiguous: a mapped file stays mapped."""
    return codes if codes.strides[1] == codes.itemsize else np.ascontiguousarray(codes)


def build_problem(
    bins: Bins, y: np.ndarray, weight: np.ndarray, offset: np.ndarray, feature_weight: np.ndarray
) -> Problem:
    """Gather what all chains share; y and offset on the internal scale."""
    first = bins.first[bins.marginal].astype(np.int64)
    arrays = {
        "codes": in_place(bins.codes),
        "first_bin": first,
        "n_bins": bins.first[bins.marginal + 1].astype(np.int64) - first,
        "bin_value": np.ascontiguousarray(bins.value, np.float64),
        "bin_weight": np.ascontiguousarray(bins.weight, np.float64),
        "y": np.ascontiguousarray(y, np.float64),
        "w": np.ascontiguousarray(weight, np.float64),
        "offset": np.ascontiguousarray(offset, np.float64),
        "feature_weight": np.ascontiguousarray(feature_weight, np.float64),
        "cumulative": np.concatenate([[0.0], np.cumsum(feature_weight)]),
        # An empty table of sets, see `with_set_table`.
        "table_sets": np.full((1, MOST_IN_TABLE), -1, np.int64),
        "table_weight": np.zeros(1),
        "table_cumulative": np.zeros(2),
    }
    if int(arrays["n_bins"].max()) > bins.missing_code:
        # Compiled code trusts these numbers: tables have one entry per code.
        raise ValueError(
            f"a feature has {arrays['n_bins'].max()} bins, {bins.codes.dtype} codes allow {bins.missing_code}"
        )
    record = new_record_of(PROBLEM)
    record.n = record.n_all = bins.n_rows
    record.p = bins.n_features
    record.n_values = len(bins.value)
    record.stripe[:] = stripe_starts(bins.n_rows)
    record.stride = max(arrays["codes"].strides[0] // arrays["codes"].itemsize, bins.n_rows)
    record.wide_codes = bins.codes.dtype.itemsize == 2
    for name, array in arrays.items():
        record[name] = array.ctypes.data
    return Problem(
        record,
        bins.n_rows,
        arrays["codes"],
        arrays["y"],
        arrays["w"],
        arrays["offset"],
        tuple(arrays.values()),
    )


def with_arrays(problem: Problem, arrays: dict[str, np.ndarray]) -> Problem:
    """Make a problem with other arrays in some places, sharing everything else."""
    record = new_record_of(PROBLEM)
    for name in PROBLEM.names or ():
        record[name] = problem.record[name]
    for name, array in arrays.items():
        record[name] = array.ctypes.data
    return replace(problem, record=record, others=(*problem.others, *arrays.values()))


def with_feature_weights(problem: Problem, feature_weight: np.ndarray) -> Problem:
    """Make a problem with other weights, sharing everything else."""
    weight = np.ascontiguousarray(feature_weight, np.float64)
    cumulative = np.concatenate([[0.0], np.cumsum(weight)])
    return with_arrays(problem, {"feature_weight": weight, "cumulative": cumulative})


def with_weighted_births(problem: Problem) -> Problem:
    """Make a problem whose births draw features by their weights."""
    made = with_arrays(problem, {})
    made.record.weighted_births = True
    return made


def with_set_table(problem: Problem, sets: np.ndarray, weight: np.ndarray, share: float) -> Problem:
    """Make a problem in which a share of the births draws its sets from a table.

    Parameters
    ----------
    problem : Problem
    sets : (T, 3) int
        Features of every set in ascending order, then -1; rows in ascending order, none of them twice.
    weight : (T,) float64
        Positive.
    share : float
        From 0 to below 1.
    """
    check_set_table(sets, weight, len(problem.codes))
    if not 0.0 <= share < 1.0:
        raise ValueError(f"share must lie in [0, 1), got {share!r}")
    arrays = {
        "table_sets": np.ascontiguousarray(sets, np.int64),
        "table_weight": np.ascontiguousarray(weight, np.float64),
        "table_cumulative": np.concatenate([[0.0], np.cumsum(weight)]),
    }
    made = with_arrays(problem, arrays)
    made.record.table_size = len(weight)
    made.record.table_share = share
    return made


def check_set_table(sets: np.ndarray, weight: np.ndarray, p: int) -> None:
    """Raise ValueError unless compiled code can draw from a table: its numbers are trusted there."""
    if sets.ndim != 2 or sets.shape[1] != MOST_IN_TABLE or weight.shape != (len(sets),) or not len(sets):
        raise ValueError(
            f"a table has sets (T, {MOST_IN_TABLE}) and weights (T,), got {sets.shape}, {weight.shape}"
        )
    if not np.all(np.isfinite(weight) & (weight > 0.0)):
        raise ValueError("a weight of the table of sets is not positive")
    order = np.sum(sets >= 0, axis=1)
    held = np.arange(MOST_IN_TABLE) < order[:, None]
    ascending = np.all((np.diff(sets, axis=1) > 0) | ~held[:, 1:])
    if sets.max() >= p or order.min() < 1 or np.any(sets[~held] != -1) or not ascending:
        raise ValueError(f"the table of sets holds a row that is no ascending set of {p} features")
    if np.any(np.diff(np.lexsort(sets.T[::-1])) != 1) or len(np.unique(sets, axis=0)) != len(sets):
        raise ValueError("the sets of the table are not in order, or one is there twice")


def take_family(settings: np.record, family: Family) -> None:
    """Write what the family says of itself into settings."""
    settings.family = family.code
    settings.quadratic = family.quadratic_outputs[0]
    settings.quadratic_outputs[: family.n_outputs] = family.quadratic_outputs
    settings.shift_invariant = family.shift_invariant
    settings.dispersion = family.dispersion
    settings.dispersion_in_rows = family.dispersion_in_rows
    settings.dispersion_power = 1.0 / family.dispersion_exponent
    settings.dispersion_log_unit = np.log(family.dispersion_unit)


def build_settings(
    problem: Problem,
    family: Family,
    prior: Prior,
    moves: Moves,
    noise_variance: float,
    subsets: SubsetUse | None = None,
) -> np.record:
    """Resolve prior and moves into numbers; `noise_variance` is the dispersion to start from."""
    n, p = problem.n_all, len(problem.codes)
    prior = prior.resolved(n, p, family.name)
    total = moves.q_add + moves.q_delete + moves.q_change
    starts = family.starts(problem.y, problem.offset)
    orders = np.cumsum(prior.order_weights(p))
    record = new_record_of(SETTINGS)
    take_family(record, family)
    record.K_max = prior.K_max
    record.max_order = len(orders)
    record.log_count_penalty = prior.C0 * np.log(n)
    record.log_set_prior[: len(orders) + 1] = prior.log_set_prior(p)
    record.order_cumulative[: len(orders)] = orders
    record.v_lambda = prior.v * prior.noise_scale(noise_variance)
    record.outputs = len(starts)
    record.intercept_mean = starts[0]
    record.intercept_means[: len(starts)] = starts
    record.intercept_precision = prior.intercept_sd**-2.0
    for scale in ("b_gamma", "sigma_beta2"):
        record[f"learn_{scale}"] = moves.scales and prior.learns(scale)
        for part in (f"{scale}_shape", f"{scale}_scale"):
            # A fixed scale is drawn from nothing.
            record[part] = getattr(prior, part) if prior.learns(scale) else 1.0
    record.weight_sum = problem.w.sum()
    for name in ("bounded", "sharing", "a_gamma", "v"):
        record[name] = getattr(prior, name)
    for name in ("q_add", "q_delete"):  # a change is what remains
        record[name] = getattr(moves, name) / total
    for name in SAME_IN_MOVES:
        record[name] = getattr(moves, name)
    curvatures = family.null_curvatures(starts, problem.offset, noise_variance)
    record.null_curvature = curvatures[0]
    record.null_curvatures[: len(starts)] = curvatures
    largest = (float(problem.w.max()) or 1.0) * (1.0 + max(curvatures))
    record.bin_unit = 2.0 ** (BIN_BITS - np.ceil(np.log2(largest)))
    if subsets is not None:
        record.batch, record.delayed = subsets.rows, subsets.delayed
        record.screened_attempts = subsets.attempts
    # Factors without bounds would overflow the sums of bins, and screened chains have a walk of their own.
    refits = prior.bounded and int(record.delayed) == EXACT_ONLY
    record.factor_steps = moves.factor_steps if refits else 0
    return record
