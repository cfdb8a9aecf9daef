// Cholesky factor and triangular solves by all threads of a block, every number by the operations and in the
// order of raytpnn/engine/moves/joint_beta.py: what one entry subtracts, it subtracts in the same order.
#pragma once

#include "core/chain.cuh"

namespace raytpnn {

// The pivot for all to see, 0 if the matrix is not positive definite.
INTERNAL void leave_pivot(double value) { chain.pivot = value > 0.0 ? sqrt(value) : 0.0; }

// Lower Cholesky factor in place; the first entry must be the leader's work, the others may be anyone's. False if the matrix is not positive definite. Column by column: when one is
// done, every entry to the right of it subtracts its product.
UNIT bool cholesky(double* a, int side, int size) {
    const int warp = threadIdx.x / WARP, warps = blockDim.x / WARP, lane = threadIdx.x % WARP;
    if (leader()) leave_pivot(a[0]);
    __syncthreads();
    for (int m = 0; m < size; ++m) {
        const double pivot = chain.pivot;
        if (!(pivot > 0.0)) return false;
        for (int i = m + (int)threadIdx.x; i < size; i += blockDim.x) {
            double* entry = a + (long long)i * side + m;
            *entry = i == m ? pivot : *entry / pivot;
        }
        __syncthreads();
        for (int i = m + 1 + warp; i < size; i += warps) {
            double* row = a + (long long)i * side;
            for (int j = m + 1 + lane; j <= i; j += WARP) {
                row[j] -= row[m] * a[(long long)j * side + m];
                if (i == m + 1) leave_pivot(row[j]);
            }
        }
        __syncthreads();
    }
    return true;
}

// x = L^-1 x; entry i is the work of one thread, and whole after the next barrier.
UNIT void solve_lower(const double* a, int side, double* x, int size) {
    for (int m = 0; m < size; ++m) {
        if (m % blockDim.x == threadIdx.x) x[m] = x[m] / a[(long long)m * side + m];
        __syncthreads();
        const double value = x[m];
        int i = m + 1;
        i += (int)((threadIdx.x + blockDim.x - i % blockDim.x) % blockDim.x);
        for (; i < size; i += blockDim.x) x[i] -= a[(long long)i * side + m] * value;
    }
}

// x = L^-T x, whole on return. An entry starts with the product of the one solved just before, so that nothing can be subtracted
// ahead: one warp multiplies and all its lanes subtract alike, in order.
UNIT void solve_upper(const double* a, int side, double* x, int size) {
    if (threadIdx.x < WARP) {
        const int lane = threadIdx.x;
        for (int i = size - 1; i >= 0; --i) {
            double total = x[i];
            for (int start = i + 1; start < size; start += WARP) {
                const int m = start + lane;
                const double product = m < size ? a[(long long)m * side + i] * x[m] : 0.0;
                const int count = size - start < WARP ? size - start : WARP;
                for (int s = 0; s < count; ++s) total -= __shfl_sync(WHOLE_WARP, product, s);
            }
            __syncwarp();
            if (lane == 0) x[i] = total / a[(long long)i * side + i];
            __syncwarp();
        }
    }
    __syncthreads();
}

// Sum of a vector in order: the leader's work.
INTERNAL double ordered_sum(double total, const double* x, int first, int size) {
    for (int i = first; i < size; ++i) total += x[i];
    return total;
}

}  // namespace raytpnn
