// Replicas at neighbouring temperatures trade places (raytpnn/engine/sweeps/swap.py).
#pragma once

#include "core/random.cuh"

namespace raytpnn {

// Log-likelihood of a state, with all that depends on the dispersion.
__device__ inline double full_log_likelihood(const Settings* settings, const State* state) {
    if (settings->dispersion_in_rows) return state->scalar[FIT_LOGLIK];
    const double nuisance = state->scalar[NUISANCE];
    double value = state->scalar[FIT_LOGLIK] / nuisance;
    if (settings->dispersion)
        value -= settings->dispersion_power * settings->weight_sum * (settings->dispersion_log_unit + log(nuisance));
    return value;
}

// Log of the density ratio of two states that trade temperatures.
__device__ inline double log_swap_ratio(const Settings* settings, const State* hot, const State* cold) {
    const double gap = cold->scalar[TEMPERATURE] - hot->scalar[TEMPERATURE];
    return gap * (full_log_likelihood(settings, hot) - full_log_likelihood(settings, cold));
}

template <class T>
__device__ __forceinline__ void exchange(T& left, T& right) {
    const T kept = left;
    left = right;
    right = kept;
}

// Exchange temperatures, and what belongs to a temperature: step sizes and tallies.
__device__ inline void trade_places(State* left, State* right) {
    exchange(left->scalar[TEMPERATURE], right->scalar[TEMPERATURE]);
    for (int i = 0; i < N_STEPS; ++i) {
        exchange(left->log_step[i], right->log_step[i]);
        exchange(left->step_count[i], right->step_count[i]);
    }
    for (int move = 0; move < N_MOVES; ++move)
        for (int i = 0; i < 2; ++i) exchange(left->tally[move][i], right->tally[move][i]);
}

// Count replicas that came from the hot end to the cold one, and back.
__device__ inline void note_travels(Ladder* ladder) {
    const long long hot = ladder->replica_at[0];
    const long long cold = ladder->replica_at[ladder->levels - 1];
    if (ladder->met[hot] == COLD) ladder->travels[1] += 1;
    ladder->met[hot] = HOT;
    if (ladder->met[cold] == HOT) {
        ladder->travels[0] += 1;
        ladder->met[cold] = COLD;
    }
}

// Try to swap a level with the next.
__device__ inline void try_swap(const Settings* settings, State* states, Ladder* ladder, int level) {
    const long long hot = ladder->replica_at[level];
    const long long cold = ladder->replica_at[level + 1];
    const double log_ratio = log_swap_ratio(settings, states + hot, states + cold);
    const bool accepted = log(uniforms(states, FOR_SWAP, level, 0).u) < log_ratio;
    ladder->tried[level] += 1;
    if (accepted) {
        trade_places(states + hot, states + cold);
        ladder->replica_at[level] = cold;
        ladder->replica_at[level + 1] = hot;
        ladder->swapped[level] += 1;
    }
    if (log_ratio < 0.0) ladder->rejection[level] += 1.0 - (log_ratio > -700.0 ? exp(log_ratio) : 0.0);
}

// Try levels (0, 1), (2, 3), ... or, at parity 1, (1, 2), (3, 4), ...: a pair is one thread's work.
__device__ inline void swap_neighbours(const Settings* settings, State* states, Ladder* ladder, int parity) {
    for (int level = parity + 2 * (int)threadIdx.x; level < ladder->levels - 1; level += 2 * blockDim.x)
        try_swap(settings, states, ladder, level);
    __syncthreads();
    if (threadIdx.x == 0) note_travels(ladder);
}

}  // namespace raytpnn
