"""The reference execution: moves as plain Python, everything that touches rows, bins or bits in NumPy.

Slow and readable: the oracle of the other executions. Each function here has the name and the arguments of
the compiled one it stands for, and is written independently of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from raytpnn.engine.records import BATCH, NUISANCE
from raytpnn.engine.reference.rebinding import as_python
from raytpnn.engine.rows.factor_tables import SMALLEST_HEIGHT, SMALLEST_MEAN
from raytpnn.engine.rows.row_passes import MOMENTS, TOTALS
from raytpnn.families import family_of_code
from raytpnn.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.lanes_numpy import row_sum, stripe_sum
from raytpnn.numerics.philox import philox_numpy

__all__ = ["REPLACEMENTS", "reference_of"]


def view(address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Array over memory that a record points to."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = (ctypes.c_char * size).from_address(int(address))
    return np.frombuffer(buffer, dtype).reshape(shape)


def doubles(address, n):
    return view(address, (int(n),), np.float64)


def double_rows(address, rows, n):
    return view(address, (int(rows), int(n)), np.float64)


def phi_of(problem, work, row):
    return view(work.phi + int(row) * int(problem.n) * 4, (int(problem.n),), np.float32)


def codes_of(problem, feature):
    """Codes of a feature; those of a subset are looked up each time."""
    dtype = np.uint16 if problem.wide_codes else np.uint8
    size = np.dtype(dtype).itemsize
    if problem.batch != 0:
        batch = batch_at(problem.batch)
        rows = integers(batch.rows, problem.n)
        start = batch.codes + int(feature) * int(batch.stride) * size
        return view(start, (int(rows.max()) + 1,), dtype)[rows]
    start = int(feature) * int(problem.stride) * size
    return view(problem.codes + start, (int(problem.n),), dtype)


def sum_of(problem, x):
    return stripe_sum(x, problem.stripe)


def marginal_of(problem, feature):
    """Bin values and weights of a feature."""
    start = int(view(problem.first_bin, (int(problem.p),), np.int64)[feature])
    size = int(view(problem.n_bins, (int(problem.p),), np.int64)[feature])
    value = doubles(problem.bin_value, problem.n_values)[start : start + size]
    weight = doubles(problem.bin_weight, problem.n_values)[start : start + size]
    return value, weight


def tables_of(settings_or_rows, work):
    return view(work.table, (int(settings_or_rows), int(work.table_width)), np.float32)


def sigmoid_of(problem, feature, b, gamma):
    value, weight = marginal_of(problem, feature)
    s = 1.0 / (1.0 + elementary_numpy.exp((b - value) * (1.0 / gamma)))
    return value, weight, s, row_sum(weight * s)


def factor_table(problem, work, j, feature, b, gamma):
    _, _, s, c = sigmoid_of(problem, feature, b, gamma)
    if not c >= SMALLEST_MEAN:
        return c
    g = 1.0 - s * (1.0 / c)
    shrink = 1.0
    if work.bounded:
        if not np.abs(g).max() >= SMALLEST_HEIGHT:
            return 0.0
        shrink = 1.0 / np.abs(g).max()
    out = tables_of(j + 1, work)[j]
    out[: len(s)] = (g * shrink).astype(np.float32)
    out[-1] = 0.0
    return c


def slope_tables(problem, work, D, j, feature, b, gamma, c):
    value, weight, s, _ = sigmoid_of(problem, feature, b, gamma)
    t = s * (1.0 - s)
    inverse, inverse_mean = 1.0 / gamma, 1.0 / c
    ut = ((value - b) * inverse) * t
    tables = tables_of(3 * D, work)
    size = len(s)
    in_b = (t - s * (row_sum(weight * t) / c)) * (inverse_mean * inverse)
    in_gamma = (ut - s * (row_sum(weight * ut) / c)) * inverse_mean
    if work.bounded:
        # The slope of g / |g at its largest|, by the rule for quotients.
        g = 1.0 - s * inverse_mean
        top = int(np.argmax(np.abs(g)))
        shrink = 1.0 / np.abs(g[top])
        sign = shrink if g[top] > 0.0 else -shrink
        in_b = (in_b - g * (sign * in_b[top])) * shrink
        in_gamma = (in_gamma - g * (sign * in_gamma[top])) * shrink
    tables[D + j, :size] = in_b.astype(np.float32)
    tables[2 * D + j, :size] = in_gamma.astype(np.float32)
    tables[D + j, -1] = 0.0
    tables[2 * D + j, -1] = 0.0


def bin_moments(problem, work, feature, j):
    size = int(view(problem.n_bins, (int(problem.p),), np.int64)[feature])
    table = tables_of(j + 1, work)[j][:size].astype(np.float64)
    score, curvature = doubles(work.bin_score, size), doubles(work.bin_curvature, size)
    return row_sum(score * table), row_sum((curvature * table) * table)


def keep_table(work, D, j):
    tables = tables_of(3 * D, work)
    tables[D + j] = tables[j]


def kept_table(work, D, j):
    tables = tables_of(3 * D, work)
    tables[j] = tables[D + j]


def bin_sums(problem, settings, state, work, k, j):
    phi = phi_of(problem, work, k).astype(np.float64)
    fit = doubles(work.fit, problem.n) - state.beta[k] * phi
    score, curvature, _ = family_at(problem, settings, state, work, fit)
    features = state.features[k]
    others = np.ones(int(problem.n), np.float32)
    for i in range(state.order[k]):
        if i != j:
            others = others * tables_of(i + 1, work)[i][codes_of(problem, features[i])]
    others = others.astype(np.float64)
    size = int(view(problem.n_bins, (int(problem.p),), np.int64)[features[j]])
    codes = codes_of(problem, features[j])
    known = codes < size
    for address, values in (
        (work.bin_score, score * others),
        (work.bin_curvature, (curvature * others) * others),
    ):
        counts = np.zeros(size, np.int64)
        np.add.at(counts, codes[known], (values * settings.bin_unit).astype(np.int64)[known])
        doubles(address, size)[:] = counts * (1.0 / settings.bin_unit)


def rebuild_term(problem, work, features, d, k, trial, old_beta, new_beta):
    for i in range(d):
        multiply_factor(problem, work, features[i], i, trial)
    replace_term(problem, work, k, old_beta, trial, new_beta)


def multiply_factor(problem, work, feature, j, row):
    factor = tables_of(j + 1, work)[j][codes_of(problem, feature)]
    phi = phi_of(problem, work, row)
    phi[:] = factor if j == 0 else phi * factor


def copy_phi(problem, work, source, target):
    phi_of(problem, work, target)[:] = phi_of(problem, work, source)


def family_at(problem, settings, state, work, fit):
    """Per row: weighted score, curvature and log-likelihood, in the output at hand."""
    y, w = doubles(problem.y, problem.n), doubles(problem.w, problem.n)
    family: Any = family_of_code(int(settings.family))
    if family.outputs is None:
        return family.reference_rows(y, fit, w, float(state.scalar[NUISANCE]))
    fits = double_rows(work.fits, work.outputs, problem.n)
    return family.reference_rows(y, fit, w, float(state.scalar[NUISANCE]), fits, int(work.output))


def moments(problem, score, curvature, x):
    """Sums of score * x and (curvature * x) * x, x in float32."""
    x = x.astype(np.float64)
    return sum_of(problem, score * x), sum_of(problem, (curvature * x) * x)


def changed_fit(problem, work, address, old_row, old_beta, new_row, new_beta):
    old = phi_of(problem, work, old_row).astype(np.float64)
    new = phi_of(problem, work, new_row).astype(np.float64)
    return (doubles(address, problem.n) - old_beta * old) + new_beta * new


def evaluate(
    problem, settings, state, work, address, old_row, old_beta, new_row, new_beta, need, row, features, d
):
    fit = changed_fit(problem, work, address, old_row, old_beta, new_row, new_beta)
    score, curvature, loglik = family_at(problem, settings, state, work, fit)
    doubles(work.trial_fit, problem.n)[:] = fit
    work.sums[: 4 * d + 3] = 0.0
    if need & DERIVATIVES:
        doubles(work.score, problem.n)[:] = score
        doubles(work.curvature, problem.n)[:] = curvature
    if need & LIKELIHOOD:
        work.sums[0] = sum_of(problem, loglik)
    if need & MOMENTS:
        work.sums[1:3] = moments(problem, score, curvature, phi_of(problem, work, row))
    if need & TOTALS:
        work.sums[1:3] = sum_of(problem, score), sum_of(problem, curvature)
    D = int(settings.max_order)
    tables = tables_of(3 * D, work)
    for j in range(d):
        for kind in (1, 2):
            slope = tables[kind * D + j][codes_of(problem, features[j])]
            for other in range(d):
                if other != j:
                    slope = slope * tables[other][codes_of(problem, features[other])]
            place = 3 + 4 * j + 2 * (kind - 1)
            work.sums[place : place + 2] = moments(problem, score, curvature, slope)


def phi_moments(problem, work, row):
    score, curvature = doubles(work.score, problem.n), doubles(work.curvature, problem.n)
    return moments(problem, score, curvature, phi_of(problem, work, row))


def moments_without(problem, settings, state, work, k, beta, row):
    fit = doubles(work.fit, problem.n) - beta * phi_of(problem, work, k).astype(np.float64)
    score, curvature, _ = family_at(problem, settings, state, work, fit)
    own = moments(problem, score, curvature, phi_of(problem, work, k))
    return *own, *moments(problem, score, curvature, phi_of(problem, work, row))


def replace_term(problem, work, k, old_beta, row, new_beta):
    doubles(work.fit, problem.n)[:] = changed_fit(problem, work, work.fit, k, old_beta, row, new_beta)
    copy_phi(problem, work, row, k)


def change_trial_fit(problem, work, address, old_row, old_beta, new_row, new_beta):
    changed = changed_fit(problem, work, address, old_row, old_beta, new_row, new_beta)
    doubles(work.trial_fit, problem.n)[:] = changed


def take_trial_fit(problem, work):
    doubles(work.fit, problem.n)[:] = doubles(work.trial_fit, problem.n)


def shift_fit(problem, work, amount):
    doubles(work.fit, problem.n)[:] += amount


def fit_from_terms(problem, work, K, intercept, coefficients, address):
    fit = np.full(int(problem.n), float(intercept))
    if work.output == 0:
        fit = doubles(problem.offset, problem.n) + intercept
    for k in np.flatnonzero(coefficients[:K]):
        fit = fit + coefficients[k] * phi_of(problem, work, k).astype(np.float64)
    doubles(address, problem.n)[:] = fit


def watch_rows(problem, work, K, beta, record, row):
    fits = double_rows(work.fits, work.outputs, problem.n)
    record.fit[row] = fits[:, record.watched].ravel()
    for k in range(K):
        part = beta[k] * phi_of(problem, work, k)[record.watched].astype(np.float64)
        record.size[row, k] = sum((part * part).tolist()) / len(part)


def gram_matrix(problem, settings, work, K):
    side = int(settings.K_max) + 1
    gram = double_rows(work.gram, side, side)
    w = doubles(work.gram_weight, problem.n)
    gram[0, 0] = sum_of(problem, w)
    for k in range(K):
        weighted = w * phi_of(problem, work, work.members[0, k]).astype(np.float64)
        gram[k + 1, 0] = sum_of(problem, weighted)
        for other in range(k + 1):
            product = weighted * phi_of(problem, work, work.members[0, other]).astype(np.float64)
            gram[k + 1, other + 1] = sum_of(problem, product)


def score_of_terms(problem, work, K, out):
    score = doubles(work.score, problem.n)
    for k in range(K):
        out[k + 1] = sum_of(problem, score * phi_of(problem, work, work.members[0, k]).astype(np.float64))


def integers(address, n):
    return view(address, (int(n),), np.int64)


def batch_at(address):
    return view(address, (1,), BATCH).view(np.recarray)[0]


def words(state, purpose, slot, attempt):
    seed_low, seed_high, chain, sweep = (int(word) for word in state.stream)
    place = (int(purpose) << 24) | int(slot)
    return philox_numpy((chain, sweep, place, int(attempt)), (seed_low, seed_high))


def uniforms(state, purpose, slot, attempt):
    w0, w1, w2, w3 = words(state, purpose, slot, attempt)
    first = ((w0 >> 6) << 26) | (w1 >> 6)
    second = ((w2 >> 6) << 26) | (w3 >> 6)
    return (first + 0.5) * 2.0**-52, (second + 0.5) * 2.0**-52


def exp(x):
    return float(elementary_numpy.exp(x))


def log(x):
    return float(elementary_numpy.log(x))


REPLACEMENTS: dict[str, Callable[..., Any]] = {
    "exp": exp,
    "log": log,
    "normal_quantile": elementary_numpy.normal_quantile,
    **{
        function.__name__: function
        for function in (
            uniforms,
            doubles,
            double_rows,
            factor_table,
            slope_tables,
            bin_moments,
            keep_table,
            kept_table,
            bin_sums,
            rebuild_term,
            multiply_factor,
            copy_phi,
            evaluate,
            phi_moments,
            moments_without,
            replace_term,
            change_trial_fit,
            take_trial_fit,
            shift_fit,
            fit_from_terms,
            gram_matrix,
            score_of_terms,
            watch_rows,
            batch_at,
            integers,
            words,
        )
    },
}


def reference_of(function: Any) -> Any:
    """Reference of a compiled function of the engine."""
    from raytpnn.engine.reference.subset import SUBSET_REPLACEMENTS

    return as_python(function, REPLACEMENTS | SUBSET_REPLACEMENTS)
