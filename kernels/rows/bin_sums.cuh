// Sums over the rows of each bin of one factor, at the fit without its term (raytpnn/engine/rows/bin_sums.py). Rows are
// added as whole numbers: threads may come in any order. Two numbers stand side by side for every bin.
#pragma once

#include "rows/rows.cuh"

namespace raytpnn {

typedef unsigned long long Count;

// What a row adds, towards zero. What is out of range is the smallest number, as on x86 processors.
INTERNAL Count quantum(double value) {
    return value >= -0x1p63 && value < 0x1p63 ? (Count)(long long)value : (Count)1 << 63;
}

// Add a row to its bin; `value` is the product of the term's other factors.
INTERNAL void add_to_bin(Count* counts, int bin, const FamilyRow& given, double value, double unit) {
    atomicAdd(counts + 2 * bin, quantum((given.score * value) * unit));
    atomicAdd(counts + 2 * bin + 1, quantum(((given.curvature * value) * value) * unit));
}

// Where the sums stand: in the place of the slopes, which this move does not use, if they are in shared memory and
// there is room. Two variables have four tables of slopes; one entry may be left out, for words of 8 bytes.
INTERNAL Count* bin_counts() {
#if TABLES_IN_SHARED
    if (chain.settings->max_order > 1) {
        const int first = (int)(chain.settings->max_order * chain.work->table_width);
        return reinterpret_cast<Count*>(shared_tables + first + first % 2);
    }
#endif
    return at<Count>(chain.work->counts);
}

// Clear the sums of all bins, each by the thread that reads them in `bin_moments`; all are clear after the next barrier.
INTERNAL void clear_bins() {
    const int width = (int)chain.work->table_width;
    Count* counts = bin_counts();
    for (int i = first_bin(width); i < width; i += row_threads()) counts[2 * i] = counts[2 * i + 1] = 0;
}

// Sums of every bin of factor j of term k; tables of the other factors are there. Whole after the next barrier.
UNIT void add_bins(int k, int j) {
    const State* state = chain.state;
    const int* features = state->features[k];
    const int d = (int)state->order[k];
    const int size = marginal_of(features[j]).size;
    const double beta = state->beta[k];
    const double unit = chain.settings->bin_unit;
    const double* fit = fit_of();
    const float* phi = phi_of(k);
    Count* counts = bin_counts();
    each_row([=](int i) {
        const int place = row_at(chain.rows, i);
        // Rows whose value is missing have a code beyond the bins.
        const int bin = codes_of(features[j])[place];
        if (bin >= size) return;
        const int width = (int)chain.work->table_width;
        float others = 1.0f;
        for (int other = 0; other < d; ++other)
            if (other != j)
                others = others * table_of(other)[entry(codes_of(features[other])[place], width - 1)];
        const FamilyRow given =
            family_row((int)chain.settings->family, at<const double>(chain.problem->y)[i], fit[i] - beta * phi[i],
                       at<const double>(chain.problem->w)[i], chain.state->scalar[NUISANCE], DERIVATIVES);
        add_to_bin(counts, bin, given, others, unit);
    });
}

// Moments of factor table j with the sums of bins, into chain.moments. A thread reads what it wrote of the table.
UNIT void bin_moments(int feature, int j) {
    const int size = marginal_of(feature).size;
    const float* table = table_of(j);
    const Count* counts = bin_counts();
    const double inverse = 1.0 / chain.settings->bin_unit;
    bin_sums<2>(size, 2, chain.moments, [=](int i, double* sums) {
        const double value = table[i];
        const double score = (double)(long long)counts[2 * i] * inverse;
        const double curvature = (double)(long long)counts[2 * i + 1] * inverse;
        sums[0] += score * value;
        sums[1] += (curvature * value) * value;
    });
}

}  // namespace raytpnn
