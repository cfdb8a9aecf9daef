// The arithmetic of the kernels, number by number, for tests/kernels/test_kernels_sweep.py.
#include "core/random.cuh"
#include "core/triangular.cuh"
#include "core/lanes.cuh"

using namespace raytpnn;

extern "C" __global__ void __launch_bounds__(512) elementary_values(int which, const double* x, double* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = which == 0 ? raytpnn::exp(x[i])
                 : which == 1 ? raytpnn::log(x[i])
                 : which == 2 ? log1p_unit(x[i])
                 : which == 3 ? log_gamma(x[i])
                              : normal_quantile(x[i]);
}

extern "C" __global__ void __launch_bounds__(512)
    philox_words(const unsigned int* counter, const unsigned int* key, unsigned int* out) {
    const PhiloxWords w = philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
    if (threadIdx.x == 0) {
        out[0] = w.w0;
        out[1] = w.w1;
        out[2] = w.w2;
        out[3] = w.w3;
    }
}

extern "C" __global__ void __launch_bounds__(512)
    random_values(const State* state, const double* shape, double* uniform, double* gamma, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const Uniforms drawn = uniforms(state, i % 12, i, i % 5);
        uniform[2 * i] = drawn.u;
        uniform[2 * i + 1] = drawn.v;
        gamma[i] = gamma_variate(state, i % 12, i, shape[i]);
    }
}

// Sum of x, of w x and of (w x) x over the rows of 16 stripes; the problem's stripes are all that is needed of it.
extern "C" __global__ void __launch_bounds__(512)
    sums_of_rows(const double* w, const float* x, const Problem* problem, double* out) {
    if (leader()) chain.problem = problem;
    __syncthreads();
    row_sums<3>(3, out, [=](int i, double* sums) {
        const double value = x[i];
        sums[0] += w[i];
        sums[1] += w[i] * value;
        sums[2] += (w[i] * value) * value;
    });
}

// Cholesky factor of a, then L^-1 of `lower`, and L^-T of `upper` into `reversed` from its end, so that threads read
// what others solved; found says whether there is a factor.
extern "C" __global__ void __launch_bounds__(512)
    factor_and_solve(double* a, int side, int size, double* lower, double* upper, double* reversed,
                     int* found) {
    const bool positive = cholesky(a, side, size);
    if (leader()) *found = positive;
    if (!positive) return;
    solve_lower(a, side, lower, size);
    solve_upper(a, side, upper, size);
    for (int i = threadIdx.x; i < size; i += blockDim.x) reversed[i] = upper[size - 1 - i];
}
