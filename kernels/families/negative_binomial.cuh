// Counts with more spread than Poisson's (raytpnn/families/negative_binomial.py).
#pragma once

#include "families/row.cuh"

namespace raytpnn {

__device__ __noinline__ FamilyRow negative_binomial_row(double y, double f, double w, double dispersion, int need) {
    const double size = 1.0 / dispersion;
    const double t = f + log(dispersion);
    const double total = y + size;
    const double odds = exp(t < 0.0 ? t : -t);
    FamilyRow row = {0.0, 0.0, 0.0};
    if (need & LIKELIHOOD) {
        const double one = (t > 0.0 ? t : 0.0) + log1p_unit(odds);
        row.loglik = w * ((log_gamma(total) - log_gamma(size)) + (y * t - total * one));
    }
    if (need & DERIVATIVES) {
        const double share = 1.0 / (1.0 + odds);
        const double part = t > 0.0 ? share : odds * share;
        row.score = w * (y - total * part);
        row.curvature = w * (total * ((odds * share) * share));
    }
    return row;
}

}  // namespace raytpnn
