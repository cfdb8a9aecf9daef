// The rows of a sweep that looks at a subset of them (raytpnn/engine/rows/subset.py).
//
// Codes are not gathered: where the problem is a subset, passes over rows look its rows up, see row_at.
#pragma once

#include "core/random.cuh"
#include "rows/basis.cuh"

namespace raytpnn {

// Number of strata for m of n rows: a power of two, none of them empty.
INTERNAL int strata_of(long long n, long long m) {
    const long long blocks = (n + BLOCK - 1) / BLOCK;
    int strata = STRIPES;
    while (strata > 1 && ((long long)strata * LEAST_OF_STRATUM > m || strata > blocks)) strata /= 2;
    return strata;
}

// First row of stratum s; that of the stratum after the last is n.
INTERNAL long long stratum_start(long long n, int strata, int s) {
    const long long blocks = (n + BLOCK - 1) / BLOCK;
    const long long start = BLOCK * (s * blocks / strata);
    return start < n ? start : n;
}

// Hash of a word of 32 bits.
INTERNAL unsigned int mixed(unsigned int x, unsigned int key) {
    x = (x ^ key) * MIX_0;
    x ^= x >> 15;
    x = x * MIX_1;
    x ^= x >> 13;
    x = x * MIX_0;
    return x ^ (x >> 16);
}

// Image of i under a permutation of 0 ... size - 1: a Feistel network, again if it leads outside.
UNIT long long permuted(long long i, long long size, PhiloxWords keys) {
    int bits = 0;
    while ((1ll << bits) < size) ++bits;
    const int low = bits / 2;
    const unsigned int low_mask = (1u << low) - 1u;
    const unsigned int high_mask = (unsigned int)((1ull << (bits - low)) - 1ull);
    unsigned long long value = (unsigned long long)i;
    do {
        unsigned int left = (unsigned int)(value >> low);
        unsigned int right = (unsigned int)value & low_mask;
        for (unsigned int turn = 0; turn < FEISTEL_ROUNDS; turn += 2) {
            const unsigned int first = turn % 4 == 0 ? keys.w0 : keys.w2;
            const unsigned int second = turn % 4 == 0 ? keys.w1 : keys.w3;
            left ^= mixed(right, first + WEYL_0 * turn) & high_mask;
            right ^= mixed(left, second + WEYL_0 * turn) & low_mask;
        }
        value = ((unsigned long long)left << low) | right;
    } while (value >= (unsigned long long)size);
    return (long long)value;
}

// Scratch space for the subset on which proposals are screened; what no two passes need at a time is shared.
INTERNAL void begin_screens(DeviceWork* work) {
    chain.whole_work = work;
    chain.part_work = *work;
    chain.part_work.phi = work->batch_phi;
    chain.part_work.fit = work->batch_fit;
    chain.part_work.trial_fit = work->batch_trial_fit;
    chain.part_work.score = work->batch_score;
    chain.part_work.curvature = work->batch_curvature;
}

// Make a problem of settings->batch rows to be chosen, the chain's own unless it screens on them: the leader's work,
// once.
UNIT void begin_subsets(const Problem* whole, const Settings* settings, DeviceWork* work) {
    chain.part = *whole;
    chain.part.n = settings->batch;
    chain.part.y = work->batch_y;
    chain.part.w = work->batch_w;
    chain.part.offset = work->batch_offset;
    // The stripes of its sums are the strata, each where its first stripe of all rows is.
    const int strata = strata_of(whole->n, settings->batch);
    for (int stripe = 0; stripe <= STRIPES; ++stripe) {
        const int s = (stripe * strata + STRIPES - 1) / STRIPES;
        chain.part.stripe[stripe] = settings->batch * stratum_start(whole->n, strata, s) / whole->n;
    }
    if (SCREENED && settings->delayed != EXACT_ONLY) {
        begin_screens(work);
    } else {
        chain.problem = &chain.part;
        chain.rows = at<long long>(work->batch_rows);
    }
}

// Draw the subset of a sweep. Every thread fills its own rows.
UNIT void take_subset() {
    const Problem* whole = chain.whole;
    const long long n = whole->n, m = chain.part.n;
    const unsigned long long* stream = chain.state->stream;
    const int strata = strata_of(n, m);
    long long* rows = at<long long>(chain.work->batch_rows);
    if ((int)threadIdx.x >= LANES) return;
    for (int s = 0; s < strata; ++s) {
        const long long start = stratum_start(n, strata, s), stop = stratum_start(n, strata, s + 1);
        const long long first = m * start / n, last = m * stop / n;
        const double scale = (double)(stop - start) / (double)(last - first);
        const PhiloxWords keys =
            philox((unsigned int)stream[2], (unsigned int)stream[3], ((unsigned int)FOR_SUBSET << 24) | (unsigned int)s, 0u,
                   (unsigned int)stream[0], (unsigned int)stream[1]);
        for (long long i = first + (int)threadIdx.x; i < last; i += row_threads()) {
            const long long row = start + permuted(i - first, stop - start, keys);
            rows[i] = row;
            at<double>(chain.part.y)[i] = at<const double>(whole->y)[row];
            at<double>(chain.part.w)[i] = at<const double>(whole->w)[row] * scale;
            at<double>(chain.part.offset)[i] = at<const double>(whole->offset)[row];
        }
    }
}

// Fit and basis functions of the subset from those of all rows, which are read across threads: all have met since
// these were written, and meet again before they are.
UNIT void gather_fit() {
    const int K = (int)chain.state->K;
    const long long n = chain.whole->n, m = chain.part.n;
    const long long* rows = at<const long long>(chain.whole_work->batch_rows);
    const double* fit = at<const double>(chain.whole_work->fit);
    const float* phi = at<const float>(chain.whole_work->phi);
    double* fit_part = at<double>(chain.part_work.fit);
    float* phi_part = at<float>(chain.part_work.phi);
    each_row_of(&chain.part, [=](int i) {
        const long long row = rows[i];
        fit_part[i] = fit[row];
        for (int k = 0; k < K; ++k) phi_part[k * m + i] = phi[k * n + row];
    });
}

// Fit at the watched rows and the mean square of every term over them, from the terms
// (raytpnn/engine/sweeps/watched_rows.py): there is no fit of all rows.
UNIT void watch_terms(const DeviceRecord& record, long long row) {
    constexpr int ROOM = MOST_SUMS * HALF_LANES;
    const State* state = chain.state;
    const Problem* whole = chain.whole;
    const int size = (int)record.n_watched, missing = (int)chain.work->table_width - 1;
    const long long* watched = at<const long long>(record.watched);
    double* fit = at<double>(record.fit) + row * size;
    double* values = &chain.lanes[0][0];
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        fit[i] = at<const double>(whole->offset)[watched[i]] + state->scalar[INTERCEPT];
    for (int k = 0; k < state->K; ++k) {
        const int d = (int)state->order[k];
        for (int j = 0; j < d; ++j) {
            factor_table(j, state->features[k][j], state->b[k][j], state->gamma[k][j]);
            __syncthreads();
        }
        double total = 0.0;
        for (int start = 0; start < size; start += ROOM) {
            const int stop = start + ROOM < size ? start + ROOM : size;
            // The same thread for the same row every time: what it adds to is its own.
            for (int i = start + (int)threadIdx.x; i < stop; i += blockDim.x) {
                float phi = 0.0f;
                for (int j = 0; j < d; ++j) {
                    const Code* codes = at<const Code>(whole->codes) + state->features[k][j] * whole->stride;
                    const float factor = table_of(j)[entry(codes[watched[i]], missing)];
                    phi = j == 0 ? factor : phi * factor;
                }
                const double value = state->beta[k] * phi;
                values[i - start] = value;
                fit[i] += value;
            }
            __syncthreads();
            if (leader())
                for (int i = 0; i < stop - start; ++i) total += values[i] * values[i];
            __syncthreads();
        }
        if (leader()) at<double>(record.size)[row * chain.settings->K_max + k] = total / (double)size;
    }
}

}  // namespace raytpnn
