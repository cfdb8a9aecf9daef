// Uniforms, normals and gammas from the counter-based stream (raytpnn/numerics/random.py).
#pragma once

#include "core/elementary.cuh"
#include "core/layout.cuh"
#include "core/philox.cuh"

namespace raytpnn {

// Two uniforms strictly inside (0, 1), 52 bits each.
struct Uniforms {
    double u, v;
};

__device__ inline Uniforms uniforms(const State* state, int purpose, int slot, int attempt) {
    const unsigned long long* stream = state->stream;
    const unsigned int place = ((unsigned int)purpose << 24) | (unsigned int)slot;
    const PhiloxWords w = philox((unsigned int)stream[2], (unsigned int)stream[3], place, (unsigned int)attempt,
                                 (unsigned int)stream[0], (unsigned int)stream[1]);
    const unsigned long long first = ((unsigned long long)(w.w0 >> 6) << 26) | (w.w1 >> 6);
    const unsigned long long second = ((unsigned long long)(w.w2 >> 6) << 26) | (w.w3 >> 6);
    return {((double)first + 0.5) * STEP, ((double)second + 0.5) * STEP};
}

// Gamma variate of scale 1 by Marsaglia and Tsang; the try is in the counter, attempt 0 serves shapes below 1.
__device__ __noinline__ double gamma_variate(const State* state, int purpose, int slot, double shape) {
    const double raised = shape >= 1.0 ? shape : shape + 1.0;
    const double d = raised - 1.0 / 3.0;
    const double c = 1.0 / sqrt(9.0 * d);
    double value = d;
    for (int attempt = 1; attempt < MOST_TRIES; ++attempt) {
        const Uniforms drawn = uniforms(state, purpose, slot, attempt);
        const double x = normal_quantile(drawn.u);
        const double root = 1.0 + c * x;
        if (root > 0.0) {
            const double cube = (root * root) * root;
            if (log(drawn.v) < (0.5 * x) * x + d * ((1.0 - cube) + log(cube))) {
                value = d * cube;
                break;
            }
        }
    }
    if (shape < 1.0) value = value * exp(log(uniforms(state, purpose, slot, 0).u) / shape);
    return value;
}

}  // namespace raytpnn
