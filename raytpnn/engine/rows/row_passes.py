"""Passes over the rows: all work that grows with n is here.

Basis functions are named by their row in the phi matrix: 0 ... K - 1 for the terms, K_max for the trial.
The reference execution replaces every function of this file by NumPy, see `execution.py`. What the moves call
are units: the grid execution puts addresses of others in their place, see `callbacks.py`.
"""

from __future__ import annotations

from typing import Any

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.pointers import (
    batch_at,
    code_bytes,
    code_words,
    double_rows,
    doubles,
    integers,
    single_rows,
    singles,
)
from raytpnn.engine.jit.signatures import (
    DOUBLE,
    FEATURES,
    INTEGER,
    NOTHING,
    PAIR,
    PROBLEM_T,
    SETTINGS_T,
    STATE_T,
    VECTOR,
    WORK_T,
)
from raytpnn.engine.records import NUISANCE
from raytpnn.engine.rows.reduction import combine, stripe_sums
from raytpnn.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.numerics.jit import internal
from raytpnn.numerics.lanes import BLOCK, STRIPES, block_dot, block_dots, block_moments, block_sum

# Flags of `evaluate`, in addition to those of the family's kernel.
MOMENTS = 4  # of one basis function with score and curvature
TOTALS = 8  # sums of score and curvature

CHANGE = (INTEGER, DOUBLE, INTEGER, DOUBLE)
EVALUATE = NOTHING(
    PROBLEM_T, SETTINGS_T, STATE_T, WORK_T, INTEGER, *CHANGE, INTEGER, INTEGER, FEATURES, INTEGER
)


@internal
def gather_codes(problem, feature):
    """Slot of the codes of a feature at the rows of a subset, gathered unless they are there already."""
    batch = batch_at(problem.batch)
    turn = integers(batch.turn, problem.p)
    if turn[feature] <= max(batch.earlier, batch.gathered - batch.slots):
        batch.gathered += 1
        turn[feature] = batch.gathered
        n = problem.n
        slot = batch.gathered % batch.slots
        rows = integers(batch.rows, n)
        if problem.wide_codes:
            words = code_words(problem.codes + 2 * problem.stride * slot, n)
            all_words = code_words(batch.codes + 2 * batch.stride * feature, batch.stride)
            for i in range(n):
                words[i] = all_words[rows[i]]
        else:
            octets = code_bytes(problem.codes + problem.stride * slot, n)
            all_octets = code_bytes(batch.codes + batch.stride * feature, batch.stride)
            for i in range(n):
                octets[i] = all_octets[rows[i]]
    return turn[feature] % batch.slots


@internal
def codes_from(problem, feature, start):
    """Address of a feature's codes from row `start` on; those of a subset stay until another is asked for."""
    size = 2 if problem.wide_codes else 1
    place = gather_codes(problem, feature) if problem.batch != 0 else feature
    return problem.codes + size * (problem.stride * place + start)


@unit(NOTHING(PROBLEM_T, WORK_T, INTEGER, INTEGER, INTEGER))
def multiply_factor(problem, work, feature, j, row):
    """Multiply factor table j into a basis function, or start it with the first factor."""
    n = problem.n
    table = single_rows(work.table, j + 1, work.table_width)[j]
    phi = singles(work.phi + 4 * n * row, n)
    codes = codes_from(problem, feature, 0)
    if problem.wide_codes:
        words = code_words(codes, n)
        for i in range(n):
            phi[i] = table[words[i]] if j == 0 else phi[i] * table[words[i]]
    elif j == 0:
        octets = code_bytes(codes, n)
        for i in range(n):
            phi[i] = table[octets[i]]
    else:
        octets = code_bytes(codes, n)
        for i in range(n):
            phi[i] = phi[i] * table[octets[i]]


@internal
def slopes_of_block(problem, work, features, D, d, j, start, stop):
    """Slopes of phi in b and log gamma of its j-th factor, into the two rows of work.slope."""
    size = stop - start
    tables = single_rows(work.table, 3 * D, work.table_width)
    in_b = work.slope[0][:size]
    in_gamma = work.slope[1][:size]
    slope_b = tables[D + j]
    slope_gamma = tables[2 * D + j]
    for turn in range(d):
        # The factor itself first, then the others in the order of the term.
        other = j if turn == 0 else (turn - 1 if turn <= j else turn)
        factor = tables[other]
        codes = codes_from(problem, int(features[other]), start)
        if problem.wide_codes:
            words = code_words(codes, size)
            for i in range(size):
                code = words[i]
                in_b[i] = slope_b[code] if turn == 0 else in_b[i] * factor[code]
                in_gamma[i] = slope_gamma[code] if turn == 0 else in_gamma[i] * factor[code]
        elif turn == 0:
            octets = code_bytes(codes, size)
            for i in range(size):
                in_b[i] = slope_b[octets[i]]
                in_gamma[i] = slope_gamma[octets[i]]
        else:
            octets = code_bytes(codes, size)
            for i in range(size):
                value = factor[octets[i]]
                in_b[i] = in_b[i] * value
                in_gamma[i] = in_gamma[i] * value


