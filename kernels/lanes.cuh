// Sums over rows in one fixed order (raytpnn/numerics/lanes.py): row i of a block of 4,096 belongs to lane
// i mod 256, each lane adds in row order, lanes are joined by a binary tree, block sums are added in order to
// the sum of their stripe, and stripe sums in order.
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

// At most 4,096 rows of a stripe, and where they stand in it.
struct RowBlock {
    int start;
    int stop;
    bool begins;  // the first of its stripe
    bool ends;    // the last of its stripe
    bool first;   // of the first stripe that has rows
};

// Rows that are a sum of their own.
INTERNAL RowBlock alone(int start, int stop) { return {start, stop, true, true, true}; }

// Add the sums of one block of rows to those of its stripe, and these, when the stripe ends, to out[0 ... count - 1],
// or start them; all threads of the block take part. `add(i, sums)` adds what row i gives to the sums of its lane.
template <int MOST, class Add>
INTERNAL void block_sums(RowBlock rows, int count, double* out, Add add) {
    // Rows of a thread whose loads are under way at a time: more would take registers from the callers.
    constexpr int ROWS_AT_A_TIME = MOST < 3 ? 2 : 1;
    const int stop = rows.stop;
    const int threads = row_threads();
    const bool active = (int)threadIdx.x < threads;
    // Upper lanes first: with fewer threads than lanes, a thread meets both ends of the tree's first level itself.
    for (int base = LANES - threads; base >= 0; base -= threads) {
        const int lane = base + (int)threadIdx.x;
        double sums[MOST];
        for (int s = 0; s < MOST; ++s) sums[s] = 0.0;
        if (active) {
#pragma unroll ROWS_AT_A_TIME
            for (int i = rows.start + lane; i < stop; i += LANES) add(i, sums);
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
        if (threadIdx.x % WARP == 0) {
            chain.stripe_sums[s] = (rows.begins ? 0.0 : chain.stripe_sums[s]) + total;
            if (rows.ends) out[s] = (rows.first ? 0.0 : out[s]) + chain.stripe_sums[s];
        }
    }
    __syncthreads();
}

// Visit all blocks of rows, stripe after stripe.
template <class Visit>
INTERNAL void each_block(Visit visit) {
    const long long* stripe = chain.problem->stripe;
    bool first = true;
    for (int s = 0; s < STRIPES; ++s) {
        const int begin = (int)stripe[s], end = (int)stripe[s + 1];
        if (begin == end) continue;
        for (int start = begin; start < end; start += BLOCK) {
            const int stop = start + BLOCK < end ? start + BLOCK : end;
            visit(RowBlock{start, stop, start == begin, stop == end, first});
        }
        first = false;
    }
}

// Sums over all rows of the problem.
template <int MOST, class Add>
INTERNAL void row_sums(int count, double* out, Add add) {
    each_block([=](RowBlock rows) { block_sums<MOST>(rows, count, out, add); });
}

// Sums over n bins: blocks in order, as if they were one stripe.
template <int MOST, class Add>
INTERNAL void bin_sums(int n, int count, double* out, Add add) {
    for (int start = 0; start < n; start += BLOCK) {
        const int stop = start + BLOCK < n ? start + BLOCK : n;
        block_sums<MOST>(RowBlock{start, stop, start == 0, stop == n, true}, count, out, add);
    }
}

}  // namespace raytpnn
