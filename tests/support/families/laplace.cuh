// Laplace responses (tests/support/family_cases.py).
#pragma once

#include "families/row.cuh"

namespace raytpnn {

__device__ __forceinline__ FamilyRow laplace_row(double y, double f, double w, double dispersion, int need) {
    const double residual = y - f;
    const double sign = residual > 0.0 ? 1.0 : (residual < 0.0 ? -1.0 : 0.0);
    return {w * sign, w / dispersion, -w * (sign * residual)};
}

}  // namespace raytpnn