# The kernel of the family that `family_rows` is compiled for: put in by `function_table.family_address`.
rows: Any = None


@unit(NOTHING(PROBLEM_T, WORK_T, INTEGER, INTEGER, DOUBLE, INTEGER, INTEGER, INTEGER, INTEGER))
def family_rows(problem, work, start, stop, dispersion, need, fit_at, score_at, curvature_at):
    """Run a family's kernel at rows start ... stop - 1: one unit for each family.

    Addresses are those of the fit, the score and the curvature at row `start`. The log-likelihood is left in
    work.block[0].
    """
    size = stop - start
    curvature = doubles(curvature_at, size)
    if not need & DERIVATIVES:
        # A kernel may use the place of the derivatives, which must survive a rejected birth.
        curvature = work.block[1][:size]
    rows(
        doubles(problem.y + 8 * start, size),
        doubles(fit_at, size),
        doubles(problem.w + 8 * start, size),
        dispersion,
        doubles(score_at, size),
        curvature,
        work.block[0][:size],
        need,
    )


@internal
def family_rows_of_outputs(problem, work, start, stop, dispersion, need, fit_at, score_at, curvature_at):
    """Take the place of `family_rows` for families of several outputs: their kernels see all fits."""
    size = stop - start
    curvature = doubles(curvature_at, size)
    if not need & DERIVATIVES:
        curvature = work.block[1][:size]
    rows(
        doubles(problem.y + 8 * start, size),
        doubles(fit_at, size),
        doubles(problem.w + 8 * start, size),
        dispersion,
        doubles(score_at, size),
        curvature,
        work.block[0][:size],
        need,
        double_rows(work.fits, work.outputs, problem.n)[:, start:stop],
        work.output,
    )


@internal
def evaluate_block(problem, settings, work, dispersion, need, row, features, d, start, stop, sums):
    """Evaluate the family at rows start ... stop - 1 of the trial fit, and add their sums."""
    n = problem.n
    size = stop - start
    lanes = work.lanes
    s = doubles(work.score + 8 * start, size)
    c = doubles(work.curvature + 8 * start, size)
    phi = singles(work.phi + 4 * (n * row + start), size)
    first = 8 * start
    fit_at, score_at, curvature_at = work.trial_fit + first, work.score + first, work.curvature + first
    family_rows(problem, work, start, stop, dispersion, need, fit_at, score_at, curvature_at)
    if need & LIKELIHOOD:
        sums[0] += block_sum(work.block[0][:size], lanes[0])
    if need & MOMENTS:
        dot, norm = block_moments(s, c, phi, lanes)
        sums[1] += dot
        sums[2] += norm
    if need & TOTALS:
        sums[1] += block_sum(s, lanes[0])
        sums[2] += block_sum(c, lanes[0])
    for j in range(d):
        slopes_of_block(problem, work, features, settings.max_order, d, j, start, stop)
        for kind in range(2):
            dot, norm = block_moments(s, c, work.slope[kind][:size], lanes)
            sums[3 + 4 * j + 2 * kind] += dot
            sums[4 + 4 * j + 2 * kind] += norm


@unit(EVALUATE)
def evaluate(
    problem, settings, state, work, address, old_row, old_beta, new_row, new_beta, need, row, features, d
):
    """Evaluate the family at fit - old_beta * phi[old_row] + new_beta * phi[new_row], left in trial_fit.

    `address` is that of the fit to start from. Fills work.sums: at 0 the log-likelihood (LIKELIHOOD), at 1
    and 2 the moments of phi[row] with score and curvature (MOMENTS) or the sums of these (TOTALS), then for
    each of d factors those of the slope in b and in log gamma. Score and curvature stay in `work` if
    DERIVATIVES are asked for, and are left alone if not.
    """
    n = problem.n
    fit = doubles(address, n)
    trial = doubles(work.trial_fit, n)
    old = singles(work.phi + 4 * n * old_row, n)
    new = singles(work.phi + 4 * n * new_row, n)
    count = 4 * d + 3
    dispersion = state.scalar[NUISANCE]
    for stripe in range(STRIPES):
        last = problem.stripe[stripe + 1]
        sums = doubles(stripe_sums(problem, work, stripe, count), count)
        for start in range(problem.stripe[stripe], last, BLOCK):
            stop = min(start + BLOCK, last)
            base = trial[start:stop]
            fit_part = fit[start:stop]
            old_part = old[start:stop]
            new_part = new[start:stop]
            for i in range(stop - start):
                base[i] = (fit_part[i] - old_beta * old_part[i]) + new_beta * new_part[i]
            evaluate_block(problem, settings, work, dispersion, need, row, features, d, start, stop, sums)
    total = doubles(combine(problem, work, count), count)
    for i in range(count):
        work.sums[i] = total[i]


