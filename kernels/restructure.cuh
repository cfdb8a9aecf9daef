// Adding, deleting or changing a variable of one term (raytpnn/engine/moves/restructure.py).
#pragma once

#include "coefficient.cuh"
#include "likelihood.cuh"
#include "sets.cuh"
#include "trial.cuh"

namespace raytpnn {

// Log probability of drawing `feature` off the set of the first d features.
UNIT double log_pick(const Chain& chain, const int* features, int d, int feature) {
    const double weight = at<const double>(chain.problem->feature_weight)[feature];
    return log(weight / weight_off_set(chain, features, d));
}

// Set part of the ratio for d -> d + 1 variables by adding `feature` to the set `small`.
UNIT double log_adding_ratio(const Chain& chain, const int* small, int d, int feature) {
    const Settings* settings = chain.settings;
    const double forward = log(settings->q_add) + log_pick(chain, small, d, feature);
    const double backward = log(settings->q_delete / (d + 1.0));
    return settings->log_set_prior[d + 1] - settings->log_set_prior[d] + backward - forward;
}

// Set part of the ratio for d + 1 -> d variables: the reverse draws `feature` off the smaller set.
INTERNAL double log_deleting_ratio(const Chain& chain, const int* small, int d, int feature) {
    return -log_adding_ratio(chain, small, d, feature);
}

// A proposed set: the move, the new order (0 if impossible), the first place that is new, the log ratio.
struct ProposedSet {
    int move, order, first;
    double log_ratio;
};

// Propose a set into the trial: the leader's work.
UNIT ProposedSet propose_set(Chain& chain, int k) {
    const Settings* settings = chain.settings;
    const State* state = chain.state;
    const int d = (int)state->order[k];
    const int* features = state->features[k];
    int* trial = chain.trial_features;
    const Uniforms drawn = uniforms(state, FOR_RESTRUCTURE, k, 0);
    const Uniforms more = uniforms(state, FOR_RESTRUCTURE, k, 1);
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
        return {move, kept, 0, log_deleting_ratio(chain, trial, kept, features[place])};
    }
    if (kept >= settings->max_order || d >= chain.problem->p) return {move, 0, 0, 0.0};
    const int j = draw_off_set(chain, features, d, more.u);
    if (j < 0) return {move, 0, 0, 0.0};
    trial[kept] = j;
    if (move == CHANGING && more.v < settings->q_keep) {
        // Much the same function if the two features go together: the way between near-twins.
        chain.trial_b[kept] = state->b[k][place];
        chain.trial_gamma[kept] = state->gamma[k][place];
    } else {
        prior_factor(chain, FOR_RESTRUCTURE_FACTOR, k, kept);
    }
    if (move == ADDING) return {move, d + 1, d, log_adding_ratio(chain, features, d, j)};
    return {move, d, 0, log_pick(chain, trial, d, features[place]) - log_pick(chain, features, d, j)};
}

// Give the proposed set a coefficient, and accept or reject.
UNIT void try_restructure(Chain& chain, int k, int d, int first) {
    const Settings* settings = chain.settings;
    State* state = chain.state;
    const int trial = (int)settings->K_max;
    if (first > 0) copy_phi(chain, k, trial);
    if (!build_trial(chain, d, first, trial)) return;
    const double old_beta = state->beta[k];
    moments_without(chain, k, old_beta);
    phi_moments(chain, trial);
    const double old_dot = chain.sums[1], old_norm = chain.sums[2];
    const double dot = chain.moments[0], norm = chain.moments[1];
    double beta = old_beta;
    if (settings->conditional_beta) {
        if (leader()) {
            const double scale = state->scalar[TEMPERATURE] / state->scalar[NUISANCE];
            const double prior_precision = 1.0 / state->scalar[SIGMA_BETA2];
            const double precision = scale * norm + prior_precision;
            const double mean = scale * dot / precision;
            const double old_precision = scale * old_norm + prior_precision;
            const double old_mean = scale * old_dot / old_precision;
            const Uniforms drawn = uniforms(state, FOR_RESTRUCTURE_BETA, k, 0);
            chain.beta = draw_coefficient(settings, drawn.u, drawn.v, mean, precision, prior_precision);
            chain.log_ratio += log_prior_over_proposal(settings, chain.beta, mean, precision, prior_precision);
            chain.log_ratio -= log_prior_over_proposal(settings, old_beta, old_mean, old_precision, prior_precision);
        }
        __syncthreads();
        beta = chain.beta;
    }
    evaluate_change(chain, k, old_beta, trial, beta);
    if (leader()) {
        const double scale = state->scalar[TEMPERATURE] / state->scalar[NUISANCE];
        const double change =
            log_likelihood_change(chain, {k, old_beta, old_dot, old_norm}, {trial, beta, dot, norm});
        chain.accepted = log(uniforms(state, FOR_RESTRUCTURE, k, 2).u) < chain.log_ratio + scale * change;
        if (chain.accepted) {
            take_trial(chain, k, d, beta);
            state->scalar[FIT_LOGLIK] += change;
            state->tally[chain.move][1] += 1;
        }
    }
    __syncthreads();
    if (chain.accepted) replace_term(chain, k, old_beta, trial, beta);
}

// Propose one change of the set of term k.
INTERNAL void restructure(Chain& chain, int k) {
    if (leader()) {
        const ProposedSet proposed = propose_set(chain, k);
        chain.move = proposed.move;
        chain.order = proposed.order;
        chain.first = proposed.first;
        chain.log_ratio = proposed.log_ratio;
        chain.state->tally[proposed.move][0] += 1;
    }
    __syncthreads();
    if (chain.order > 0)
        try_restructure(chain, k, chain.order, chain.first);
    else
        // The leader may be at its next proposal at once: not before all have seen this one.
        __syncthreads();
}

}  // namespace raytpnn
