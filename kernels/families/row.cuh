// What a family gives for one row: w dl/df, w times a curvature, w l (raytpnn/families/base.py).
#pragma once

#include "core/elementary.cuh"

namespace raytpnn {

struct FamilyRow {
    double score, curvature, loglik;
};

}  // namespace raytpnn
