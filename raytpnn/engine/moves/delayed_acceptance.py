"""Delayed acceptance: proposals are screened on a subset of the rows, survivors checked on all of them.

A proposal x -> y passes the screen with probability min(1, R*) and then the check with min(1, R / R*), where
R is the usual ratio on all rows. Any positive R* with R*(x, y) R*(y, x) = 1 leaves the posterior as it is:
both stages together accept x -> y and y -> x in the ratio R. Here R* is made from the evidence of a
coefficient along a basis function, the coefficient integrated out: forward and reverse look at the same fit
without the term and at the same subset, which does not depend on the state. The coefficient itself is drawn
after the screen, from all rows.

A subset says little about small effects: the squared z-score of a coefficient, as if of all n rows, is off by
about sqrt(n/m - 1) times twice the z-score. What lies within that margin is left to the check on all rows.
"""

from __future__ import annotations

import math

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.pointers import problem_at, work_at
from raytpnn.engine.jit.signatures import CHAIN, DOUBLE, INTEGER
from raytpnn.engine.moves.likelihood import likelihood_scale
from raytpnn.engine.moves.proposed_term import build_phi
from raytpnn.engine.records import (
    DELAYED_IF_IT_PAYS,
    EXACT_ONLY,
    SCREEN_NAMES,
    SCREEN_WALK,
    SIGMA_BETA2,
)
from raytpnn.engine.rows.row_passes import copy_phi, evaluate, gather_fit, phi_moments, replace_term
from raytpnn.engine.rows.subset import take_subset
from raytpnn.engine.rows.term_moments import moments_without
from raytpnn.families.base import DERIVATIVES
from raytpnn.numerics.elementary import log
from raytpnn.numerics.jit import internal

__all__ = [
    "begin_screening",
    "count_proposal",
    "count_step",
    "follow_death",
    "follow_term",
    "plan_screening",
    "screen_birth",
    "screen_death",
    "screen_restructure",
    "second_stage",
]

# Standard errors of the subset's evidence within which it says nothing.
MARGIN = 1.5
# Rows of Work.point, see `langevin.py`, which imports this.
POINT_HERE, POINT_PRECISION, POINT_THERE = 0, 2, 3
# Slots of State.screen_tally.
PROPOSED, PASSED, ACCEPTED, ROWS = range(4)
N_COUNTS = 4
# Screening must give this many times more accepted moves per row: drawing subsets has its price too.
WORTH_IT = 1.2


@internal
def screened_evidence(settings, state, dot, norm):
    """Log evidence of a coefficient from the moments along its basis function, and its squared z-score."""
    scale = likelihood_scale(settings, state)
    prior_precision = 1.0 / state.scalar[SIGMA_BETA2]
    precision = scale * norm + prior_precision
    slope = scale * dot
    square = slope * slope / precision
    return 0.5 * (log(prior_precision) - log(precision)) + 0.5 * square, square


@internal
def beyond_margin(log_ratio, squares, excess):
    """What is left of a log ratio beyond its uncertainty: an odd function of it.

    `squares` is the sum of the squared z-scores that it was made from, `excess` is n/m - 1.
    """
    margin = MARGIN * math.sqrt(excess * (squares + excess))
    if log_ratio > margin:
        return log_ratio - margin
    if log_ratio < -margin:
        return log_ratio + margin
    return 0.0


@internal
def second_stage(log_ratio, log_screen):
    """Log ratio with which a proposal that passed the screen is accepted."""
    return log_ratio - log_screen


@internal
def excess_of(problem, part):
    """Variance of a scaled sum over the subset, in units of what a row adds to the sum over all."""
    return (1.0 * problem.n_all) / part.n_all - 1.0


@internal
def log_birth_screen(problem, settings, part, state, dot, norm, log_set):
    """Log R* of a birth from the moments of the new basis function; a death has its negative."""
    evidence, square = screened_evidence(settings, state, dot, norm)
    excess = excess_of(problem, part)
    # Noise alone adds `excess` to the squared z-score.
    return beyond_margin(log_set + evidence - 0.5 * excess, square, excess)


@unit(DOUBLE(*CHAIN, INTEGER, DOUBLE))
def screen_birth(problem, settings, state, work, d, log_set):
    """Log R* of the birth of the trial term; minus infinity if that is impossible."""
    part, own = problem_at(work.batch), work_at(work.batch_work)
    trial = settings.K_max
    features = work.trial_features[0]
    if not build_phi(part, own, features, work.trial_b[0], work.trial_gamma[0], d, 0, trial):
        return -math.inf
    if own.at_fit == 0:
        evaluate(part, settings, state, own, own.fit, 0, 0.0, 0, 0.0, DERIVATIVES, 0, features, 0)
        own.at_fit = 1
    dot, norm = phi_moments(part, own, trial)
    return log_birth_screen(problem, settings, part, state, dot, norm, log_set)


@unit(DOUBLE(*CHAIN, INTEGER, DOUBLE))
def screen_death(problem, settings, state, work, k, log_set):
    """Log R* of the death of term k, the set part of whose birth is given."""
    part, own = problem_at(work.batch), work_at(work.batch_work)
    dot, norm, _, _ = moments_without(part, settings, state, own, k, state.beta[k], k)
    return -log_birth_screen(problem, settings, part, state, dot, norm, log_set)


