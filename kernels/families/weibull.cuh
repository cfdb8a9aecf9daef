// Times until an event, of a Weibull law; negative where they were cut short (raytpnn/families/weibull.py).
#pragma once

#include "families/row.cuh"

namespace raytpnn {

__device__ __noinline__ FamilyRow weibull_row(double y, double f, double w, double dispersion, int need) {
    const double z = (log(y > 0.0 ? y : -y) - f) / dispersion;
    const double hazard = exp(z);
    const double event = y > 0.0 ? 1.0 : 0.0;
    FamilyRow row = {0.0, 0.0, 0.0};
    if (need & LIKELIHOOD) row.loglik = w * (event * (z - log(dispersion)) - hazard);
    if (need & DERIVATIVES) {
        row.score = w * ((hazard - event) / dispersion);
        row.curvature = w * (hazard / (dispersion * dispersion));
    }
    return row;
}

}  // namespace raytpnn
