"""Passes over the rows: all work that grows with n is here.

Basis functions are named by their row in the phi matrix: 0 ... K - 1 for the terms, K_max for the trial.
The reference execution replaces every function of this file by NumPy, see `reference.py`.
"""

from __future__ import annotations

from raytpnn.engine.memory import code_bytes, code_words, double_rows, doubles, single_rows, singles
from raytpnn.model.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.model.families.dispatch import family_rows
from raytpnn.numerics.jit import internal
from raytpnn.numerics.lanes import BLOCK, block_dot, block_moments, block_sum


@internal
def phi_row(problem, work, row):
    """Float32 vector of one basis function."""
    return singles(work.phi + row * problem.n * 4, problem.n)


@internal
def set_factor(codes, table, phi):
    """phi = table[codes]."""
    for i in range(len(codes)):
        phi[i] = table[codes[i]]


@internal
def scale_factor(codes, table, phi):
    """phi = phi * table[codes]."""
    for i in range(len(codes)):
        phi[i] = phi[i] * table[codes[i]]


@internal
def multiply_factor(problem, work, feature, j, row):
    """Multiply factor table j into a basis function, or start it with the first factor."""
    n = problem.n
    table = single_rows(work.table, j + 1, work.table_width)[j]
    phi = phi_row(problem, work, row)
    if problem.wide_codes:
        words = code_words(problem.codes + 2 * n * feature, n)
        if j == 0:
            set_factor(words, table, phi)
        else:
            scale_factor(words, table, phi)
    else:
        octets = code_bytes(problem.codes + n * feature, n)
        if j == 0:
            set_factor(octets, table, phi)
        else:
            scale_factor(octets, table, phi)


@internal
def copy_phi(problem, work, source, target):
    """Copy one basis function to another row."""
    left = phi_row(problem, work, target)
    right = phi_row(problem, work, source)
    for i in range(len(left)):
        left[i] = right[i]


@internal
def exchange(fit, old, old_beta, new, new_beta, out):
    """out = fit - old_beta * old + new_beta * new."""
    for i in range(len(fit)):
        out[i] = (fit[i] - old_beta * old[i]) + new_beta * new[i]


@internal
def derivatives_at(problem, settings, work, address):
    """Score and curvature at a fit, into `work`; returns their sums and the log-likelihood."""
    n = problem.n
    fit = doubles(address, n)
    y = doubles(problem.y, n)
    w = doubles(problem.w, n)
    score = doubles(work.score, n)
    curvature = doubles(work.curvature, n)
    total = 0.0
    total_curvature = 0.0
    loglik = 0.0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        s = score[start:stop]
        c = curvature[start:stop]
        out = work.block[: stop - start]
        need = DERIVATIVES + LIKELIHOOD
        family_rows(settings.family, y[start:stop], fit[start:stop], w[start:stop], s, c, out, need)
        total += block_sum(s, work.lanes[0])
        total_curvature += block_sum(c, work.lanes[0])
        loglik += block_sum(out, work.lanes[0])
    return total, total_curvature, loglik


@internal
def derivatives(problem, settings, work):
    """`derivatives_at` the fit of the state."""
    return derivatives_at(problem, settings, work, work.fit)


@internal
def remove_term(problem, settings, work, k, beta):
    """Derivatives at the fit without term k, into `work`; returns the moments of its phi with them."""
    n = problem.n
    fit = doubles(work.fit, n)
    trial = doubles(work.trial_fit, n)
    y = doubles(problem.y, n)
    w = doubles(problem.w, n)
    score = doubles(work.score, n)
    curvature = doubles(work.curvature, n)
    phi = phi_row(problem, work, k)
    dot = 0.0
    norm = 0.0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        part = phi[start:stop]
        base = trial[start:stop]
        s = score[start:stop]
        c = curvature[start:stop]
        exchange(fit[start:stop], part, beta, part, 0.0, base)
        family_rows(settings.family, y[start:stop], base, w[start:stop], s, c, work.block, DERIVATIVES)
        part_dot, part_norm = block_moments(s, c, part, work.lanes)
        dot += part_dot
        norm += part_norm
    return dot, norm


