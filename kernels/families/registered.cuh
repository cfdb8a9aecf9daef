// Written by raytpnn/engine/gpu/headers.py from the Python source: do not edit.
#pragma once

#include "families/gaussian.cuh"
#include "families/bernoulli.cuh"
#include "families/poisson.cuh"
#include "families/student.cuh"
#include "families/negative_binomial.cuh"
#include "families/weibull.cuh"
#include "families/survival.cuh"

namespace raytpnn {

// What a family gives for one row; a code that no family has ends the kernel.
__device__ __forceinline__ FamilyRow family_row(int family, double y, double f, double w, double dispersion,
                                                int need) {
    if (family == 0) return gaussian_row(y, f, w, dispersion, need);
    if (family == 1) return bernoulli_row(y, f, w, dispersion, need);
    if (family == 2) return poisson_row(y, f, w, dispersion, need);
    if (family == 3) return student_row(y, f, w, dispersion, need);
    if (family == 4) return negative_binomial_row(y, f, w, dispersion, need);
    if (family == 5) return weibull_row(y, f, w, dispersion, need);
    if (family == 6) return survival_row(y, f, w, dispersion, need);
    __trap();
    return {};
}

}  // namespace raytpnn