@unit(DOUBLE(*CHAIN, INTEGER, INTEGER, INTEGER, DOUBLE))
def screen_restructure(problem, settings, state, work, k, d, first, log_set):
    """Log R* of replacing term k by the trial; minus infinity if that is impossible."""
    part, own = problem_at(work.batch), work_at(work.batch_work)
    trial = settings.K_max
    features = work.trial_features[0]
    if first > 0:
        copy_phi(part, own, k, trial)
    if not build_phi(part, own, features, work.trial_b[0], work.trial_gamma[0], d, first, trial):
        return -math.inf
    beta = state.beta[k]
    old_dot, old_norm, dot, norm = moments_without(part, settings, state, own, k, beta, trial)
    old_evidence, old_square = screened_evidence(settings, state, old_dot, old_norm)
    evidence, square = screened_evidence(settings, state, dot, norm)
    return beyond_margin(log_set + (evidence - old_evidence), square + old_square, excess_of(problem, part))


@internal
def is_screening(work):
    """Whether any move is screened in this sweep."""
    found = False
    for group in range(len(SCREEN_NAMES)):
        found = found or work.screen[group] != 0
    return found


@internal
def follow_term(settings, state, work, k, old_beta):
    """Let the subset follow where term k, whose coefficient was old_beta, has become what it is."""
    if is_screening(work):
        part, own = problem_at(work.batch), work_at(work.batch_work)
        trial = settings.K_max
        build_phi(part, own, state.features[k], state.b[k], state.gamma[k], state.order[k], 0, trial)
        replace_term(part, own, k, old_beta, trial, state.beta[k])
        own.at_fit = 0


@internal
def follow_death(work, k, beta, last):
    """Let the subset follow where term k has died and the last took its place."""
    if is_screening(work):
        part, own = problem_at(work.batch), work_at(work.batch_work)
        replace_term(part, own, k, beta, last, 0.0)
        own.at_fit = 0


@internal
def count_proposal(problem, settings, state, work, group, passed, accepted):
    """Count a proposal; `passed` says whether all rows were looked at."""
    if settings.delayed == EXACT_ONLY:
        return
    screened = work.screen[group]
    tally = state.screen_tally[group, screened]
    tally[PROPOSED] += 1
    if screened != 0:
        tally[ROWS] += settings.batch
    if passed:
        tally[PASSED] += 1
        tally[ROWS] += problem.n_all
    if accepted:
        tally[ACCEPTED] += 1


@internal
def count_step(settings, state, work, d, accepted, rows):
    """Count a Langevin or walk step, and how far it led."""
    if settings.delayed == EXACT_ONLY:
        return
    screened = work.screen[SCREEN_WALK]
    tally = state.screen_tally[SCREEN_WALK, screened]
    tally[PROPOSED] += 1
    tally[PASSED] += 1
    tally[ROWS] += rows
    if accepted:
        tally[ACCEPTED] += 1
        size = 2 * d + 1
        total = 0.0
        for i in range(size):
            gap = work.point[POINT_THERE, i] - work.point[POINT_HERE, i]
            total += (gap * gap) * work.point[POINT_PRECISION, i]
        state.jump[screened] += total / size


@internal
def choose_screening(state):
    """Screen the groups in which screening gave more accepted moves, or longer steps, per row."""
    for group in range(len(SCREEN_NAMES)):
        plain, screened = state.screen_tally[group, 0], state.screen_tally[group, 1]
        # One is added to each count, so that a few chance events do not decide.
        gain = screened[ACCEPTED] + 1.0
        plain_gain = plain[ACCEPTED] + 1.0
        if group == SCREEN_WALK:
            gain = state.jump[1]
            plain_gain = state.jump[0]
        gain = gain * (plain[ROWS] + 1.0)
        plain_gain = plain_gain * (screened[ROWS] + 1.0)
        state.screened[group] = 1 if gain > WORTH_IT * plain_gain else 0


@internal
def forget_screening(state):
    """Set all counts to 0."""
    for screened in range(2):
        state.jump[screened] = 0.0
        for group in range(len(SCREEN_NAMES)):
            for count in range(N_COUNTS):
                state.screen_tally[group, screened, count] = 0


@internal
def plan_screening(settings, state, work, index, warmup):
    """Set which groups are screened in a sweep.

    If that is to be found out: none in the first third of warm-up, all in every other sweep of the second,
    those that it pays for from then on. Only the second third counts: in the first, a chain
    accepts much on its way to the posterior.
    """
    tuned = settings.delayed == DELAYED_IF_IT_PAYS
    if tuned and index == warmup // 3:
        forget_screening(state)
    if tuned and index == 2 * warmup // 3:
        choose_screening(state)
    for group in range(len(SCREEN_NAMES)):
        on = 1
        if tuned and index < warmup // 3:
            on = 0
        elif tuned and index < 2 * warmup // 3:
            on = index % 2
        elif tuned:
            on = state.screened[group]
        work.screen[group] = on


@internal
def begin_screening(problem, settings, state, work, index, warmup):
    """Draw the subset of a sweep, and what it needs of the fit."""
    plan_screening(settings, state, work, index, warmup)
    if is_screening(work):
        take_subset(problem, state, work)
        own = work_at(work.batch_work)
        own.at_fit = 0
        gather_fit(problem, work, problem_at(work.batch), own, state.K)
