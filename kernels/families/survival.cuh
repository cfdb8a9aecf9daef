// Time watched in an interval, negative where no event ended it (raytpnn/families/survival.py).
#pragma once

#include "families/row.cuh"

namespace raytpnn {

__device__ __forceinline__ FamilyRow survival_row(double y, double f, double w, double dispersion, int need) {
    const double event = y > 0.0 ? 1.0 : 0.0;
    const double expected = (y > 0.0 ? y : -y) * exp(f);
    return {w * (event - expected), w * expected, w * (event * f - expected)};
}

}  // namespace raytpnn
