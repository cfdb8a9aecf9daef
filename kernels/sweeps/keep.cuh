// Keeping draws (keep_draw of raytpnn/engine/sweeps/sweep.py, watch_rows of raytpnn/engine/sweeps/watched_rows.py).
#pragma once

#include "rows/subset.cuh"

namespace raytpnn {

// Copy the scalars and terms of the state into a row of the record, a term a thread.
INTERNAL void keep_terms(const DeviceRecord& record, long long row) {
    const State* state = chain.state;
    const long long K_max = chain.settings->K_max, D = chain.settings->max_order;
    if (leader()) at<long long>(record.K)[row] = state->K;
    for (int i = threadIdx.x; i < N_SCALARS; i += blockDim.x)
        at<double>(record.scalar)[row * N_SCALARS + i] = state->scalar[i];
    for (int k = threadIdx.x; k < state->K; k += blockDim.x) {
        const long long term = row * K_max + k;
        at<long long>(record.order)[term] = state->order[k];
        at<double>(record.beta)[term] = state->beta[k];
        for (int j = 0; j < state->order[k]; ++j) {
            at<int>(record.features)[term * D + j] = state->features[k][j];
            at<double>(record.b)[term * D + j] = state->b[k][j];
            at<double>(record.gamma)[term * D + j] = state->gamma[k][j];
        }
    }
}

// Keep the fit at the watched rows, and the mean square of every term over them.
INTERNAL void watch_rows(const DeviceRecord& record, long long row) {
    const State* state = chain.state;
    const long long size = record.n_watched;
    const long long* watched = at<const long long>(record.watched);
    const double* fit = at<const double>(chain.work->fit);
    for (int i = threadIdx.x; i < size; i += blockDim.x) at<double>(record.fit)[row * size + i] = fit[watched[i]];
    for (int k = threadIdx.x; k < state->K; k += blockDim.x) {
        const float* phi = phi_of(k);
        double total = 0.0;
        for (int i = 0; i < size; ++i) {
            const double value = state->beta[k] * phi[watched[i]];
            total += value * value;
        }
        at<double>(record.size)[row * chain.settings->K_max + k] = total / (double)size;
    }
}

// Keep the state as the record's next draw. Rows are read across threads here, so all meet before and after.
UNIT void keep_draw(DeviceRecord& record) {
    __syncthreads();
    const long long row = record.row;
    keep_terms(record, row);
    if (record.n_watched > 0) {
        if (chain.rows)
            watch_terms(record, row);
        else
            watch_rows(record, row);
    }
    __syncthreads();
    if (leader()) record.row = row + 1;
}

}  // namespace raytpnn
