// Numbers with outliers: Student's t with four degrees of freedom (raytpnn/families/student.py).
#pragma once

#include "families/row.cuh"

namespace raytpnn {

__device__ __noinline__ FamilyRow student_row(double y, double f, double w, double dispersion, int need) {
    const double degrees = 4.0, power = 2.5, information = 5.0 / 7.0;
    const double residual = y - f, spread = degrees * dispersion;
    FamilyRow row = {0.0, 0.0, 0.0};
    if (need & DERIVATIVES) {
        row.score = w * ((2.0 * power) * residual / (spread + residual * residual));
        row.curvature = w * (information / dispersion);
    }
    if (need & LIKELIHOOD)
        row.loglik = w * (-power * log(1.0 + residual * residual / spread) - 0.5 * log(dispersion));
    return row;
}

}  // namespace raytpnn
