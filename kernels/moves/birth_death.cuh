// Birth of a term, random or stepwise, and death of one (raytpnn/engine/moves/birth_death.py).
#pragma once

#include "moves/coefficient.cuh"
#include "moves/likelihood.cuh"
#include "moves/screen.cuh"
#include "rows/set_table.cuh"
#include "rows/sets.cuh"

namespace raytpnn {

// Choosing a death at K + 1, over choosing a birth at K, times K + 1 for the unordered set of terms.
INTERNAL double log_count_ratio(long long K, long long K_max) {
    return log(((double)K + 1.0) / (double)(K_max - K));
}

// Everything of the ratio K -> K + 1 but likelihood and coefficient; term `skip` counts as not there.
UNIT double log_birth_ratio(const int* features, int d, int K, int skip) {
    const Settings* settings = chain.settings;
    double log_prior = log_set_weight(features, d, skip);
    const double stepwise = extension_weight(features, d, skip);
    double proposal = (settings->M * weighted_probability(features, d) + stepwise) / (settings->M + K);
    const double share = chain.problem->table_share;
    if (share > 0.0) proposal = (1.0 - share) * proposal + share * table_probability(features, d);
    if (settings->sharing > 0.0) {
        log_prior -= log(1.0 + settings->sharing * K);
        if (K > 0) {
            const double copied = terms_on_set(features, d, skip) / (1.0 * K);
            proposal = (1.0 - settings->q_copy) * proposal + settings->q_copy * copied;
        }
    }
    return log_prior - log(proposal) - settings->log_count_penalty + log_count_ratio(K, settings->K_max);
}

// Set of a term from the prior of one by itself into the trial; returns its order: the leader's work.
UNIT int draw_prior_set(int slot, double v) {
    const Settings* settings = chain.settings;
    const int p = (int)chain.problem->p;
    int* features = chain.trial_features;
    int d = 1;
    while (d < settings->max_order && v >= settings->order_cumulative[d - 1]) ++d;
    for (int i = 0; i < d; ++i) {
        // The i-th of the features not yet taken: step over those that are.
        const double pick = uniforms(chain.state, FOR_NEW_SET, slot, 1 + i).u;
        const int place = (int)(pick * (p - i));
        int value = place < p - i - 1 ? place : p - i - 1;
        sort_set(features, i);
        for (int s = 0; s < i; ++s)
            if (value >= chain.sorted_set[s]) ++value;
        features[i] = value;
    }
    return d;
}

// As draw_prior_set, with features drawn by weight; 0 if rounding led into the set: the leader's work.
UNIT int draw_weighted_set(int slot, double v) {
    const Settings* settings = chain.settings;
    int d = 1;
    while (d < settings->max_order && v >= settings->order_cumulative[d - 1]) ++d;
    if (d > MOST_IN_TABLE) return draw_prior_set(slot, v);
    int* features = chain.trial_features;
    for (int i = 0; i < d; ++i) {
        const int j = draw_off_set(features, i, uniforms(chain.state, FOR_NEW_SET, slot, 1 + i).u);
        if (j < 0) return 0;
        features[i] = j;
    }
    return d;
}

// Set of a new term into the trial; returns its order, 0 if there is none: the leader's work.
UNIT int draw_new_set(int slot) {
    const Settings* settings = chain.settings;
    const State* state = chain.state;
    const int K = (int)state->K;
    const Uniforms drawn = uniforms(state, FOR_NEW_SET, slot, 0);
    const int pick = (int)(drawn.v * K);
    const int k = pick < K - 1 ? pick : K - 1;
    if (settings->sharing > 0.0 && K > 0 && uniforms(state, FOR_NEW_SET, slot, COPY_ATTEMPT).u < settings->q_copy)
        return copy_set(k);
    if (chain.problem->table_share > 0.0) {
        const Uniforms tabled = uniforms(state, FOR_NEW_SET, slot, TABLE_ATTEMPT);
        if (tabled.u < chain.problem->table_share) return draw_table_set(tabled.v);
    }
    if (drawn.u * (settings->M + K) < settings->M)
        return chain.problem->weighted_births ? draw_weighted_set(slot, drawn.v) : draw_prior_set(slot, drawn.v);
    const int d = (int)state->order[k];
    if (d >= settings->max_order) return 0;
    const int j = draw_off_set(state->features[k], d, uniforms(state, FOR_NEW_SET, slot, 1).u);
    if (j < 0) return 0;
    copy_set(k);
    chain.trial_features[d] = j;
    return d + 1;
}

// Propose a term into the trial; false if there is none.
UNIT bool propose_birth(int slot) {
    if (leader()) chain.order = draw_new_set(slot);
    __syncthreads();
    const int d = chain.order;
    if (d == 0) {
        // The leader may be at its next proposal at once: not before all have seen this one.
        __syncthreads();
        return false;
    }
    prior_factors(slot, d);
    return true;
}

// Try to add the trial; returns acceptance.
UNIT bool try_birth(int slot) {
    const int K = (int)chain.state->K, d = chain.order;
    const int trial = (int)chain.settings->K_max;
    if (!build_trial(d, 0, trial)) return false;
    derivatives_at_fit();
    phi_moments(trial);
    if (leader()) {
        const Uniforms drawn = uniforms(chain.state, FOR_NEW_BETA, slot, 0);
        chain.beta = draw_coefficient(drawn.u, drawn.v, chain.moments);
    }
    __syncthreads();
    evaluate_change(trial, 0.0, trial, chain.beta);
    if (leader()) {
        const double beta = chain.beta;
        const double change = log_likelihood_change(0.0, chain.moments, beta, chain.moments);
        double log_ratio = likelihood_scale() * change + log_birth_ratio(chain.trial_features, d, K, trial);
        log_ratio += log_prior_over_proposal(beta, chain.moments);
        chain.accepted =
            log(uniforms(chain.state, FOR_BIRTH_DEATH, slot, 1).u) < second_stage(SCREEN_BIRTH_DEATH, log_ratio);
        count_proposal(SCREEN_BIRTH_DEATH, true, chain.accepted);
        if (chain.accepted) {
            chain.work->at_fit = 0;
            take_trial(K, d, beta);
            chain.state->K = K + 1;
            chain.state->scalar[FIT_LOGLIK] += change;
        }
    }
    __syncthreads();
    if (!chain.accepted) return false;
    replace_term(K, 0.0, trial, chain.beta);
    follow_term(K, 0.0);
    return true;
}

// Try to remove term k; returns acceptance.
UNIT bool try_death(int slot, int k) {
    const int last = (int)chain.state->K - 1;
    const double beta = chain.state->beta[k];
    moments_without(k, beta);
    evaluate_change(k, beta, k, 0.0);
    if (leader()) {
        const double change = log_likelihood_change(beta, chain.old_moments, 0.0, chain.old_moments);
        double log_ratio = likelihood_scale() * change;
        log_ratio -= log_birth_ratio(chain.state->features[k], (int)chain.state->order[k], last, k);
        log_ratio -= log_prior_over_proposal(beta, chain.old_moments);
        chain.accepted =
            log(uniforms(chain.state, FOR_BIRTH_DEATH, slot, 1).u) < second_stage(SCREEN_BIRTH_DEATH, log_ratio);
        count_proposal(SCREEN_BIRTH_DEATH, true, chain.accepted);
        chain.work->at_fit = 0;
        if (chain.accepted) {
            // The last term moves into the gap.
            chain.state->order[k] = chain.state->order[last];
            chain.state->beta[k] = chain.state->beta[last];
            for (int j = 0; j < chain.state->order[last]; ++j) {
                chain.state->features[k][j] = chain.state->features[last][j];
                chain.state->b[k][j] = chain.state->b[last][j];
                chain.state->gamma[k][j] = chain.state->gamma[last][j];
            }
            chain.state->K = last;
            chain.state->scalar[FIT_LOGLIK] += change;
        }
    }
    __syncthreads();
    if (!chain.accepted) return false;
    replace_term(k, beta, last, 0.0);
    follow_death(k, beta, last);
    return true;
}

// Propose a term, screen it where that is done, and try to add it; returns acceptance.
INTERNAL bool birth(int slot) {
    if (!propose_birth(slot)) return false;
    if (is_screened(SCREEN_BIRTH_DEATH)) {
        const int trial = (int)chain.settings->K_max;
        if (leader()) chain.log_ratio = log_birth_ratio(chain.trial_features, chain.order, (int)chain.state->K, trial);
        if (!birth_passes(slot, chain.order)) return false;
    }
    return try_birth(slot);
}

// Screen the death of term k where that is done, and try it; returns acceptance.
INTERNAL bool death(int slot, int k) {
    if (is_screened(SCREEN_BIRTH_DEATH)) {
        const State* state = chain.state;
        if (leader())
            chain.log_ratio = log_birth_ratio(state->features[k], (int)state->order[k], (int)state->K - 1, k);
        if (!death_passes(slot, k)) return false;
    }
    return try_death(slot, k);
}

// All attempts of a sweep. Every thread draws what decides between birth and death.
INTERNAL void birth_or_death() {
    if (leader()) chain.work->at_fit = 0;
    for (int slot = 0; slot < chain.settings->birth_death_attempts; ++slot) {
        const int K = (int)chain.state->K;
        const Uniforms drawn = uniforms(chain.state, FOR_BIRTH_DEATH, slot, 0);
        bool accepted;
        int move;
        if (drawn.u * (double)chain.settings->K_max >= K) {
            accepted = birth(slot);
            move = BIRTH;
        } else {
            const int pick = (int)(drawn.v * K);
            accepted = death(slot, pick < K - 1 ? pick : K - 1);
            move = DEATH;
        }
        if (leader()) {
            chain.state->tally[move][0] += 1;
            if (accepted) chain.state->tally[move][1] += 1;
        }
    }
}

}  // namespace raytpnn
