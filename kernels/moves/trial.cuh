// Building basis functions, and what a term's removal leaves (raytpnn/engine/moves/proposed_term.py).
#pragma once

#include "core/random.cuh"
#include "rows/rows.cuh"

namespace raytpnn {

// Multiply factors first ... d - 1 into a row of phi with those before; false if one has no mass.
UNIT bool build_phi(const int* features, const double* b, const double* gamma, int d, int first,
                    int row) {
    for (int j = first; j < d; ++j) {
        const double c = factor_table(j, features[j], b[j], gamma[j]);
        if (!(c >= SMALLEST_MEAN)) return false;
        __syncthreads();
        multiply_factor(features[j], j, row);
    }
    return true;
}

// Build the trial's basis function, in its own row.
INTERNAL bool build_trial(int d, int first, int row) {
    return build_phi(chain.trial_features, chain.trial_b, chain.trial_gamma, d, first, row);
}

// Location and scale of the trial's variable at `place` from their prior; any one thread may do it.
UNIT void prior_factor(int purpose, int slot, int place) {
    const State* state = chain.state;
    chain.trial_b[place] = uniforms(state, purpose, slot, 0).u;
    const double variate = gamma_variate(state, purpose, slot + GAMMA_SLOTS, chain.settings->a_gamma);
    chain.trial_gamma[place] = state->scalar[B_GAMMA] * variate;
}

// All d variables of a new term from their prior, one a thread.
INTERNAL void prior_factors(int slot, int d) {
    for (int j = threadIdx.x; j < d; j += blockDim.x) prior_factor(FOR_NEW_FACTOR, slot * MOST_VARIABLES + j, j);
    __syncthreads();
}

// Derivatives at the fit without term k, into the work space; the moments of its phi with them for the leader.
INTERNAL void moments_without(int k, double beta) {
    evaluate(fit_of(), k, beta, k, 0.0, DERIVATIVES + MOMENTS, k);
    if (leader()) {
        chain.old_moments[0] = chain.sums[1];
        chain.old_moments[1] = chain.sums[2];
    }
}

// Derivatives at the fit into the work space, unless they are there already.
INTERNAL void derivatives_at_fit() {
    if (chain.work->at_fit != 0) return;
    evaluate_at(fit_of(), DERIVATIVES);
    if (leader()) chain.work->at_fit = 1;
}

// Write the trial's numbers over term k: the leader's work.
INTERNAL void take_trial(int k, int d, double beta) {
    State* state = chain.state;
    state->order[k] = d;
    state->beta[k] = beta;
    for (int j = 0; j < d; ++j) {
        state->features[k][j] = chain.trial_features[j];
        state->b[k][j] = chain.trial_b[j];
        state->gamma[k][j] = chain.trial_gamma[j];
    }
}

}  // namespace raytpnn
