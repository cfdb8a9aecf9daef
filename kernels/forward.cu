// The forward pass of prediction over (draws x terms x rows): tables of all factors first, then products of
// table entries row by row (raytpnn/forward/forward.py).
//
// Nothing here decides anything, so that sums are in float32 as on the CPU; they are the same for any geometry.
#include "core/chain.cuh"
#include "core/elementary.cuh"

namespace raytpnn {

// Rows of one thread, kept in registers while terms pass.
constexpr int ROWS_OF_THREAD = 4;

// Sum over the threads of a block, the same for all of them; `parts` has room for one number a thread.
INTERNAL double block_total(double* parts, double mine) {
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int width = (int)blockDim.x / 2; width > 0; width /= 2) {
        if ((int)threadIdx.x < width) parts[threadIdx.x] += parts[threadIdx.x + width];
        __syncthreads();
    }
    const double total = parts[0];
    __syncthreads();
    return total;
}

}  // namespace raytpnn

// Table of factor v = blockIdx.x: scale * (1 - s/c) of every bin of its feature, then 0 for missing.
extern "C" __global__ void __launch_bounds__(MOST_THREADS, 1)
    forward_tables(const long long* feature, const double* b, const double* gamma, const double* scale,
                   const long long* table_start, const long long* first_bin, const long long* n_bins,
                   const double* bin_value, const double* bin_weight, float* tables) {
    using namespace raytpnn;
    __shared__ double parts[MOST_THREADS];
    const long long v = blockIdx.x;
    const long long first = first_bin[feature[v]];
    const int size = (int)n_bins[feature[v]];
    const double* value = bin_value + first;
    const double* weight = bin_weight + first;
    const double location = b[v], inverse = 1.0 / gamma[v];
    double mine = 0.0;
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        mine += weight[i] * (1.0 / (1.0 + raytpnn::exp((location - value[i]) * inverse)));
    const double height = scale[v] / block_total(parts, mine);
    float* out = tables + table_start[v];
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const double s = 1.0 / (1.0 + raytpnn::exp((location - value[i]) * inverse));
        out[i] = (float)(scale[v] - s * height);
    }
    if (threadIdx.x == 0) out[size] = 0.0f;
}

// Latent f of draw blockIdx.x / tiles at the rows of tile blockIdx.x % tiles, into row `draw` of out (draws, n).
// Codes are (features, n), the first past a feature's bins stands for missing. Term t of a draw has the factors
// term_start[t] ... term_start[t + 1] - 1, its coefficient being part of the first one's table.
extern "C" __global__ void __launch_bounds__(MOST_THREADS, 1)
    forward(const raytpnn::Code* codes, long long n, long long tiles, const long long* draw_start,
            const long long* term_start, const long long* feature, const long long* table_start,
            const long long* n_bins, const float* tables, const double* intercept, const double* offset, double* out) {
    using namespace raytpnn;
    const long long draw = blockIdx.x / tiles;
    const long long first = (blockIdx.x % tiles) * ROWS_OF_THREAD * blockDim.x + threadIdx.x;
    float sum[ROWS_OF_THREAD], product[ROWS_OF_THREAD];
    for (int r = 0; r < ROWS_OF_THREAD; ++r) sum[r] = 0.0f;
    for (long long t = draw_start[draw]; t < draw_start[draw + 1]; ++t) {
        for (long long v = term_start[t]; v < term_start[t + 1]; ++v) {
            const float* table = tables + table_start[v];
            const int entries = (int)n_bins[feature[v]] + 1;
#if TABLES_IN_SHARED
            // Everybody has read the table before this one.
            __syncthreads();
            for (int i = threadIdx.x; i < entries; i += blockDim.x) shared_tables[i] = table[i];
            __syncthreads();
            table = shared_tables;
#endif
            const Code* column = codes + feature[v] * n;
            for (int r = 0; r < ROWS_OF_THREAD; ++r) {
                const long long i = first + r * (long long)blockDim.x;
                if (i >= n) continue;
                const int code = column[i];
                const float factor = table[code < entries ? code : entries - 1];
                product[r] = v == term_start[t] ? factor : product[r] * factor;
            }
        }
        for (int r = 0; r < ROWS_OF_THREAD; ++r)
            if (first + r * (long long)blockDim.x < n) sum[r] = sum[r] + product[r];
    }
    for (int r = 0; r < ROWS_OF_THREAD; ++r) {
        const long long i = first + r * (long long)blockDim.x;
        if (i < n) out[draw * n + i] = ((double)sum[r] + intercept[draw]) + offset[i];
    }
}
