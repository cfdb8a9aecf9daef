"""Changing one variable of a whole component: of all terms that have the same set of features.

A component of many terms can hardly leave its set term by term: on the way the data is fitted worse and the
prior counts one set more. Here one feature is exchanged in all of its terms at once; locations, scales and
coefficients stay.

The term that names the component is picked uniformly, so that a component is picked as often on the way back.
The new set must be nobody's yet: else the way back would have to split a component. Then the prior, in which
a component pays for its set by its order and the number of its terms, is the same on both sides.
"""

from __future__ import annotations

from raytpnn.engine.jit.function_table import unit
from raytpnn.engine.jit.signatures import CHAIN, FLAG, INTEGER
from raytpnn.engine.moves.change_features import log_pick
from raytpnn.engine.moves.delayed_acceptance import follow_term
from raytpnn.engine.moves.likelihood import likelihood_scale
from raytpnn.engine.moves.proposed_term import build_phi
from raytpnn.engine.records import COMPONENT, FIT_LOGLIK, FOR_COMPONENT
from raytpnn.engine.rows.feature_sets import draw_off_set, has_set, sort_set, terms_on_set
from raytpnn.engine.rows.row_passes import change_trial_fit, evaluate, take_trial_fit
from raytpnn.families.base import LIKELIHOOD
from raytpnn.numerics.elementary import log
from raytpnn.numerics.jit import internal
from raytpnn.numerics.random import uniforms

__all__ = ["change_components"]


@internal
def log_exchange_ratio(problem, here, there, d, old, new):
    """Log proposals of the ratio: `old` drawn off the set `there`, over `new` drawn off the set `here`."""
    return log_pick(problem, there, d, old) - log_pick(problem, here, d, new)


@internal
def is_taken(state, features, d):
    """Whether there is a component with this set."""
    return terms_on_set(state, features, d, -1) > 0


@internal
def exchange(features, d, old, new):
    """Replace feature `old` by `new`."""
    for i in range(d):
        if features[i] == old:
            features[i] = new


@internal
def copy_exchanged(state, work, k, old, new):
    """Set of term k, one feature exchanged, into work.trial_features, in the term's own order."""
    d = state.order[k]
    for i in range(d):
        work.trial_features[0, i] = state.features[k, i]
    exchange(work.trial_features[0], d, old, new)


@internal
def fit_exchanged(problem, settings, state, work, d, old, new):
    """Fit with the feature exchanged in all terms on work.sorted_set, into trial_fit.

    False if one of them has no mass. The terms' own basis functions stay: that of the trial is built anew for
    each of them.
    """
    trial = settings.K_max
    address = work.fit
    for k in range(state.K):
        if has_set(state, k, work.sorted_set[0], d):
            copy_exchanged(state, work, k, old, new)
            if not build_phi(problem, work, work.trial_features[0], state.b[k], state.gamma[k], d, 0, trial):
                return False
            change_trial_fit(problem, work, address, k, state.beta[k], trial, state.beta[k])
            address = work.trial_fit
    return True


@internal
def take_exchanged(problem, settings, state, work, d, old, new):
    """Exchange the feature in all terms on work.sorted_set, and take trial_fit over."""
    take_trial_fit(problem, work)
    for k in range(state.K):
        if has_set(state, k, work.sorted_set[0], d):
            exchange(state.features[k], d, old, new)
            build_phi(problem, work, state.features[k], state.b[k], state.gamma[k], d, 0, k)
            follow_term(settings, state, work, k, state.beta[k])


@unit(FLAG(*CHAIN, INTEGER))
def change_component(problem, settings, state, work, slot):
    """Try to exchange one feature of a component; returns acceptance."""
    K = state.K
    if K == 0:
        return False
    u, v = uniforms(state, FOR_COMPONENT, slot, 0)
    pick, w = uniforms(state, FOR_COMPONENT, slot, 1)
    named = min(int(u * K), K - 1)
    d = state.order[named]
    if d >= problem.p:
        return False
    here = state.features[named]
    there = work.trial_features[0]
    old = int(here[min(int(v * d), d - 1)])
    new = draw_off_set(problem, work, here, d, pick)
    if new < 0:
        return False
    copy_exchanged(state, work, named, old, new)
    if is_taken(state, there, d):
        return False
    log_ratio = log_exchange_ratio(problem, here, there, d, old, new)
    # The old set identifies the component's terms while their own sets change.
    sort_set(work, here, d)
    if not fit_exchanged(problem, settings, state, work, d, old, new):
        return False
    evaluate(problem, settings, state, work, work.trial_fit, 0, 0.0, 0, 0.0, LIKELIHOOD, 0, there, 0)
    loglik = work.sums[0]
    scale = likelihood_scale(settings, state)
    if not log(w) < log_ratio + scale * (loglik - state.scalar[FIT_LOGLIK]):
        return False
    take_exchanged(problem, settings, state, work, d, old, new)
    state.scalar[FIT_LOGLIK] = loglik
    return True


@internal
def change_components(problem, settings, state, work):
    """All attempts of a sweep."""
    for slot in range(settings.component_changes):
        state.tally[COMPONENT, 0] += 1
        if change_component(problem, settings, state, work, slot):
            state.tally[COMPONENT, 1] += 1
