// Philox-4x32-10: random numbers as a function of where they are used (raytpnn/numerics/philox.py).
#pragma once

#include "core/constants.cuh"

namespace raytpnn {

struct PhiloxWords {
    unsigned int w0, w1, w2, w3;
};

__device__ inline PhiloxWords philox(unsigned int c0, unsigned int c1, unsigned int c2, unsigned int c3,
                                     unsigned int k0, unsigned int k1) {
    for (int round = 0; round < ROUNDS; ++round) {
        const unsigned long long product_0 = (unsigned long long)MULTIPLIER_0 * c0;
        const unsigned long long product_1 = (unsigned long long)MULTIPLIER_1 * c2;
        c0 = (unsigned int)(product_1 >> 32) ^ c1 ^ k0;
        c1 = (unsigned int)product_1;
        c2 = (unsigned int)(product_0 >> 32) ^ c3 ^ k1;
        c3 = (unsigned int)product_0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    return {c0, c1, c2, c3};
}

}  // namespace raytpnn
