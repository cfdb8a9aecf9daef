"""All coefficients and the intercept of an output at once, one output after the other.

A quadratic log-likelihood: the exact conditional. Others: a Langevin step, preconditioned by the Gram matrix
at the constant curvature of the null model, which does not depend on the coefficients.
"""

from __future__ import annotations

import math

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.pointers import double_rows
from raytpnn.engine.jit.signatures import CHAIN, FLAG, NOTHING
from raytpnn.engine.moves.adaptation import adapt_step
from raytpnn.engine.moves.likelihood import likelihood_scale
from raytpnn.engine.records import (
    FIT_LOGLIK,
    FOR_JOINT_BETA,
    JOINT_BETA,
    SIGMA_BETA2,
)
from raytpnn.engine.rows.outputs import (
    centre_of,
    count_members,
    intercept_of,
    select_output,
    set_intercept,
)
from raytpnn.engine.rows.row_passes import (
    TOTALS,
    evaluate,
    fit_from_terms,
    gram_matrix,
    score_of_terms,
    take_trial_fit,
)
from raytpnn.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.numerics.elementary import exp, log, normal_quantile
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import uniforms

__all__ = ["joint_beta"]

# Rows of Work.vector.
HERE, GRADIENT, THERE, GRADIENT_THERE, NOISE, SOLVED = range(6)


@internal
def cholesky(a, column, size):
    """Lower Cholesky factor in place; False if the matrix is not positive definite.

    What a column takes from those to its right is taken when it is done, row by row: every entry sees its
    subtractions in the order of columns, and rows vectorise. `column` is scratch space.
    """
    for j in range(size):
        if not a[j, j] > 0.0:
            return False
        pivot = math.sqrt(a[j, j])
        a[j, j] = pivot
        for i in range(j + 1, size):
            a[i, j] = a[i, j] / pivot
            column[i] = a[i, j]
        for i in range(j + 1, size):
            factor = a[i, j]
            row = a[i]
            for m in range(j + 1, i + 1):
                row[m] -= factor * column[m]
    return True


@internal
def solve_lower(a, x, size):
    """Replace x by the solution of L z = x, with L the lower triangle of a."""
    for i in range(size):
        total = x[i]
        for m in range(i):
            total -= a[i, m] * x[m]
        x[i] = total / a[i, i]


@internal
def solve_upper(a, x, size):
    """Replace x by the solution of L' z = x, with L the lower triangle of a."""
    for i in range(size - 1, -1, -1):
        total = x[i]
        for m in range(i + 1, size):
            total -= a[m, i] * x[m]
        x[i] = total / a[i, i]


@internal
def gradient_at(problem, settings, state, work, address, point, out, scale, size):
    """Gradient of the log posterior at a point whose fit stands at `address`; work.sums[0] is its loglik."""
    features = work.trial_features[0]
    need = DERIVATIVES + LIKELIHOOD + TOTALS
    evaluate(problem, settings, state, work, address, 0, 0.0, 0, 0.0, need, 0, features, 0)
    score_of_terms(problem, work, size - 1, out)
    gap = point[0] - centre_of(settings, work.output)
    out[0] = scale * work.sums[1] - settings.intercept_precision * gap
    for i in range(1, size):
        out[i] = scale * out[i] - point[i] / state.scalar[SIGMA_BETA2]


@internal
def log_prior(settings, state, work, point, size):
    """Log prior of intercept and coefficients, up to a constant."""
    gap = point[0] - centre_of(settings, work.output)
    total = settings.intercept_precision * (gap * gap)
    for i in range(1, size):
        total += (point[i] * point[i]) / state.scalar[SIGMA_BETA2]
    return -0.5 * total


@internal
def half_step(a, gradient, step, out, size):
    """Write half the step times the solution of L z = gradient to `out`."""
    for i in range(size):
        out[i] = gradient[i]
    solve_lower(a, out, size)
    for i in range(size):
        out[i] = 0.5 * step * out[i]


@internal
def squared_noise(a, origin, gradient, target, step, scratch, size):
    """Squared length of the normal vector that leads from `origin` to `target`."""
    half_step(a, gradient, step, scratch, size)
    total = 0.0
    for i in range(size):
        value = 0.0
        for m in range(i, size):
            value += a[m, i] * (target[m] - origin[m])
        value = value / step - scratch[i]
        total += value * value
    return total


@internal
def curvature_of_null(settings, output):
    """Curvature of a row in an output under the null model."""
    return settings.null_curvature if output == 0 else settings.null_curvatures[output]


