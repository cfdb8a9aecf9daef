// Step sizes that learn in warm-up (raytpnn/engine/moves/adaptation.py): the leader's work.
#pragma once

#include "chain.cuh"
#include "elementary.cuh"

namespace raytpnn {

// Robbins-Monro step of log_step[index] towards the target acceptance rate.
UNIT void adapt_step(const Settings* settings, State* state, int index, double log_ratio) {
    double acceptance = 0.0;
    if (log_ratio >= 0.0)
        acceptance = 1.0;
    else if (log_ratio > -700.0)
        acceptance = exp(log_ratio);
    state->step_count[index] += 1;
    const double gain = 1.0 / sqrt((double)state->step_count[index] + 9.0);
    const double moved = state->log_step[index] + gain * (acceptance - settings->target_acceptance);
    const double raised = moved > -9.21 ? moved : -9.21;
    state->log_step[index] = raised < 1.1 ? raised : 1.1;
}

}  // namespace raytpnn
