// Changing one variable of a whole component: of all terms that have the same set of features
// (raytpnn/engine/moves/component.py).
#pragma once

#include "moves/restructure.cuh"

namespace raytpnn {

// Put feature `proposed` in the place of `old`, wherever that stands.
INTERNAL void exchange_feature(int* features, int d, int old, int proposed) {
    for (int i = 0; i < d; ++i)
        if (features[i] == old) features[i] = proposed;
}

// Log proposals of the ratio: `old` drawn off the set `there`, over `proposed` drawn off the set `here`.
INTERNAL double log_exchange_ratio(const int* here, const int* there, int d, int old, int proposed) {
    return log_pick(there, d, old) - log_pick(here, d, proposed);
}

// Propose another feature for a component, which is known by chain.sorted_set from then on; chain.order is 0 if it is
// impossible: the leader's work.
UNIT void propose_exchange(int slot) {
    const State* state = chain.state;
    const int K = (int)state->K;
    chain.order = 0;
    if (K == 0) return;
    const Uniforms drawn = uniforms(state, FOR_COMPONENT, slot, 0);
    const int picked = (int)(drawn.u * K);
    const int named = picked < K - 1 ? picked : K - 1;
    const int d = (int)state->order[named];
    if (d >= chain.problem->p) return;
    const int* here = state->features[named];
    const int place = (int)(drawn.v * d);
    const int old = here[place < d - 1 ? place : d - 1];
    const int proposed = draw_off_set(here, d, uniforms(state, FOR_COMPONENT, slot, 1).u);
    if (proposed < 0) return;
    copy_set(named);
    exchange_feature(chain.trial_features, d, old, proposed);
    if (terms_on_set(chain.trial_features, d, -1) > 0) return;
    chain.log_ratio = log_exchange_ratio(here, chain.trial_features, d, old, proposed);
    sort_set(here, d);
    chain.old_feature = old;
    chain.new_feature = proposed;
    chain.order = d;
}

// Fit with the feature exchanged in all terms of the component, into trial_fit; false if one has no mass.
UNIT bool fit_exchanged() {
    const State* state = chain.state;
    const int trial = (int)chain.settings->K_max;
    const double* fit = fit_of();
    for (int k = 0; k < state->K; ++k) {
        if (!has_set(k, chain.sorted_set, chain.order)) continue;
        // Some may still be building the one before.
        __syncthreads();
        if (leader()) exchange_feature(chain.trial_features, copy_set(k), chain.old_feature, chain.new_feature);
        __syncthreads();
        if (!build_phi(chain.trial_features, state->b[k], state->gamma[k], chain.order, 0, trial)) return false;
        change_trial_fit(fit, k, state->beta[k], trial, state->beta[k]);
        fit = at<const double>(chain.work->trial_fit);
    }
    return true;
}

// Build the basis functions of the component anew, whose feature the leader has exchanged, and take trial_fit over.
UNIT void take_exchanged() {
    const State* state = chain.state;
    take_trial_fit();
    for (int k = 0; k < state->K; ++k) {
        if (!has_set(k, chain.sorted_set, chain.order)) continue;
        build_phi(state->features[k], state->b[k], state->gamma[k], chain.order, 0, k);
        follow_term(k, state->beta[k]);
    }
}

// Judge the exchange by the log-likelihood at chain.sums[0], and note it in the terms and in the set by which the
// component is known: the leader's work.
UNIT void judge_exchange(int slot) {
    State* state = chain.state;
    const double change = chain.sums[0] - state->scalar[FIT_LOGLIK];
    chain.accepted =
        log(uniforms(state, FOR_COMPONENT, slot, 1).v) < chain.log_ratio + likelihood_scale() * change;
    if (!chain.accepted) return;
    for (int k = 0; k < state->K; ++k)
        if (has_set(k, chain.sorted_set, chain.order))
            exchange_feature(state->features[k], chain.order, chain.old_feature, chain.new_feature);
    exchange_feature(chain.sorted_set, chain.order, chain.old_feature, chain.new_feature);
    state->scalar[FIT_LOGLIK] = chain.sums[0];
    state->tally[COMPONENT][1] += 1;
}

// Try to exchange one feature of a component.
UNIT void change_component(int slot) {
    // The leader is not to propose before all have seen what came of the move before.
    __syncthreads();
    if (leader()) {
        chain.state->tally[COMPONENT][0] += 1;
        propose_exchange(slot);
    }
    __syncthreads();
    if (chain.order == 0 || !fit_exchanged()) return;
    evaluate_at(at<const double>(chain.work->trial_fit), LIKELIHOOD);
    if (leader()) judge_exchange(slot);
    __syncthreads();
    if (chain.accepted) take_exchanged();
}

// All attempts of a sweep.
INTERNAL void change_components() {
    if (!(chain.settings->sharing > 0.0)) return;
    for (int slot = 0; slot < chain.settings->component_changes; ++slot) change_component(slot);
}

}  // namespace raytpnn
