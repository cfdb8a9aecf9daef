// Families of responses (raytpnn/families): per row w (y - A'(f)), w A''(f) and the part of the
// log-likelihood that depends on f, times eta. A new family adds its function and its line in `family_row`.
#pragma once

#include "elementary.cuh"

namespace raytpnn {

struct FamilyRow {
    double score, curvature, loglik;
};

__device__ __forceinline__ FamilyRow gaussian_row(double y, double f, double w) {
    const double residual = y - f;
    return {w * residual, w, -0.5 * (w * residual) * residual};
}

__device__ __forceinline__ FamilyRow bernoulli_row(double y, double f, double w, int need) {
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

__device__ __forceinline__ FamilyRow poisson_row(double y, double f, double w) {
    const double mean = exp(f);
    return {w * (y - mean), w * mean, w * (y * f - mean)};
}

__device__ __forceinline__ FamilyRow family_row(int family, double y, double f, double w, int need) {
    if (family == GAUSSIAN) return gaussian_row(y, f, w);
    if (family == BERNOULLI) return bernoulli_row(y, f, w, need);
    return poisson_row(y, f, w);
}

}  // namespace raytpnn
