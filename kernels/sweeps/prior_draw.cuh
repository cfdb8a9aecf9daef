// A whole state from the prior: what a replica at inverse temperature 0 does in the place of a sweep
// (raytpnn/engine/sweeps/prior_draw.py).
#pragma once

#include "moves/birth_death.cuh"
#include "moves/scalars.cuh"

namespace raytpnn {

// Scales, dispersion and intercept; those that are held keep their values. Returns the uniform that chooses
// the number of terms: the leader's work.
UNIT double prior_scalars(const Settings* settings, State* state, int attempt) {
    if (settings->learn_b_gamma) {
        const double variate = gamma_variate(state, FOR_SCALES, 2 * attempt, settings->b_gamma_shape);
        state->scalar[B_GAMMA] = settings->b_gamma_scale / variate;
    }
    if (settings->learn_sigma_beta2) {
        const double variate = gamma_variate(state, FOR_SCALES, 2 * attempt + 1, settings->sigma_beta2_shape);
        state->scalar[SIGMA_BETA2] = settings->sigma_beta2_scale / variate;
    }
    if (settings->dispersion) {
        const double variate = gamma_variate(state, FOR_NUISANCE, attempt, 0.5 * settings->v);
        state->scalar[NUISANCE] = 0.5 * settings->v_lambda / variate;
    }
    const Uniforms drawn = uniforms(state, FOR_INTERCEPT, attempt, 0);
    const double spread = 1.0 / sqrt(settings->intercept_precision);
    state->scalar[INTERCEPT] = settings->intercept_mean + spread * normal_quantile(drawn.u);
    return drawn.v;
}

// Number of terms by inversion, weights exp(-penalty K): the leader's work.
UNIT int prior_count(const Settings* settings, double u) {
    const double ratio = exp(-settings->log_count_penalty);
    const int most = (int)settings->K_max;
    double total = 0.0;
    double weight = 1.0;
    for (int K = 0; K <= most; ++K) {
        total += weight;
        weight *= ratio;
    }
    int K = 0;
    weight = 1.0;
    double below = weight;
    while (most > K && u * total >= below) {
        weight *= ratio;
        below += weight;
        ++K;
    }
    return K;
}

// Set of term k given those before it into the trial; returns its order: the leader's work.
UNIT int prior_set(int k, int slot) {
    const double sharing = chain.settings->sharing;
    const Uniforms drawn = uniforms(chain.state, FOR_NEW_SET, slot, 0);
    if (drawn.u * (1.0 + sharing * k) < sharing * k) {
        const int pick = (int)(drawn.v * k);
        return copy_set(pick < k - 1 ? pick : k - 1);
    }
    return draw_prior_set(slot, drawn.v);
}

// K terms; false if a factor has no mass.
UNIT bool prior_terms(int K, int attempt) {
    for (int k = 0; k < K; ++k) {
        const int slot = attempt * MOST_TERMS + k;
        if (leader()) chain.order = prior_set(k, slot);
        __syncthreads();
        const int d = chain.order;
        prior_factors(slot, d);
        if (!build_trial(d, 0, k)) return false;
        // The trial is still read where rows are multiplied.
        __syncthreads();
        if (leader()) {
            const double spread = sqrt(chain.state->scalar[SIGMA_BETA2]);
            take_trial(k, d, spread * normal_quantile(uniforms(chain.state, FOR_NEW_BETA, slot, 0).u));
        }
    }
    if (leader()) chain.state->K = K;
    __syncthreads();
    return true;
}

INTERNAL bool is_finite(double x) { return x - x == 0.0; }

// Replace the state by an independent draw from the prior, fit and log-likelihood included. Draws outside the
// support (a factor without mass, a log-likelihood that is not finite) are repeated; false, with an empty state,
// if no draw was in the support.
UNIT bool draw_from_prior() {
    for (int attempt = 0; attempt < MOST_DRAWS; ++attempt) {
        if (leader()) {
            const double u = prior_scalars(chain.settings, chain.state, attempt);
            chain.first = prior_count(chain.settings, u);
            chain.state->K = 0;
        }
        __syncthreads();
        const int K = chain.first;
        if (prior_terms(K, attempt)) {
            fit_from_terms(K, chain.state->scalar[INTERCEPT], chain.state->beta, fit_of());
            refresh_likelihood();
            if (is_finite(chain.sums[0])) return true;
        }
    }
    if (leader()) {
        chain.state->K = 0;
        chain.state->scalar[INTERCEPT] = chain.settings->intercept_mean;
    }
    __syncthreads();
    fit_from_terms(0, chain.state->scalar[INTERCEPT], chain.state->beta, fit_of());
    refresh_likelihood();
    return false;
}

}  // namespace raytpnn