@internal
def phi_moments(problem, work, row):
    """Sums of score * phi and curvature * phi^2 with the derivatives in `work`."""
    n = problem.n
    score = doubles(work.score, n)
    curvature = doubles(work.curvature, n)
    phi = phi_row(problem, work, row)
    dot = 0.0
    norm = 0.0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        part_dot, part_norm = block_moments(
            score[start:stop], curvature[start:stop], phi[start:stop], work.lanes
        )
        dot += part_dot
        norm += part_norm
    return dot, norm


@internal
def likelihood_of_change(problem, settings, work, old_row, old_beta, new_row, new_beta):
    """Log-likelihood of fit - old_beta * old + new_beta * new; derivatives in `work` stay as they are."""
    n = problem.n
    fit = doubles(work.fit, n)
    trial = doubles(work.trial_fit, n)
    y = doubles(problem.y, n)
    w = doubles(problem.w, n)
    old = phi_row(problem, work, old_row)
    new = phi_row(problem, work, new_row)
    loglik = 0.0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        part = trial[start:stop]
        out = work.block[: stop - start]
        exchange(fit[start:stop], old[start:stop], old_beta, new[start:stop], new_beta, part)
        # A likelihood needs no derivatives, but a kernel may use their place: it gets the scratch block.
        spare = work.scratch[: stop - start]
        family_rows(settings.family, y[start:stop], part, w[start:stop], spare, spare, out, LIKELIHOOD)
        loglik += block_sum(out, work.lanes[0])
    return loglik


@internal
def replace_term(problem, work, k, old_beta, row, new_beta):
    """Put new_beta * phi[row] in the place of term k in the fit, and phi[row] in that of phi[k]."""
    fit = doubles(work.fit, problem.n)
    old = phi_row(problem, work, k)
    new = phi_row(problem, work, row)
    exchange(fit, old, old_beta, new, new_beta, fit)
    copy_phi(problem, work, row, k)


@internal
def trial_of_term(problem, work, k, old_beta, row, new_beta):
    """trial_fit = fit with term k replaced by new_beta * phi[row]."""
    n = problem.n
    fit = doubles(work.fit, n)
    trial = doubles(work.trial_fit, n)
    exchange(fit, phi_row(problem, work, k), old_beta, phi_row(problem, work, row), new_beta, trial)


@internal
def take_trial_fit(problem, work):
    """Take trial_fit over as the fit."""
    fit = doubles(work.fit, problem.n)
    trial = doubles(work.trial_fit, problem.n)
    for i in range(len(fit)):
        fit[i] = trial[i]


@internal
def shift_fit(problem, work, amount):
    """Add a constant to the fit."""
    fit = doubles(work.fit, problem.n)
    for i in range(len(fit)):
        fit[i] += amount


@internal
def set_slopes(codes, slope_b, slope_gamma, in_b, in_gamma):
    """Look both slopes of a factor up."""
    for i in range(len(codes)):
        in_b[i] = slope_b[codes[i]]
        in_gamma[i] = slope_gamma[codes[i]]


@internal
def scale_slopes(codes, factor, in_b, in_gamma):
    """Multiply another factor into both slopes."""
    for i in range(len(codes)):
        value = factor[codes[i]]
        in_b[i] = in_b[i] * value
        in_gamma[i] = in_gamma[i] * value


