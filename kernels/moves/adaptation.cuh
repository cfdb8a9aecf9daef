// Step sizes that learn in warm-up (raytpnn/engine/moves/adaptation.py): the leader's work.
#pragma once

#include "core/chain.cuh"
#include "core/elementary.cuh"

namespace raytpnn {

// Robbins-Monro step number `count` of a log step size towards the target acceptance rate.
INTERNAL double adapted(double log_step, long long count, double log_ratio, double target) {
    double acceptance = 0.0;
    if (log_ratio >= 0.0)
        acceptance = 1.0;
    else if (log_ratio > -700.0)
        acceptance = exp(log_ratio);
    const double gain = 1.0 / sqrt((double)count + 9.0);
    const double moved = log_step + gain * (acceptance - target);
    const double raised = moved > -9.21 ? moved : -9.21;
    return raised < 1.1 ? raised : 1.1;
}

// Adapt log_step[index].
UNIT void adapt_step(const Settings* settings, State* state, int index, double log_ratio) {
    state->step_count[index] += 1;
    state->log_step[index] =
        adapted(state->log_step[index], state->step_count[index], log_ratio, settings->target_acceptance);
}

}  // namespace raytpnn
