"""One pass of the sampler, and a block of them."""

from __future__ import annotations

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.pointers import problem_at
from raytpnn.engine.jit.signatures import CHAIN, FLAG, NOTHING
from raytpnn.engine.moves.birth_death import birth_or_death
from raytpnn.engine.moves.change_component import change_components
from raytpnn.engine.moves.change_features import change_outputs, restructure
from raytpnn.engine.moves.delayed_acceptance import begin_screening
from raytpnn.engine.moves.joint_beta import joint_beta
from raytpnn.engine.moves.langevin import langevin
from raytpnn.engine.moves.proposed_term import build_phi
from raytpnn.engine.moves.random_walk import walk
from raytpnn.engine.moves.refit_factor import refit_factor
from raytpnn.engine.moves.scalars import draw_nuisance, draw_scales, refresh_likelihood, update_intercept
from raytpnn.engine.records import N_SCALARS, SCREEN_WALK, STOP, SWEEPS_DONE, TERMS
from raytpnn.engine.rows.outputs import intercept_of, select_output, spread_coefficients
from raytpnn.engine.rows.row_passes import fit_from_terms
from raytpnn.engine.rows.subset import take_subset
from raytpnn.engine.sweeps.watched_rows import watch_rows, watch_terms
from raytpnn.numerics.jit import compiled, internal

__all__ = ["begin_block", "keep_draw", "run_block", "sweep"]


@internal
def fit_outputs(problem, settings, state, work):
    """Fit of every output from the terms; the first is at hand afterwards."""
    for output in range(settings.outputs - 1, -1, -1):
        select_output(problem, settings, work, output)
        spread_coefficients(state, work, work.vector[0])
        fit_from_terms(problem, work, state.K, intercept_of(state, output), work.vector[0], work.fit)


@unit(NOTHING(*CHAIN))
def begin_block(problem, settings, state, work):
    """Recompute phi, fit and log-likelihood from the terms: a block depends on its checkpoint alone."""
    for k in range(state.K):
        build_phi(problem, work, state.features[k], state.b[k], state.gamma[k], state.order[k], 0, k)
    fit_outputs(problem, settings, state, work)
    refresh_likelihood(problem, settings, state, work)


@unit(FLAG(*CHAIN, FLAG))
def sweep(problem, settings, state, work, warming_up):
    """One pass over all moves; False if it was stopped half-way."""
    if settings.birth_death_attempts > 0:
        birth_or_death(problem, settings, state, work)
    for k in range(state.K):
        if work.control[STOP] != 0:
            return False
        select_output(problem, settings, work, state.output[k])
        if settings.restructure:
            restructure(problem, settings, state, work, k)
        if settings.langevin:
            if work.screen[SCREEN_WALK] != 0:
                walk(problem, settings, state, work, k, warming_up)
            elif settings.factor_steps > 0:
                refit_factor(problem, settings, state, work, k, warming_up)
            else:
                langevin(problem, settings, state, work, k, warming_up)
    # Terms of a component may belong to several outputs, whose fits would all change.
    if settings.sharing > 0.0 and settings.outputs == 1:
        change_components(problem, settings, state, work)
    if settings.outputs > 1:
        change_outputs(problem, settings, state, work)
    every = settings.joint_beta_every
    if every > 0 and int(state.stream[3]) % every == 0:
        joint_beta(problem, settings, state, work, warming_up)
    if settings.intercept:
        update_intercept(problem, settings, state, work)
    else:
        refresh_likelihood(problem, settings, state, work)
    if settings.nuisance:
        draw_nuisance(problem, settings, state, work)
    draw_scales(settings, state, work)
    return True


@internal
def keep_draw(problem, state, work, record, row):
    """Copy the state into a row of the record, and what it says at the watched rows."""
    K = state.K
    record.K[row] = K
    for i in range(N_SCALARS):
        record.scalar[row, i] = state.scalar[i]
    for c in range(len(record.intercepts[row])):
        record.intercepts[row, c] = intercept_of(state, c)
    for k in range(K):
        record.order[row, k] = state.order[k]
        record.output[row, k] = state.output[k]
        record.beta[row, k] = state.beta[k]
        for j in range(state.order[k]):
            record.features[row, k, j] = state.features[k, j]
            record.b[row, k, j] = state.b[k, j]
            record.gamma[row, k, j] = state.gamma[k, j]
    if len(record.watched) > 0:
        if sees_subsets_alone(work):
            watch_terms(problem, state, work, record.watched, record.fit[row], record.size[row])
        else:
            watch_rows(problem, work, K, state.beta[:], record, row)


@internal
def sees_subsets_alone(work):
    """Whether the chain's scratch space is for a subset, and there is none for all rows."""
    return work.batch != 0 and work.batch_work == 0


@internal
def sweep_subset(problem, settings, state, work, warming_up):
    """One pass over all moves on a new subset of the rows, as if it were all there is."""
    take_subset(problem, state, work)
    part = problem_at(work.batch)
    begin_block(part, settings, state, work)
    return sweep(part, settings, state, work, warming_up)


@internal
def next_sweep(problem, settings, state, work, index, warmup):
    """One sweep, on all rows or on a subset; False if it was stopped half-way."""
    if sees_subsets_alone(work):
        return sweep_subset(problem, settings, state, work, index < warmup)
    if work.batch != 0:
        begin_screening(problem, settings, state, work, index, warmup)
    return sweep(problem, settings, state, work, index < warmup)


@compiled
def run_block(problem, settings, state, work, record, first, sweeps, warmup, thin):
    """Sweeps first ... first + sweeps - 1; returns (sweeps done, draws kept)."""
    if not sees_subsets_alone(work):
        begin_block(problem, settings, state, work)
    kept = 0
    for i in range(first, first + sweeps):
        state.stream[3] = i
        if work.control[STOP] != 0 or not next_sweep(problem, settings, state, work, i, warmup):
            return i - first, kept
        if i >= warmup and (i - warmup + 1) % thin == 0:
            keep_draw(problem, state, work, record, kept)
            kept += 1
        work.control[SWEEPS_DONE] = i + 1
        work.control[TERMS] = state.K
    return sweeps, kept