@unit(PAIR(PROBLEM_T, WORK_T, INTEGER))
def phi_moments(problem, work, row):
    """Sums of score * phi and curvature * phi^2 with the derivatives in `work`."""
    n = problem.n
    score = doubles(work.score, n)
    curvature = doubles(work.curvature, n)
    phi = singles(work.phi + 4 * n * row, n)
    for stripe in range(STRIPES):
        last = problem.stripe[stripe + 1]
        sums = doubles(stripe_sums(problem, work, stripe, 2), 2)
        for start in range(problem.stripe[stripe], last, BLOCK):
            stop = min(start + BLOCK, last)
            dot, norm = block_moments(score[start:stop], curvature[start:stop], phi[start:stop], work.lanes)
            sums[0] += dot
            sums[1] += norm
    total = doubles(combine(problem, work, 2), 2)
    return total[0], total[1]


@unit(NOTHING(PROBLEM_T, WORK_T, INTEGER, DOUBLE, INTEGER, DOUBLE))
def replace_term(problem, work, k, old_beta, row, new_beta):
    """Replace term k by new_beta * phi[row] in the fit, and phi[k] by phi[row]."""
    n = problem.n
    fit = doubles(work.fit, n)
    old = singles(work.phi + 4 * n * k, n)
    new = singles(work.phi + 4 * n * row, n)
    for i in range(n):
        fit[i] = (fit[i] - old_beta * old[i]) + new_beta * new[i]
    for i in range(n):
        old[i] = new[i]


@unit(NOTHING(PROBLEM_T, WORK_T, INTEGER, INTEGER))
def copy_phi(problem, work, source, target):
    """Copy one basis function to another row."""
    n = problem.n
    left = singles(work.phi + 4 * n * target, n)
    right = singles(work.phi + 4 * n * source, n)
    for i in range(n):
        left[i] = right[i]


@unit(NOTHING(PROBLEM_T, WORK_T, INTEGER, *CHANGE))
def change_trial_fit(problem, work, address, old_row, old_beta, new_row, new_beta):
    """Write fit - old_beta * phi[old_row] + new_beta * phi[new_row] to trial_fit, and evaluate nothing.

    `address` is that of the fit to start from, which may be trial_fit itself.
    """
    n = problem.n
    fit = doubles(address, n)
    trial = doubles(work.trial_fit, n)
    old = singles(work.phi + 4 * n * old_row, n)
    new = singles(work.phi + 4 * n * new_row, n)
    for i in range(n):
        trial[i] = (fit[i] - old_beta * old[i]) + new_beta * new[i]


@unit(NOTHING(PROBLEM_T, WORK_T))
def take_trial_fit(problem, work):
    """Take trial_fit over as the fit."""
    fit = doubles(work.fit, problem.n)
    trial = doubles(work.trial_fit, problem.n)
    for i in range(problem.n):
        fit[i] = trial[i]


@unit(NOTHING(PROBLEM_T, WORK_T, DOUBLE))
def shift_fit(problem, work, amount):
    """Add a constant to the fit."""
    fit = doubles(work.fit, problem.n)
    for i in range(problem.n):
        fit[i] += amount


@unit(NOTHING(PROBLEM_T, WORK_T, INTEGER, DOUBLE, VECTOR, INTEGER))
def fit_from_terms(problem, work, K, intercept, coefficients, address):
    """Write offset + intercept + sum of coefficients * phi, terms in stored order, to a fit.

    Terms of coefficient 0 are passed over. Offsets are the first output's.
    """
    n = problem.n
    out = doubles(address, n)
    offset = doubles(problem.offset, n)
    for i in range(n):
        out[i] = offset[i] + intercept if work.output == 0 else intercept
    for k in range(K):
        beta = coefficients[k]
        if beta == 0.0:
            continue
        phi = singles(work.phi + 4 * n * k, n)
        for i in range(n):
            out[i] += beta * phi[i]


