// Factors of a term as tables over the bins of a feature (raytpnn/engine/rows/factor_tables.py).
#pragma once

#include "core/elementary.cuh"
#include "core/lanes.cuh"

namespace raytpnn {

// Bins of one feature.
struct Marginal {
    int size;
    const double* value;
    const double* weight;
};

INTERNAL Marginal marginal_of(int feature) {
    const long long first = at<const long long>(chain.problem->first_bin)[feature];
    return {(int)at<const long long>(chain.problem->n_bins)[feature], at<const double>(chain.problem->bin_value) + first,
            at<const double>(chain.problem->bin_weight) + first};
}

// Place of a code in a table: all beyond the widest feature's bins means missing, and has the last entry.
INTERNAL int entry(int code, int missing) { return code < missing ? code : missing; }

// Largest absolute value of 1 - s/c: s grows from the first bin, where it is below c, to the last.
INTERNAL double height_of(double first, double last, double inverse_mean) {
    const double low = 1.0 - first * inverse_mean, high = last * inverse_mean - 1.0;
    return low >= high ? low : high;
}

// Write the factor at every bin to table j, 0 for missing; returns c, and leaves s in `sigmoid`. A factor without
// prior mass returns a c below SMALLEST_MEAN. The table is whole after the next barrier, and s is read until then.
UNIT double factor_table(int j, int feature, double b, double gamma) {
    const Marginal bins = marginal_of(feature);
    double* s = at<double>(chain.work->sigmoid);
    const double inverse = 1.0 / gamma;
    bin_sums<1>(bins.size, 1, chain.means, [=](int i, double* sums) {
        const double value = 1.0 / (1.0 + exp((b - bins.value[i]) * inverse));
        s[i] = value;
        sums[0] += bins.weight[i] * value;
    });
    const double c = chain.means[0];
    if (c >= SMALLEST_MEAN) {
        float* out = table_of(j);
        const double inverse_mean = 1.0 / c;
        double shrink = 1.0;
        if (chain.settings->bounded) {
            const double height = height_of(s[0], s[bins.size - 1], inverse_mean);
            if (!(height >= SMALLEST_HEIGHT)) {
                __syncthreads();
                return 0.0;
            }
            shrink = 1.0 / height;
        }
        for (int i = first_bin(bins.size); i < bins.size; i += row_threads())
            out[i] = (float)((1.0 - s[i] * inverse_mean) * shrink);
        if (leader()) out[chain.work->table_width - 1] = 0.0f;
    }
    return c;
}

// Write the slopes of factor j in b and in log gamma; `sigmoid` is as `factor_table` left it. With g = 1 - s/c and
// h = |g| at the bin where it is largest, the slope of g/h is (g' - (g/h) h') / h.
// The tables are whole after the next barrier.
// Inlined where it is called: as a call of its own, NVRTC 13.0 spills registers of sweep_block on sm_90.
INTERNAL void slope_tables(int j, int feature, double b, double gamma, double c) {
    const Marginal bins = marginal_of(feature);
    const double* s = at<const double>(chain.work->sigmoid);
    const double inverse = 1.0 / gamma;
    const double inverse_mean = 1.0 / c;
    // Read before the barrier of the sums: the next factor is written over s.
    const double first = s[0], last = s[bins.size - 1];
    bin_sums<2>(bins.size, 2, chain.means, [=](int i, double* sums) {
        const double t = s[i] * (1.0 - s[i]);
        const double ut = ((bins.value[i] - b) * inverse) * t;
        sums[0] += bins.weight[i] * t;
        sums[1] += bins.weight[i] * ut;
    });
    const double share_t = chain.means[0] / c;
    const double share_ut = chain.means[1] / c;
    const int D = (int)chain.settings->max_order;
    float* out_b = table_of(D + j);
    float* out_gamma = table_of(2 * D + j);
    const double steepness = inverse_mean * inverse;
    double shrink = 1.0, height_b = 0.0, height_gamma = 0.0;
    if (chain.settings->bounded) {
        shrink = 1.0 / height_of(first, last, inverse_mean);
        const bool at_first = 1.0 - first * inverse_mean >= last * inverse_mean - 1.0;
        const double top = at_first ? first : last;
        const double sign = at_first ? shrink : -shrink;
        const double t = top * (1.0 - top);
        const double ut = ((bins.value[at_first ? 0 : bins.size - 1] - b) * inverse) * t;
        height_b = sign * ((t - top * share_t) * steepness);
        height_gamma = sign * ((ut - top * share_ut) * inverse_mean);
    }
    for (int i = first_bin(bins.size); i < bins.size; i += row_threads()) {
        const double t = s[i] * (1.0 - s[i]);
        const double ut = ((bins.value[i] - b) * inverse) * t;
        const double g = 1.0 - s[i] * inverse_mean;
        out_b[i] = (float)(((t - s[i] * share_t) * steepness - g * height_b) * shrink);
        out_gamma[i] = (float)(((ut - s[i] * share_ut) * inverse_mean - g * height_gamma) * shrink);
    }
    if (leader()) {
        out_b[chain.work->table_width - 1] = 0.0f;
        out_gamma[chain.work->table_width - 1] = 0.0f;
    }
}

}  // namespace raytpnn
