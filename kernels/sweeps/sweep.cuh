// One pass of the sampler (raytpnn/engine/sweeps/sweep.py).
#pragma once

#include "moves/birth_death.cuh"
#include "moves/component.cuh"
#include "moves/joint_beta.cuh"
#include "moves/langevin.cuh"
#include "moves/refit_factor.cuh"
#include "moves/restructure.cuh"
#include "moves/scalars.cuh"
#include "moves/walk.cuh"
#include "sweeps/keep.cuh"
#include "sweeps/prior_draw.cuh"

namespace raytpnn {

// Recompute phi, fit and log-likelihood from the terms: a block depends on its checkpoint alone.
UNIT void begin_block() {
    for (int k = 0; k < chain.state->K; ++k)
        build_phi(chain.state->features[k], chain.state->b[k], chain.state->gamma[k], (int)chain.state->order[k], 0, k);
    fit_from_terms((int)chain.state->K, chain.state->scalar[INTERCEPT], chain.state->beta, fit_of());
    refresh_likelihood();
}

// Begin a sweep that looks at a subset of the rows.
UNIT void begin_subset() {
    take_subset();
    begin_block();
}

// Whether the host lets the chain go on: the leader looks, all hear. Another barrier comes before the next look.
INTERNAL bool going_on() {
    if (leader()) chain.going_on = *(volatile long long*)&chain.work->control[STOP] == 0;
    __syncthreads();
    return chain.going_on;
}

// One pass over all moves; false if it was stopped half-way. The scales are the leader's until the next barrier.
UNIT bool sweep(bool warming_up) {
    birth_or_death();
    const bool visits = chain.settings->restructure || chain.settings->langevin;
    const int K = visits ? (int)chain.state->K : 0;
    for (int k = 0; k < K; ++k) {
        if (!going_on()) return false;
        if (chain.settings->restructure) restructure(k);
        if (chain.settings->langevin) {
            if (is_screened(SCREEN_WALK))
                walk(k, warming_up);
            else if (!SCREENED && chain.settings->factor_steps > 0)
                refit_factor(k, warming_up);
            else
                langevin(k, warming_up);
        }
    }
    change_components();
    const long long every = chain.settings->joint_beta_every;
    if (every > 0 && (long long)chain.state->stream[3] % every == 0) joint_beta(warming_up);
    if (chain.settings->intercept)
        update_intercept();
    else
        refresh_likelihood();
    if (chain.settings->nuisance) draw_nuisance();
    if (leader()) draw_scales(chain.settings, chain.state);
    return true;
}

}  // namespace raytpnn
