// Gradient and Newton sums of many unbounded terms at given derivatives, as partial sums over blocks of 4,096 rows: for
// rows that are sharded over devices. Partial sums added in block order within stripes, and stripes in order, are
// those of `evaluate`, bit by bit.
#include "rows/rows.cuh"

// The settings that sums of many terms depend on: too large for shared memory, and the same in every block.
static __device__ raytpnn::Settings many_terms;

// Block of threads number term * row_blocks + row block. For each term, max_order features, b and gamma, of
// which `order` count. `score` and `curvature` are (n,), `sigmoid` (grid, width) is scratch space, and so is
// `table` (grid, 3 max_order, width) unless tables are in shared memory. Writes 4 max_order + 2 sums: score * phi,
// curvature * phi^2, then for every factor those of the slope in b and of that in log gamma; NaN for a term that
// has no prior mass.
extern "C" __global__ void __launch_bounds__(MOST_THREADS, 1)
    langevin_sums(const raytpnn::Problem* problem, long long max_order, long long width, const long long* order,
                  const int* features, const double* b, const double* gamma, const double* score,
                  const double* curvature, double* sigmoid, float* table, double* partial) {
    using namespace raytpnn;
    __shared__ DeviceWork work;
    const int D = (int)max_order;
    const long long row_blocks = (problem->n + BLOCK - 1) / BLOCK;
    const long long term = blockIdx.x / row_blocks;
    const int start = (int)(blockIdx.x % row_blocks) * BLOCK;
    const int stop = start + BLOCK < problem->n ? start + BLOCK : (int)problem->n;
    const int d = (int)order[term];
    const int* own_features = features + term * D;
    const double* own_b = b + term * D;
    const double* own_gamma = gamma + term * D;
    if (leader()) {
        many_terms.max_order = max_order;
        many_terms.bounded = false;
        work.table_width = width;
        work.score = (long long)score;
        work.curvature = (long long)curvature;
        work.sigmoid = (long long)(sigmoid + blockIdx.x * width);
        work.table = (long long)(table + blockIdx.x * 3 * max_order * width);
        chain.problem = problem;
        chain.settings = &many_terms;
        chain.work = &work;
        chain.rows = nullptr;
        for (int s = 0; s < 4 * D + 3; ++s) chain.sums[s] = 0.0;
    }
    __syncthreads();
    bool inside = true;
    for (int j = 0; j < d; ++j) {
        const double c = factor_table(j, own_features[j], own_b[j], own_gamma[j]);
        inside = inside && c >= SMALLEST_MEAN;
        // The mean is read by all before the next sums are written there.
        __syncthreads();
        if (inside) slope_tables(j, own_features[j], own_b[j], own_gamma[j], c);
        __syncthreads();
    }
    if (inside) {
        const float* factors = table_of(0);
        block_sums<2>(start, stop, 2, chain.sums + 1, [=](int i, double* sums) {
            float phi = 0.0f;
            for (int j = 0; j < d; ++j) {
                const int code = entry(codes_of(own_features[j])[i], (int)width - 1);
                const float factor = factors[j * width + code];
                phi = j == 0 ? factor : phi * factor;
            }
            const double value = phi;
            sums[0] += score[i] * value;
            sums[1] += (curvature[i] * value) * value;
        });
        for (int j = 0; j < d; ++j)
            block_sums<4>(start, stop, 4, chain.sums + 3 + 4 * j, SlopesOfRow{own_features, d, j});
    }
    double* out = partial + blockIdx.x * (4ll * D + 2);
    for (int s = threadIdx.x; s < 4 * D + 2; s += blockDim.x) {
        const bool counts = s < 4 * d + 2;
        out[s] = !counts ? 0.0 : inside ? chain.sums[1 + s] : __longlong_as_double(0x7ff8000000000000ll);
    }
}