@internal
def precision_factor(problem, settings, state, work, scale, size):
    """Cholesky factor of the proposal's precision in work.gram; work.curvature is that at the fit."""
    side = settings.K_max + 1
    curvature = scale * curvature_of_null(settings, work.output)
    work.gram_weight = problem.w
    if settings.outputs > 1 and work.quadratic != 0:
        # Of several outputs: the curvature of rows depends on the others.
        curvature = scale
        work.gram_weight = work.curvature
    gram_matrix(problem, settings, work, size - 1)
    gram = double_rows(work.gram, side, side)
    for i in range(size):
        for m in range(i + 1):
            gram[i, m] = curvature * gram[i, m]
    gram[0, 0] += settings.intercept_precision
    for i in range(1, size):
        gram[i, i] += 1.0 / state.scalar[SIGMA_BETA2]
    return cholesky(gram, work.vector[SOLVED], size)


@internal
def commit_point(problem, state, work, point, loglik, size):
    """Take a proposed point and its fit over."""
    set_intercept(state, work.output, point[0])
    for i in range(size - 1):
        state.beta[work.members[0, i]] = point[i + 1]
    take_trial_fit(problem, work)
    state.scalar[FIT_LOGLIK] = loglik


@internal
def joint_of_output(problem, settings, state, work, warming_up):
    """Draw or propose (intercept, beta_1, ..., beta_K) of the output at hand."""
    size = count_members(state, work) + 1
    scale = likelihood_scale(settings, state)
    here, there = work.vector[HERE], work.vector[THERE]
    gradient, noise, solved = work.vector[GRADIENT], work.vector[NOISE], work.vector[SOLVED]
    state.tally[JOINT_BETA, 0] += 1
    here[0] = intercept_of(state, work.output)
    for i in range(size - 1):
        here[i + 1] = state.beta[work.members[0, i]]
    gradient_at(problem, settings, state, work, work.fit, here, gradient, scale, size)
    if not precision_factor(problem, settings, state, work, scale, size):
        return
    gram = double_rows(work.gram, settings.K_max + 1, settings.K_max + 1)
    # One full Newton step plus noise is the exact draw when the target is normal: eps^2/2 = 1 in the drift.
    exact = work.quadratic != 0
    step = 1.0 if exact else exp(state.log_step[0])
    for i in range(0, size, 2):
        u, v = uniforms(state, FOR_JOINT_BETA, work.output, 1 + i // 2)
        noise[i] = normal_quantile(u)
        if i + 1 < size:
            noise[i + 1] = normal_quantile(v)
    half_step(gram, gradient, 2.0 if exact else step, solved, size)
    for i in range(size):
        solved[i] = step * (solved[i] + noise[i])
    solve_upper(gram, solved, size)
    for i in range(size):
        there[i] = here[i] + solved[i]
    for k in range(state.K):
        noise[k] = 0.0
    for i in range(size - 1):
        noise[work.members[0, i]] = there[i + 1]
    fit_from_terms(problem, work, state.K, there[0], noise, work.trial_fit)
    if exact:
        features = work.trial_features[0]
        evaluate(problem, settings, state, work, work.trial_fit, 0, 0.0, 0, 0.0, LIKELIHOOD, 0, features, 0)
        commit_point(problem, state, work, there, work.sums[0], size)
        state.tally[JOINT_BETA, 1] += 1
        return
    gradient_there = work.vector[GRADIENT_THERE]
    gradient_at(problem, settings, state, work, work.trial_fit, there, gradient_there, scale, size)
    loglik = work.sums[0]
    log_ratio = scale * (loglik - state.scalar[FIT_LOGLIK])
    gain = log_prior(settings, state, work, there, size) - log_prior(settings, state, work, here, size)
    log_ratio += gain
    back = squared_noise(gram, there, gradient_there, here, step, solved, size)
    forth = squared_noise(gram, here, gradient, there, step, solved, size)
    log_ratio -= 0.5 * (back - forth)
    u, _ = uniforms(state, FOR_JOINT_BETA, work.output, 0)
    if log(u) < log_ratio:
        commit_point(problem, state, work, there, loglik, size)
        state.tally[JOINT_BETA, 1] += 1
    if warming_up and settings.adapt:
        adapt_step(settings, state, 0, log_ratio)


@unit(NOTHING(*CHAIN, FLAG))
def joint_beta(problem, settings, state, work, warming_up):
    """Draw or propose the coefficients of every output."""
    for output in range(settings.outputs):
        select_output(problem, settings, work, output)
        joint_of_output(problem, settings, state, work, warming_up)
