// Building basis functions, and what a term's removal leaves (raytpnn/engine/moves/trial.py).
#pragma once

#include "random.cuh"
#include "rows.cuh"

namespace raytpnn {

// Multiply factors first ... d - 1 into a row of phi with those before; false if one has no mass.
UNIT bool build_phi(Chain& chain, const int* features, const double* b, const double* gamma, int d, int first,
                    int row) {
    for (int j = first; j < d; ++j) {
        const double c = factor_table(chain, j, features[j], b[j], gamma[j]);
        if (!(c >= SMALLEST_MEAN)) return false;
        __syncthreads();
        multiply_factor(chain, features[j], j, row);
    }
    return true;
}

// Build the trial's basis function, in its own row.
INTERNAL bool build_trial(Chain& chain, int d, int first, int row) {
    return build_phi(chain, chain.trial_features, chain.trial_b, chain.trial_gamma, d, first, row);
}

// Location and scale of the trial's variable at `place` from their prior; any one thread may do it.
UNIT void prior_factor(Chain& chain, int purpose, int slot, int place) {
    const State* state = chain.state;
    chain.trial_b[place] = uniforms(state, purpose, slot, 0).u;
    const double variate = gamma_variate(state, purpose, slot + GAMMA_SLOTS, chain.settings->a_gamma);
    chain.trial_gamma[place] = state->scalar[B_GAMMA] * variate;
}

// All d variables of a new term from their prior, one a thread.
INTERNAL void prior_factors(Chain& chain, int slot, int d) {
    for (int j = threadIdx.x; j < d; j += blockDim.x) prior_factor(chain, FOR_NEW_FACTOR, slot * MOST_VARIABLES + j, j);
    __syncthreads();
}

// Derivatives at the fit without term k, into the work space; the moments of its phi with them at sums[1] and [2].
INTERNAL void moments_without(Chain& chain, int k, double beta) {
    evaluate(chain, fit_of(chain), k, beta, k, 0.0, DERIVATIVES + MOMENTS, k, chain.trial_features, 0);
}

// Write the trial's numbers over term k: the leader's work.
INTERNAL void take_trial(Chain& chain, int k, int d, double beta) {
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
