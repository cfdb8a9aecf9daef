"""The reference execution: moves as plain Python, everything that touches rows, bins or bits in NumPy.

Slow and readable: the oracle of the other executions. Each function here has the name and the arguments of
the compiled one it stands for, and is written independently of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from raytpnn.engine.binding import as_python
from raytpnn.engine.layout import BATCH, FOR_SUBSET, PROBLEM, WORK
from raytpnn.engine.rows import MOMENTS, TOTALS
from raytpnn.engine.tables import SMALLEST_MEAN
from raytpnn.model.families import FAMILIES
from raytpnn.model.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.lanes import BLOCK
from raytpnn.numerics.lanes_numpy import row_sum
from raytpnn.numerics.philox import philox_numpy

__all__ = ["REPLACEMENTS", "reference_of"]

BY_CODE = {family.code: family for family in FAMILIES.values()}


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
    dtype = np.uint16 if problem.wide_codes else np.uint8
    size = int(problem.n) * np.dtype(dtype).itemsize
    return view(problem.codes + int(feature) * size, (int(problem.n),), dtype)


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
    if c >= SMALLEST_MEAN:
        out = tables_of(j + 1, work)[j]
        out[: len(s)] = (1.0 - s * (1.0 / c)).astype(np.float32)
        out[-1] = 0.0
    return c


def slope_tables(problem, work, D, j, feature, b, gamma, c):
    value, weight, s, _ = sigmoid_of(problem, feature, b, gamma)
    t = s * (1.0 - s)
    inverse, height = 1.0 / gamma, 1.0 / c
    ut = ((value - b) * inverse) * t
    tables = tables_of(3 * D, work)
    size = len(s)
    tables[D + j, :size] = ((t - s * (row_sum(weight * t) / c)) * (height * inverse)).astype(np.float32)
    tables[2 * D + j, :size] = ((ut - s * (row_sum(weight * ut) / c)) * height).astype(np.float32)
    tables[D + j, -1] = 0.0
    tables[2 * D + j, -1] = 0.0


def multiply_factor(problem, work, feature, j, row):
    if problem.batch != 0:
        gather_codes(problem, feature)
    factor = tables_of(j + 1, work)[j][codes_of(problem, feature)]
    phi = phi_of(problem, work, row)
    phi[:] = factor if j == 0 else phi * factor


def copy_phi(problem, work, source, target):
    phi_of(problem, work, target)[:] = phi_of(problem, work, source)


def family_at(problem, settings, fit):
    """Per row: weighted score, curvature and log-likelihood."""
    family = BY_CODE[int(settings.family)]
    y, w = doubles(problem.y, problem.n), doubles(problem.w, problem.n)
    score = w * (y - family.mean(fit))
    curvature = w * family.variance(fit)
    if family.name == "gaussian":
        residual = y - fit
        return score, curvature, -0.5 * (w * residual) * residual
    return score, curvature, w * family.row_loglik(y, fit)


def moments(score, curvature, x):
    """Sums of score * x and (curvature * x) * x, x in float32."""
    x = x.astype(np.float64)
    return row_sum(score * x), row_sum((curvature * x) * x)


def changed_fit(problem, work, address, old_row, old_beta, new_row, new_beta):
    old = phi_of(problem, work, old_row).astype(np.float64)
    new = phi_of(problem, work, new_row).astype(np.float64)
    return (doubles(address, problem.n) - old_beta * old) + new_beta * new


def evaluate(problem, settings, work, address, old_row, old_beta, new_row, new_beta, need, row, features, d):
    fit = changed_fit(problem, work, address, old_row, old_beta, new_row, new_beta)
    score, curvature, loglik = family_at(problem, settings, fit)
    doubles(work.trial_fit, problem.n)[:] = fit
    work.sums[: 4 * d + 3] = 0.0
    if need & DERIVATIVES:
        doubles(work.score, problem.n)[:] = score
        doubles(work.curvature, problem.n)[:] = curvature
    if need & LIKELIHOOD:
        work.sums[0] = row_sum(loglik)
    if need & MOMENTS:
        work.sums[1:3] = moments(score, curvature, phi_of(problem, work, row))
    if need & TOTALS:
        work.sums[1:3] = row_sum(score), row_sum(curvature)
    D = int(settings.max_order)
    tables = tables_of(3 * D, work)
    for j in range(d):
        for kind in (1, 2):
            slope = tables[kind * D + j][codes_of(problem, features[j])]
            for other in range(d):
                if other != j:
                    slope = slope * tables[other][codes_of(problem, features[other])]
            place = 3 + 4 * j + 2 * (kind - 1)
            work.sums[place : place + 2] = moments(score, curvature, slope)


def phi_moments(problem, work, row):
    score, curvature = doubles(work.score, problem.n), doubles(work.curvature, problem.n)
    return moments(score, curvature, phi_of(problem, work, row))


def replace_term(problem, work, k, old_beta, row, new_beta):
    doubles(work.fit, problem.n)[:] = changed_fit(problem, work, work.fit, k, old_beta, row, new_beta)
    copy_phi(problem, work, row, k)


def take_trial_fit(problem, work):
    doubles(work.fit, problem.n)[:] = doubles(work.trial_fit, problem.n)


def shift_fit(problem, work, amount):
    doubles(work.fit, problem.n)[:] += amount


def fit_from_terms(problem, work, K, intercept, coefficients, address):
    fit = doubles(problem.offset, problem.n) + intercept
    for k in range(K):
        fit = fit + coefficients[k] * phi_of(problem, work, k).astype(np.float64)
    doubles(address, problem.n)[:] = fit


def watch_rows(problem, work, K, beta, record, row):
    record.fit[row] = doubles(work.fit, problem.n)[record.watched]
    for k in range(K):
        part = beta[k] * phi_of(problem, work, k)[record.watched].astype(np.float64)
        record.size[row, k] = sum((part * part).tolist()) / len(part)


def gram_matrix(problem, settings, work, K):
    side = int(settings.K_max) + 1
    gram = double_rows(work.gram, side, side)
    w = doubles(problem.w, problem.n)
    gram[0, 0] = row_sum(w)
    for k in range(K):
        weighted = w * phi_of(problem, work, k).astype(np.float64)
        gram[k + 1, 0] = row_sum(weighted)
        for other in range(k + 1):
            gram[k + 1, other + 1] = row_sum(weighted * phi_of(problem, work, other).astype(np.float64))


def score_of_terms(problem, work, K, out):
    score = doubles(work.score, problem.n)
    for k in range(K):
        out[k + 1] = row_sum(score * phi_of(problem, work, k).astype(np.float64))


def record_at(address, dtype):
    return view(address, (1,), dtype).view(np.recarray)[0]


def problem_at(address):
    return record_at(address, PROBLEM)


def work_at(address):
    return record_at(address, WORK)


def batch_at(address):
    return record_at(address, BATCH)


def integers(address, n):
    return view(address, (int(n),), np.int64)


def whole_codes_of(problem, batch, feature):
    dtype = np.uint16 if problem.wide_codes else np.uint8
    size = int(batch.n_all) * np.dtype(dtype).itemsize
    return view(batch.codes + int(feature) * size, (int(batch.n_all),), dtype)


def gather_codes(problem, feature):
    batch = batch_at(problem.batch)
    # Each time anew: that it is done only once a subset is a matter of speed.
    codes_of(problem, feature)[:] = whole_codes_of(problem, batch, feature)[integers(batch.rows, problem.n)]


def permutation(size, keys):
    """Images of 0 ... size - 1 under the keyed permutation of `subset.permuted`."""
    bits = int(size - 1).bit_length()
    low = bits // 2
    low_mask, high_mask = (1 << low) - 1, (1 << (bits - low)) - 1
    word = 0xFFFFFFFF

    def mixed(x, key):
        x = ((x ^ key) * 0x85EBCA6B) & word
        x ^= x >> 15
        x = (x * 0xC2B2AE35) & word
        x ^= x >> 13
        x = (x * 0x85EBCA6B) & word
        return x ^ (x >> 16)

    def once(value):
        left, right = value >> low, value & low_mask
        for turn in range(0, 8, 2):
            first, second = (keys[0], keys[1]) if turn % 4 == 0 else (keys[2], keys[3])
            left ^= mixed(right, (first + turn * 0x9E3779B9) & word) & high_mask
            right ^= mixed(left, (second + turn * 0x9E3779B9) & word) & low_mask
        return (left << low) | right

    images = []
    for i in range(int(size)):
        value = once(i)
        while value >= size:
            value = once(value)
        images.append(value)
    return np.array(images, np.int64)


def choose_rows(problem, state, batch, m):
    n, m = int(problem.n), int(m)
    rows = []
    bounds = strata(n, m)
    for s, (start, stop) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        share = m * stop // n - m * start // n
        rows += (start + permutation(stop - start, words(state, FOR_SUBSET, s, 0))[:share]).tolist()
    integers(batch.rows, m)[:] = rows


def strata(n, m):
    """Bounds of the strata: whole row blocks, as even as that allows."""
    blocks = -(-n // BLOCK)
    count = max(k for k in (1, 2, 4, 8, 16) if k == 1 or (512 * k <= m and k <= blocks))
    return [min(n, BLOCK * (s * blocks // count)) for s in range(count + 1)]


def gather_responses(problem, part, rows):
    n, m = int(problem.n), int(part.n)
    for name in ("y", "offset"):
        doubles(part[name], m)[:] = doubles(problem[name], n)[rows]
    bounds = strata(n, m)
    for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
        first, last = m * start // n, m * stop // n
        taken = doubles(problem.w, n)[rows[first:last]]
        doubles(part.w, m)[first:last] = taken * ((stop - start) / (last - first))


def gather_fit(problem, work, part, part_work, K):
    rows = integers(batch_at(part.batch).rows, part.n)
    doubles(part_work.fit, part.n)[:] = doubles(work.fit, problem.n)[rows]
    for k in range(K):
        phi_of(part, part_work, k)[:] = phi_of(problem, work, k)[rows]


def phi_at(problem, work, features, d, i):
    value = np.float32(1.0)
    for j in range(d):
        value = value * tables_of(d, work)[j][codes_of(problem, features[j])[i]]
    return value


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
            multiply_factor,
            copy_phi,
            evaluate,
            phi_moments,
            replace_term,
            take_trial_fit,
            shift_fit,
            fit_from_terms,
            gram_matrix,
            score_of_terms,
            watch_rows,
            problem_at,
            work_at,
            batch_at,
            integers,
            choose_rows,
            gather_responses,
            gather_fit,
            phi_at,
            words,
        )
    },
}


def reference_of(function: Any) -> Any:
    """Reference of a compiled function of the engine."""
    return as_python(function, REPLACEMENTS)
