// Birth of a term, random or stepwise, and death of one (raytpnn/engine/moves/birth_death.py).
#pragma once

#include "coefficient.cuh"
#include "likelihood.cuh"
#include "sets.cuh"
#include "trial.cuh"

namespace raytpnn {

// Choosing a death at K + 1, over choosing a birth at K, times K + 1 for the unordered set of terms.
INTERNAL double log_count_ratio(long long K, long long K_max) {
    return log(((double)K + 1.0) / (double)(K_max - K));
}

// Everything of the ratio K -> K + 1 but likelihood and coefficient; term `skip` counts as not there.
UNIT double log_birth_ratio(const Chain& chain, const int* features, int d, int K, int skip) {
    const Settings* settings = chain.settings;
    const double log_prior = settings->log_set_prior[d];
    const double stepwise = extension_weight(chain, features, d, skip);
    const double log_proposal = log((settings->M * exp(log_prior) + stepwise) / (settings->M + K));
    return log_prior - log_proposal - settings->log_count_penalty + log_count_ratio(K, settings->K_max);
}

// Set of a new term into the trial; returns its order, 0 if there is none: the leader's work.
UNIT int draw_new_set(Chain& chain, int slot) {
    const Settings* settings = chain.settings;
    const State* state = chain.state;
    const int K = (int)state->K;
    const int most = (int)settings->max_order;
    const int p = (int)chain.problem->p;
    int* features = chain.trial_features;
    const Uniforms drawn = uniforms(state, FOR_NEW_SET, slot, 0);
    if (drawn.u * (settings->M + K) < settings->M) {
        int d = 1;
        while (d < most && drawn.v >= settings->order_cumulative[d - 1]) ++d;
        for (int i = 0; i < d; ++i) {
            // The i-th of the features not yet taken: step over those that are.
            const double pick = uniforms(state, FOR_NEW_SET, slot, 1 + i).u;
            const int place = (int)(pick * (p - i));
            int value = place < p - i - 1 ? place : p - i - 1;
            sort_set(chain, features, i);
            for (int s = 0; s < i; ++s)
                if (value >= chain.sorted_set[s]) ++value;
            features[i] = value;
        }
        return d;
    }
    const int pick = (int)(drawn.v * K);
    const int k = pick < K - 1 ? pick : K - 1;
    const int d = (int)state->order[k];
    if (d >= most) return 0;
    const int j = draw_off_set(chain, state->features[k], d, uniforms(state, FOR_NEW_SET, slot, 1).u);
    if (j < 0) return 0;
    for (int i = 0; i < d; ++i) features[i] = state->features[k][i];
    features[d] = j;
    return d + 1;
}

// Try to add a term, with the derivatives at the fit in the work space; returns acceptance.
UNIT bool birth(Chain& chain, int slot) {
    const Settings* settings = chain.settings;
    State* state = chain.state;
    const int K = (int)state->K;
    if (leader()) chain.order = draw_new_set(chain, slot);
    __syncthreads();
    const int d = chain.order;
    if (d == 0) {
        // The leader may be at its next proposal at once: not before all have seen this one.
        __syncthreads();
        return false;
    }
    prior_factors(chain, slot, d);
    const int trial = (int)settings->K_max;
    if (!build_trial(chain, d, 0, trial)) return false;
    phi_moments(chain, trial);
    const double dot = chain.moments[0], norm = chain.moments[1];
    double scale = 1.0, prior_precision = 1.0, precision = 1.0, mean = 0.0;
    if (leader()) {
        scale = state->scalar[TEMPERATURE] / state->scalar[NUISANCE];
        prior_precision = 1.0 / state->scalar[SIGMA_BETA2];
        precision = scale * norm + prior_precision;
        mean = scale * dot / precision;
        const Uniforms drawn = uniforms(state, FOR_NEW_BETA, slot, 0);
        chain.beta = draw_coefficient(settings, drawn.u, drawn.v, mean, precision, prior_precision);
    }
    __syncthreads();
    const double beta = chain.beta;
    evaluate_change(chain, trial, 0.0, trial, beta);
    if (leader()) {
        const double change = log_likelihood_change(chain, {trial, 0.0, 0.0, 0.0}, {trial, beta, dot, norm});
        double log_ratio = scale * change + log_birth_ratio(chain, chain.trial_features, d, K, trial);
        log_ratio += log_prior_over_proposal(settings, beta, mean, precision, prior_precision);
        chain.accepted = log(uniforms(state, FOR_BIRTH_DEATH, slot, 1).u) < log_ratio;
        if (chain.accepted) {
            take_trial(chain, K, d, beta);
            state->K = K + 1;
            state->scalar[FIT_LOGLIK] += change;
        }
    }
    __syncthreads();
    if (!chain.accepted) return false;
    replace_term(chain, K, 0.0, trial, beta);
    return true;
}

// Try to remove term k; returns acceptance.
UNIT bool death(Chain& chain, int slot, int k) {
    const Settings* settings = chain.settings;
    State* state = chain.state;
    const int last = (int)state->K - 1;
    const double beta = state->beta[k];
    moments_without(chain, k, beta);
    const double dot = chain.sums[1], norm = chain.sums[2];
    evaluate_change(chain, k, beta, k, 0.0);
    if (leader()) {
        const double scale = state->scalar[TEMPERATURE] / state->scalar[NUISANCE];
        const double prior_precision = 1.0 / state->scalar[SIGMA_BETA2];
        const double precision = scale * norm + prior_precision;
        const double mean = scale * dot / precision;
        const double change = log_likelihood_change(chain, {k, beta, dot, norm}, {k, 0.0, 0.0, 0.0});
        double log_ratio = scale * change;
        log_ratio -= log_birth_ratio(chain, state->features[k], (int)state->order[k], last, k);
        log_ratio -= log_prior_over_proposal(settings, beta, mean, precision, prior_precision);
        chain.accepted = log(uniforms(state, FOR_BIRTH_DEATH, slot, 1).u) < log_ratio;
        if (chain.accepted) {
            // The last term moves into the gap.
            state->order[k] = state->order[last];
            state->beta[k] = state->beta[last];
            for (int j = 0; j < state->order[last]; ++j) {
                state->features[k][j] = state->features[last][j];
                state->b[k][j] = state->b[last][j];
                state->gamma[k][j] = state->gamma[last][j];
            }
            state->K = last;
            state->scalar[FIT_LOGLIK] += change;
        }
    }
    __syncthreads();
    if (!chain.accepted) return false;
    replace_term(chain, k, beta, last, 0.0);
    return true;
}

// All attempts of a sweep. Every thread draws what decides between birth and death.
INTERNAL void birth_or_death(Chain& chain) {
    const Settings* settings = chain.settings;
    State* state = chain.state;
    bool at_fit = false;
    for (int slot = 0; slot < settings->birth_death_attempts; ++slot) {
        const int K = (int)state->K;
        const Uniforms drawn = uniforms(state, FOR_BIRTH_DEATH, slot, 0);
        bool accepted;
        int move;
        if (drawn.u * (double)settings->K_max >= K) {
            if (!at_fit) evaluate_at(chain, fit_of(chain), DERIVATIVES);
            accepted = birth(chain, slot);
            move = BIRTH;
            at_fit = !accepted;
        } else {
            const int pick = (int)(drawn.v * K);
            accepted = death(chain, slot, pick < K - 1 ? pick : K - 1);
            move = DEATH;
            at_fit = false;
        }
        if (leader()) {
            state->tally[move][0] += 1;
            if (accepted) state->tally[move][1] += 1;
        }
    }
}

}  // namespace raytpnn
