// Counts (raytpnn/families/poisson.py).
#pragma once

#include "families/row.cuh"

namespace raytpnn {

__device__ __forceinline__ FamilyRow poisson_row(double y, double f, double w, double dispersion, int need) {
    const double mean = exp(f);
    return {w * (y - mean), w * mean, w * (y * f - mean)};
}

}  // namespace raytpnn