@internal
def slopes_of_block(problem, work, features, D, d, j, start, stop):
    """Slopes of phi in b and log gamma of its j-th factor, into the two rows of work.slope."""
    n = problem.n
    size = stop - start
    tables = single_rows(work.table, 3 * D, work.table_width)
    in_b = work.slope[0][:size]
    in_gamma = work.slope[1][:size]
    for turn in range(d):
        # The factor itself first, then the others in the order of the term.
        other = j if turn == 0 else (turn - 1 if turn <= j else turn)
        if problem.wide_codes:
            words = code_words(problem.codes + 2 * (n * features[other] + start), size)
            if turn == 0:
                set_slopes(words, tables[D + j], tables[2 * D + j], in_b, in_gamma)
            else:
                scale_slopes(words, tables[other], in_b, in_gamma)
        else:
            octets = code_bytes(problem.codes + n * features[other] + start, size)
            if turn == 0:
                set_slopes(octets, tables[D + j], tables[2 * D + j], in_b, in_gamma)
            else:
                scale_slopes(octets, tables[other], in_b, in_gamma)


@internal
def gradient_sums(problem, settings, work, address, row, features, d):
    """Fill work.sums with [loglik, score.phi, curvature.phi^2, then 4 moments a factor] at a fit."""
    n = problem.n
    sums = work.sums
    fit = doubles(address, n)
    y = doubles(problem.y, n)
    w = doubles(problem.w, n)
    score = doubles(work.score, n)
    curvature = doubles(work.curvature, n)
    phi = phi_row(problem, work, row)
    for i in range(4 * d + 3):
        sums[i] = 0.0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        s = score[start:stop]
        c = curvature[start:stop]
        out = work.block[: stop - start]
        need = DERIVATIVES + LIKELIHOOD
        family_rows(settings.family, y[start:stop], fit[start:stop], w[start:stop], s, c, out, need)
        sums[0] += block_sum(out, work.lanes[0])
        dot, norm = block_moments(s, c, phi[start:stop], work.lanes)
        sums[1] += dot
        sums[2] += norm
        for j in range(d):
            slopes_of_block(problem, work, features, settings.max_order, d, j, start, stop)
            for kind in range(2):
                dot, norm = block_moments(s, c, work.slope[kind][: stop - start], work.lanes)
                sums[3 + 4 * j + 2 * kind] += dot
                sums[4 + 4 * j + 2 * kind] += norm


@internal
def fit_from_terms(problem, work, K, intercept, coefficients, address):
    """Write offset + intercept + sum of coefficients * phi, terms in stored order, to a fit."""
    n = problem.n
    out = doubles(address, n)
    offset = doubles(problem.offset, n)
    for i in range(n):
        out[i] = offset[i] + intercept
    for k in range(K):
        phi = phi_row(problem, work, k)
        beta = coefficients[k]
        for i in range(n):
            out[i] += beta * phi[i]


@internal
def gram_matrix(problem, settings, work, K):
    """Weighted Gram matrix of (1, phi_1, ..., phi_K), lower triangle, into work.gram."""
    n = problem.n
    side = settings.K_max + 1
    gram = double_rows(work.gram, side, side)
    w = doubles(problem.w, n)
    for i in range(K + 1):
        for m in range(i + 1):
            gram[i, m] = 0.0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        part = w[start:stop]
        weighted = work.block[: stop - start]
        gram[0, 0] += block_sum(part, work.lanes[0])
        for k in range(K):
            phi = phi_row(problem, work, k)[start:stop]
            for i in range(len(part)):
                weighted[i] = part[i] * phi[i]
            gram[k + 1, 0] += block_sum(weighted, work.lanes[0])
            for other in range(k + 1):
                column = phi_row(problem, work, other)[start:stop]
                gram[k + 1, other + 1] += block_dot(weighted, column, work.lanes[0])


@internal
def score_of_terms(problem, settings, work, K, address, out):
    """Log-likelihood at a fit; out = score against (1, phi_1, ..., phi_K)."""
    total, _, loglik = derivatives_at(problem, settings, work, address)
    n = problem.n
    score = doubles(work.score, n)
    out[0] = total
    for k in range(K):
        phi = phi_row(problem, work, k)
        value = 0.0
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            value += block_dot(score[start:stop], phi[start:stop], work.lanes[0])
        out[k + 1] = value
    return loglik
