// Sums over rows in one fixed order (raytpnn/numerics/lanes.py): row i of a block of 4,096 belongs to lane
// i mod 256, each lane adds in row order, lanes are joined by a binary tree, block sums are added in order to
// the sum of their stripe, and stripe sums in order.
#pragma once

#include "core/chain.cuh"

namespace raytpnn {

// Join the 128 half-way sums of the tree, by one warp; the result is lane 0's.
INTERNAL double tree(const double* half) {
    const int lane = threadIdx.x % WARP;
    double value = (half[lane] + half[lane + 64]) + (half[lane + 32] + half[lane + 96]);
    for (int width = WARP / 2; width > 0; width /= 2) value = value + __shfl_down_sync(WHOLE_WARP, value, width);
    return value;
}

// Sums of rows start ... stop - 1, at most 4,096; all threads of the block take part. `add(i, sums)` adds what row i
// gives to the sums of its lane, and `take(s, total)` is called with each of `count` sums by one thread, always the
// same for one s, before all meet. Loads of AT_A_TIME rows of a thread are under way at a time: more would take
// registers from the callers.
template <int MOST, int AT_A_TIME, class Add, class Take>
INTERNAL void sums_of_block(int start, int stop, int count, Add add, Take take) {
    const int threads = row_threads();
    const bool active = (int)threadIdx.x < threads;
    // Upper lanes first: with fewer threads than lanes, a thread meets both ends of the tree's first level itself.
    for (int base = LANES - threads; base >= 0; base -= threads) {
        const int lane = base + (int)threadIdx.x;
        double sums[MOST];
        for (int s = 0; s < MOST; ++s) sums[s] = 0.0;
        if (active) {
#pragma unroll AT_A_TIME
            for (int i = start + lane; i < stop; i += LANES) add(i, sums);
        }
        if (active && lane >= HALF_LANES)
            for (int s = 0; s < MOST; ++s) chain.lanes[s][lane - HALF_LANES] = sums[s];
        if (threads == LANES) __syncthreads();
        if (active && lane < HALF_LANES)
            for (int s = 0; s < MOST; ++s) chain.lanes[s][lane] = sums[s] + chain.lanes[s][lane];
    }
    __syncthreads();
    for (int s = threadIdx.x / WARP; s < count; s += blockDim.x / WARP) {
        const double total = tree(chain.lanes[s]);
        if (threadIdx.x % WARP == 0) take(s, total);
    }
    __syncthreads();
}

// Sums of one block of rows, to out[0 ... count - 1].
template <int MOST, class Add>
INTERNAL void block_sums(int start, int stop, int count, double* out, Add add) {
    sums_of_block<MOST, 1>(start, stop, count, add, [=](int s, double total) { out[s] = total; });
}

// Sums over all rows of the problem: blocks are added to the sum of their stripe, stripes to out[0 ... count - 1].
// One thread has a sum from its start to its end. The first stripe with rows begins at row 0: it starts `out`, which
// others may still be reading when they come here.
template <int MOST, class Add>
INTERNAL void row_sums(int count, double* out, Add add) {
    constexpr int AT_A_TIME = MOST < 3 ? 2 : 1;
    if (threadIdx.x % WARP == 0)
        for (int s = threadIdx.x / WARP; s < count; s += blockDim.x / WARP) chain.stripe_sums[s] = 0.0;
    for (int stripe = 0; stripe < STRIPES; ++stripe) {
        for (int start = (int)chain.problem->stripe[stripe]; start < chain.problem->stripe[stripe + 1]; start += BLOCK) {
            const int end = (int)chain.problem->stripe[stripe + 1];
            const int stop = start + BLOCK < end ? start + BLOCK : end;
            sums_of_block<MOST, AT_A_TIME>(start, stop, count, add, [=](int s, double total) {
                const double sum = chain.stripe_sums[s] + total;
                const bool ends = start + BLOCK >= end;
                if (ends) out[s] = (chain.problem->stripe[stripe] == 0 ? 0.0 : out[s]) + sum;
                chain.stripe_sums[s] = ends ? 0.0 : sum;
            });
        }
    }
}

// Sums over n bins: blocks in order.
template <int MOST, class Add>
INTERNAL void bin_sums(int n, int count, double* out, Add add) {
    for (int start = 0; start < n; start += BLOCK) {
        const int stop = start + BLOCK < n ? start + BLOCK : n;
        // A thread has few of them.
        sums_of_block<MOST, 1>(start, stop, count, add,
                               [=](int s, double total) { out[s] = (start == 0 ? 0.0 : out[s]) + total; });
    }
}

}  // namespace raytpnn
