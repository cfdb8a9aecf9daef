// One pass of the sampler (raytpnn/engine/sweep.py).
#pragma once

#include "birth_death.cuh"
#include "joint_beta.cuh"
#include "keep.cuh"
#include "langevin.cuh"
#include "prior_draw.cuh"
#include "restructure.cuh"
#include "scalars.cuh"

namespace raytpnn {

// Recompute phi, fit and log-likelihood from the terms: a block depends on its checkpoint alone.
UNIT void begin_block(Chain& chain) {
    State* state = chain.state;
    for (int k = 0; k < state->K; ++k)
        build_phi(chain, state->features[k], state->b[k], state->gamma[k], (int)state->order[k], 0, k);
    fit_from_terms(chain, (int)state->K, state->scalar[INTERCEPT], state->beta, fit_of(chain));
    refresh_likelihood(chain);
}

// Whether the host lets the chain go on: the leader looks, all hear.
INTERNAL bool going_on(Chain& chain) {
    if (leader()) chain.going_on = *(volatile long long*)&chain.work->control[STOP] == 0;
    __syncthreads();
    const bool answer = chain.going_on;
    __syncthreads();
    return answer;
}

// One pass over all moves; false if it was stopped half-way.
UNIT bool sweep(Chain& chain, bool warming_up) {
    const Settings* settings = chain.settings;
    State* state = chain.state;
    birth_or_death(chain);
    const int K = (int)state->K;
    for (int k = 0; k < K; ++k) {
        if (!going_on(chain)) return false;
        if (settings->restructure) restructure(chain, k);
        if (settings->langevin) langevin(chain, k, warming_up);
    }
    const long long every = settings->joint_beta_every;
    if (every > 0 && (long long)state->stream[3] % every == 0) joint_beta(chain, warming_up);
    if (settings->intercept)
        update_intercept(chain);
    else
        refresh_likelihood(chain);
    if (leader()) {
        if (settings->nuisance) draw_nuisance(settings, state);
        draw_scales(settings, state);
    }
    __syncthreads();
    return true;
}

}  // namespace raytpnn
