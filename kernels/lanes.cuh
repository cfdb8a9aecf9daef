// Sums over rows in one fixed order (raytpnn/numerics/lanes.py): row i of a block of 4,096 belongs to lane
// i mod 256, each lane adds in row order, lanes are joined by a binary tree, block sums are added in order.
#pragma once

#include "chain.cuh"

namespace raytpnn {

// Join the 128 half-way sums of the tree, by one warp; the result is lane 0's.
INTERNAL double tree(const double* half) {
    const int lane = threadIdx.x % WARP;
    double value = (half[lane] + half[lane + 64]) + (half[lane + 32] + half[lane + 96]);
    for (int width = WARP / 2; width > 0; width /= 2) value = value + __shfl_down_sync(WHOLE_WARP, value, width);
    return value;
}

// Add the sums of one block of rows to out[0 ... count - 1], or start them; all threads of the block take part.
// `add(i, sums)` adds what row i gives to the sums of its lane.
template <int MOST, class Add>
INTERNAL void block_sums(int start, int n, int count, double* out, Add add) {
    // Rows of a thread whose loads are under way at a time: more would take registers from the callers.
    constexpr int ROWS_AT_A_TIME = MOST < 3 ? 2 : 1;
    const int stop = start + BLOCK < n ? start + BLOCK : n;
    const int threads = row_threads();
    const bool active = (int)threadIdx.x < threads;
    // Upper lanes first: with fewer threads than lanes, a thread meets both ends of the tree's first level itself.
    for (int base = LANES - threads; base >= 0; base -= threads) {
        const int lane = base + (int)threadIdx.x;
        double sums[MOST];
        for (int s = 0; s < MOST; ++s) sums[s] = 0.0;
        if (active) {
#pragma unroll ROWS_AT_A_TIME
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
        if (threadIdx.x % WARP == 0) out[s] = (start == 0 ? 0.0 : out[s]) + total;
    }
    __syncthreads();
}

// Sums over all n rows.
template <int MOST, class Add>
INTERNAL void row_sums(int n, int count, double* out, Add add) {
    for (int start = 0; start < n; start += BLOCK) block_sums<MOST>(start, n, count, out, add);
}

}  // namespace raytpnn
