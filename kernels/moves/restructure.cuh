// Adding, deleting or changing a variable of one term, or taking another term's set
// (raytpnn/engine/moves/change_features.py).
#pragma once

#include "moves/coefficient.cuh"
#include "moves/likelihood.cuh"
#include "moves/screen.cuh"
#include "rows/sets.cuh"

namespace raytpnn {

// Log probability of drawing `feature` off the set of the first d features.
UNIT double log_pick(const int* features, int d, int feature) {
    const double weight = at<const double>(chain.problem->feature_weight)[feature];
    return log(weight / weight_off_set(features, d));
}

// Log prior of the trial's d features in the place of term k's set, given the other terms.
UNIT double log_prior_change(int k, int d) {
    const double proposed = log_set_weight(chain.trial_features, d, k);
    return proposed - log_set_weight(chain.state->features[k], (int)chain.state->order[k], k);
}

// Log proposals of the ratio for d -> d + 1 variables by adding `feature` to the set `small`.
UNIT double log_adding_ratio(const int* small, int d, int feature) {
    const Settings* settings = chain.settings;
    const double forward = log(settings->q_add) + log_pick(small, d, feature);
    const double backward = log(settings->q_delete / (d + 1.0));
    return backward - forward;
}

// Log proposals of that for d + 1 -> d variables: the reverse draws `feature` off the smaller set.
INTERNAL double log_deleting_ratio(const int* small, int d, int feature) {
    return -log_adding_ratio(small, d, feature);
}

// A proposed set: the move, the new order (0 if impossible), the first place that is new, the log ratio.
struct ProposedSet {
    int move, order, first;
    double log_ratio;
};

// Propose the set of another term, with factors from the prior: the leader's work. The way back takes the old set
// from another term that has it: if there is none, there is no way back.
UNIT ProposedSet propose_join(int k, int slot) {
    const State* state = chain.state;
    const int others = (int)state->K - 1;
    const int left = terms_on_set(state->features[k], (int)state->order[k], k);
    if (others < 1 || left == 0) return {JOINING, 0, 0, 0.0};
    const int pick = (int)(uniforms(state, FOR_RESTRUCTURE, slot, JOIN_ATTEMPT).v * others);
    int other = pick < others - 1 ? pick : others - 1;
    if (other >= k) ++other;
    const int d = copy_set(other);
    for (int j = 0; j < d; ++j) prior_factor(FOR_JOINED_FACTOR, slot * MOST_VARIABLES + j, j);
    const int joined = terms_on_set(state->features[other], d, k);
    return {JOINING, d, 0, log_prior_change(k, d) + log(left / (1.0 * joined))};
}

// Propose a set into the trial: the leader's work.
UNIT ProposedSet propose_set(int k, int slot) {
    const Settings* settings = chain.settings;
    const State* state = chain.state;
    const int d = (int)state->order[k];
    const int* features = state->features[k];
    int* trial = chain.trial_features;
    if (settings->sharing > 0.0 && uniforms(state, FOR_RESTRUCTURE, slot, JOIN_ATTEMPT).u < settings->q_join)
        return propose_join(k, slot);
    const Uniforms drawn = uniforms(state, FOR_RESTRUCTURE, slot, 0);
    const Uniforms more = uniforms(state, FOR_RESTRUCTURE, slot, 1);
    const int move = drawn.u < settings->q_add ? ADDING
                     : drawn.u < settings->q_add + settings->q_delete ? DELETING
                                                                      : CHANGING;
    // The variable at `place` goes; none does in Adding.
    const int pick = (int)(drawn.v * d);
    const int place = move == ADDING ? d : (pick < d - 1 ? pick : d - 1);
    int kept = 0;
    for (int j = 0; j < d; ++j) {
        if (j == place) continue;
        trial[kept] = features[j];
        chain.trial_b[kept] = state->b[k][j];
        chain.trial_gamma[kept] = state->gamma[k][j];
        ++kept;
    }
    if (move == DELETING) {
        if (kept == 0) return {move, 0, 0, 0.0};
        return {move, kept, 0, log_prior_change(k, kept) + log_deleting_ratio(trial, kept, features[place])};
    }
    if (kept >= settings->max_order || d >= chain.problem->p) return {move, 0, 0, 0.0};
    const int j = draw_off_set(features, d, more.u);
    if (j < 0) return {move, 0, 0, 0.0};
    trial[kept] = j;
    if (move == CHANGING && more.v < settings->q_keep) {
        // Much the same function if the two features go together: the way between near-twins.
        chain.trial_b[kept] = state->b[k][place];
        chain.trial_gamma[kept] = state->gamma[k][place];
    } else {
        prior_factor(FOR_RESTRUCTURE_FACTOR, slot, kept);
    }
    if (move == ADDING) return {move, d + 1, d, log_prior_change(k, d + 1) + log_adding_ratio(features, d, j)};
    const double picks = log_pick(trial, d, features[place]) - log_pick(features, d, j);
    return {move, d, 0, log_prior_change(k, d) + picks};
}

// Give the proposed set a coefficient, and accept or reject.
UNIT void try_restructure(int k, int slot) {
    const int d = chain.order, first = chain.first;
    const int trial = (int)chain.settings->K_max;
    if (first > 0) copy_phi(k, trial);
    if (!build_trial(d, first, trial)) return;
    const double old_beta = chain.state->beta[k];
    moments_without(k, old_beta);
    phi_moments(trial);
    if (leader()) {
        chain.beta = old_beta;
        if (chain.settings->conditional_beta) {
            const Uniforms drawn = uniforms(chain.state, FOR_RESTRUCTURE_BETA, slot, 0);
            chain.beta = draw_coefficient(drawn.u, drawn.v, chain.moments);
            chain.log_ratio += log_prior_over_proposal(chain.beta, chain.moments);
            chain.log_ratio -= log_prior_over_proposal(old_beta, chain.old_moments);
        }
    }
    __syncthreads();
    evaluate_change(k, old_beta, trial, chain.beta);
    if (leader()) {
        const double change = log_likelihood_change(old_beta, chain.old_moments, chain.beta, chain.moments);
        const double log_ratio = chain.log_ratio + likelihood_scale() * change;
        chain.accepted =
            log(uniforms(chain.state, FOR_RESTRUCTURE, slot, 2).u) < second_stage(group_of_move(), log_ratio);
        count_proposal(group_of_move(), true, chain.accepted);
        if (chain.accepted) {
            take_trial(k, d, chain.beta);
            chain.state->scalar[FIT_LOGLIK] += change;
            chain.state->tally[chain.move][1] += 1;
        }
    }
    __syncthreads();
    if (!chain.accepted) return;
    replace_term(k, old_beta, trial, chain.beta);
    follow_term(k, old_beta);
}

// Propose one change of the set of term k.
INTERNAL void restructure_once(int k, int slot) {
    if (leader()) {
        const ProposedSet proposed = propose_set(k, slot);
        chain.move = proposed.move;
        chain.order = proposed.order;
        chain.first = proposed.first;
        chain.log_ratio = proposed.log_ratio;
        chain.state->tally[proposed.move][0] += 1;
    }
    __syncthreads();
    if (chain.order == 0) return;
    if (is_screened(group_of_move()) && !restructure_passes(k, slot)) return;
    try_restructure(k, slot);
}

// Propose a change of the set of term k; several where screening makes them cheap.
INTERNAL void restructure(int k) {
    restructure_once(k, k);
    if (!is_screened(SCREEN_ADD_DELETE) || !is_screened(SCREEN_CHANGE)) return;
    for (int attempt = 1; attempt < chain.settings->screened_attempts; ++attempt) {
        // The leader is not to propose again before all have seen what came of the last one.
        __syncthreads();
        restructure_once(k, k + attempt * MOST_TERMS);
    }
}

}  // namespace raytpnn
