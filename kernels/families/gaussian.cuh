// Gaussian responses (raytpnn/families/gaussian.py).
#pragma once

#include "families/row.cuh"

namespace raytpnn {

__device__ __forceinline__ FamilyRow gaussian_row(double y, double f, double w, double dispersion, int need) {
    const double residual = y - f;
    return {w * residual, w, -0.5 * (w * residual) * residual};
}

}  // namespace raytpnn
