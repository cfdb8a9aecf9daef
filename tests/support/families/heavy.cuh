// Student's t with four degrees of freedom (tests/support/family_cases.py).
#pragma once

#include "families/row.cuh"

namespace raytpnn {

__device__ __forceinline__ FamilyRow heavy_row(double y, double f, double w, double dispersion, int need) {
    const double residual = y - f;
    const double spread = 4.0 * dispersion;
    FamilyRow row = {0.0, 0.0, 0.0};
    if (need & DERIVATIVES) {
        row.score = w * (5.0 * residual / (spread + residual * residual));
        row.curvature = w * (5.0 / (7.0 * dispersion));
    }
    if (need & LIKELIHOOD)
        row.loglik = w * (-2.5 * log(1.0 + residual * residual / spread) - 0.5 * log(dispersion));
    return row;
}

}  // namespace raytpnn
