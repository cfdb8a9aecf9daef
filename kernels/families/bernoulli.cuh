// Binary responses (raytpnn/families/bernoulli.py).
#pragma once

#include "families/row.cuh"

namespace raytpnn {

__device__ __forceinline__ FamilyRow bernoulli_row(double y, double f, double w, double dispersion, int need) {
    const double odds = exp(f < 0.0 ? f : -f);
    FamilyRow row = {0.0, 0.0, 0.0};
    if (need & LIKELIHOOD) row.loglik = w * ((y * f - (f > 0.0 ? f : 0.0)) - log1p_unit(odds));
    if (need & DERIVATIVES) {
        const double share = 1.0 / (1.0 + odds);
        const double mean = f > 0.0 ? share : odds * share;
        row.score = w * (y - mean);
        row.curvature = w * ((odds * share) * share);
    }
    return row;
}

}  // namespace raytpnn