@internal
def gram_block(problem, work, low, high, start, stop, sums):
    """Add what rows start ... stop - 1 give to rows low ... high - 1 of the Gram matrix, in a row."""
    n = problem.n
    size = stop - start
    w = doubles(work.gram_weight, n)[start:stop]
    lanes = work.lanes[0]
    members = work.members[0]
    weighted = work.block[0][:size]
    place = 0
    for k in range(low - 1, high - 1):
        if k < 0:
            sums[0] += block_sum(w, lanes)
            place = 1
            continue
        phi = singles(work.phi + 4 * (n * members[k] + start), size)
        for i in range(size):
            weighted[i] = w[i] * phi[i]
        sums[place] += block_sum(weighted, lanes)
        # Columns by twos, which share the loads of `weighted`.
        for other in range(0, k, 2):
            column = singles(work.phi + 4 * (n * members[other] + start), size)
            beside = singles(work.phi + 4 * (n * members[other + 1] + start), size)
            first, second = block_dots(weighted, column, beside, work.lanes)
            sums[place + 1 + other] += first
            sums[place + 2 + other] += second
        if k % 2 == 0:
            sums[place + 1 + k] += block_dot(weighted, phi, lanes)
        place += k + 2


@unit(NOTHING(PROBLEM_T, SETTINGS_T, WORK_T, INTEGER))
def gram_matrix(problem, settings, work, K):
    """Weighted Gram matrix of (1, phi_1, ..., phi_K), lower triangle, into work.gram.

    The K basis functions are those of work.members, rows count as at work.gram_weight.
    """
    side = settings.K_max + 1
    gram = double_rows(work.gram, side, side)
    low = 0
    while low <= K:
        # As many rows of the matrix at a time as there is room for their sums.
        high = low + 1
        count = high
        while high <= K and count + high + 1 <= work.partial_width:
            high += 1
            count += high
        for stripe in range(STRIPES):
            last = problem.stripe[stripe + 1]
            sums = doubles(stripe_sums(problem, work, stripe, count), count)
            for start in range(problem.stripe[stripe], last, BLOCK):
                gram_block(problem, work, low, high, start, min(start + BLOCK, last), sums)
        total = doubles(combine(problem, work, count), count)
        place = 0
        for i in range(low, high):
            for m in range(i + 1):
                gram[i, m] = total[place + m]
            place += i + 1
        low = high


@unit(NOTHING(PROBLEM_T, WORK_T, INTEGER, VECTOR))
def score_of_terms(problem, work, K, out):
    """out[1:] = score in `work` against phi_1, ..., phi_K, those of work.members."""
    n = problem.n
    score = doubles(work.score, n)
    for stripe in range(STRIPES):
        last = problem.stripe[stripe + 1]
        sums = doubles(stripe_sums(problem, work, stripe, K), K)
        for start in range(problem.stripe[stripe], last, BLOCK):
            size = min(BLOCK, last - start)
            for k in range(K):
                phi = singles(work.phi + 4 * (n * work.members[0, k] + start), size)
                sums[k] += block_dot(score[start : start + size], phi, work.lanes[0])
    total = doubles(combine(problem, work, K), K)
    for k in range(K):
        out[k + 1] = total[k]


@internal
def phi_at(problem, work, features, d, i):
    """One row of the product of factor tables 0 ... d - 1, from the codes."""
    tables = single_rows(work.table, d, work.table_width)
    value = tables[0][0]
    for j in range(d):
        place = problem.stride * features[j] + i
        if problem.wide_codes:
            factor = tables[j][code_words(problem.codes + 2 * place, 1)[0]]
        else:
            factor = tables[j][code_bytes(problem.codes + place, 1)[0]]
        value = factor if j == 0 else value * factor
    return value


@internal
def gather_fit(problem, work, part, part_work, K):
    """Fit and basis functions of a subset from those of all rows."""
    n, m = problem.n, part.n
    rows = integers(batch_at(part.batch).rows, m)
    fit = doubles(work.fit, n)
    fit_part = doubles(part_work.fit, m)
    for i in range(m):
        fit_part[i] = fit[rows[i]]
    for k in range(K):
        phi = singles(work.phi + 4 * n * k, n)
        phi_part = singles(part_work.phi + 4 * m * k, m)
        for i in range(m):
            phi_part[i] = phi[rows[i]]
