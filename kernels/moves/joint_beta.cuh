// All coefficients and the intercept at once (raytpnn/engine/moves/joint_beta.py).
// A quadratic log-likelihood: the exact conditional. Others: a Langevin step, preconditioned by the Gram matrix at the
// constant curvature of the null model, which does not depend on the coefficients.
#pragma once

#include "core/random.cuh"
#include "core/triangular.cuh"
#include "moves/adaptation.cuh"
#include "moves/coefficient.cuh"
#include "rows/rows.cuh"

namespace raytpnn {

// Rows of the scratch vectors.
constexpr int POINT_HERE = 0, GRADIENT_HERE = 1, POINT_THERE = 2, GRADIENT_THERE = 3, NOISE = 4, SOLVED = 5;

INTERNAL double* gram_of() { return at<double>(chain.work->gram); }

INTERNAL int gram_side() { return (int)chain.settings->K_max + 1; }

// Gradient of the log posterior at a point whose fit is given, into another scratch vector; sums[0] is the
// log-likelihood there. Entry i is the work of one thread, and whole after the next barrier.
UNIT void gradient_at(const double* fit, int point, int gradient, int size) {
    evaluate_at(fit, DERIVATIVES + LIKELIHOOD + TOTALS);
    score_of_terms(size - 1, vector_of(gradient));
    const double scale = likelihood_scale();
    const double* here = vector_of(point);
    double* out = vector_of(gradient);
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        if (i == 0) {
            const double gap = here[0] - chain.settings->intercept_mean;
            out[0] = scale * chain.sums[1] - chain.settings->intercept_precision * gap;
        } else {
            out[i] = scale * out[i] - here[i] / chain.state->scalar[SIGMA_BETA2];
        }
    }
}

// Log prior of intercept and coefficients at a point, up to a constant, for the leader; overwrites SOLVED.
UNIT double log_prior(int point, int size) {
    const Settings* settings = chain.settings;
    const double* here = vector_of(point);
    double* part = vector_of(SOLVED);
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const double gap = i == 0 ? here[0] - settings->intercept_mean : here[i];
        const double square = gap * gap;
        part[i] = i == 0 ? settings->intercept_precision * square : square / chain.state->scalar[SIGMA_BETA2];
    }
    __syncthreads();
    const double total = leader() ? ordered_sum(part[0], part, 1, size) : 0.0;
    __syncthreads();
    return -0.5 * total;
}

// SOLVED = step/2 L^-1 gradient; entry i is the work of one thread, and whole after the next barrier.
UNIT void half_step(int gradient, double step, int size) {
    double* out = vector_of(SOLVED);
    const double* right = vector_of(gradient);
    for (int i = threadIdx.x; i < size; i += blockDim.x) out[i] = right[i];
    solve_lower(gram_of(), gram_side(), out, size);
    for (int i = threadIdx.x; i < size; i += blockDim.x) out[i] = 0.5 * step * out[i];
}

// Squared length of the normal vector that leads from one point to another, for the leader; overwrites SOLVED.
UNIT double squared_noise(int origin, int gradient, int target, double step, int size) {
    half_step(gradient, step, size);
    const int side = gram_side();
    const double* a = gram_of();
    const double *from = vector_of(origin), *to = vector_of(target);
    double* scratch = vector_of(SOLVED);
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        double value = 0.0;
        for (int m = i; m < size; ++m) value += a[(long long)m * side + i] * (to[m] - from[m]);
        value = value / step - scratch[i];
        scratch[i] = value * value;
    }
    __syncthreads();
    const double total = leader() ? ordered_sum(0.0, scratch, 0, size) : 0.0;
    __syncthreads();
    return total;
}

// Cholesky factor of the proposal's precision in the place of the Gram matrix; false if there is none.
UNIT bool precision_factor(int size) {
    gram_matrix(size - 1);
    const int side = gram_side();
    double* gram = gram_of();
    const double curvature = likelihood_scale() * chain.settings->null_curvature;
    for (int i = threadIdx.x / WARP; i < size; i += blockDim.x / WARP) {
        for (int m = threadIdx.x % WARP; m <= i; m += WARP) {
            double value = curvature * gram[(long long)i * side + m];
            if (i == m)
                value += i == 0 ? chain.settings->intercept_precision : 1.0 / chain.state->scalar[SIGMA_BETA2];
            gram[(long long)i * side + m] = value;
        }
    }
    return cholesky(gram, side, size);
}

// Standard normals into NOISE, two a thread at a time; whole after the next barrier.
UNIT void joint_noise(int size) {
    double* noise = vector_of(NOISE);
    for (int i = 2 * (int)threadIdx.x; i < size; i += 2 * blockDim.x) {
        const Uniforms drawn = uniforms(chain.state, FOR_JOINT_BETA, 0, 1 + i / 2);
        noise[i] = normal_quantile(drawn.u);
        if (i + 1 < size) noise[i + 1] = normal_quantile(drawn.v);
    }
}

// Entry i of a vector is the work of one thread.
template <class Entry>
INTERNAL void fill(int vector, int size, Entry entry) {
    double* out = vector_of(vector);
    for (int i = threadIdx.x; i < size; i += blockDim.x) out[i] = entry(i, out[i]);
}

// The point HERE from the state, and THERE proposed from it.
UNIT void propose_joint(double step, int size) {
    const State* state = chain.state;
    fill(POINT_HERE, size, [=](int i, double) { return i == 0 ? state->scalar[INTERCEPT] : state->beta[i - 1]; });
    gradient_at(fit_of(), POINT_HERE, GRADIENT_HERE, size);
    joint_noise(size);
    // One full Newton step plus noise is the exact draw when the target is normal: eps^2/2 = 1 in the drift.
    half_step(GRADIENT_HERE, chain.settings->quadratic ? 2.0 : step, size);
    const double* noise = vector_of(NOISE);
    fill(SOLVED, size, [=](int i, double drift) { return step * (drift + noise[i]); });
    __syncthreads();
    solve_upper(gram_of(), gram_side(), vector_of(SOLVED), size);
    const double *here = vector_of(POINT_HERE), *solved = vector_of(SOLVED);
    fill(POINT_THERE, size, [=](int i, double) { return here[i] + solved[i]; });
    __syncthreads();
}

// Log acceptance ratio of the proposed point, for the leader.
UNIT double log_joint_ratio(double step, int size) {
    double log_ratio = likelihood_scale() * (chain.sums[0] - chain.state->scalar[FIT_LOGLIK]);
    const double prior_there = log_prior(POINT_THERE, size);
    log_ratio += prior_there - log_prior(POINT_HERE, size);
    const double back = squared_noise(POINT_THERE, GRADIENT_THERE, POINT_HERE, step, size);
    const double forth = squared_noise(POINT_HERE, GRADIENT_HERE, POINT_THERE, step, size);
    return log_ratio - 0.5 * (back - forth);
}

// Draw or propose (intercept, beta_1, ..., beta_K). Coefficients are whole after the next barrier.
UNIT void joint_beta(bool warming_up) {
    const int size = (int)chain.state->K + 1;
    if (leader()) chain.state->tally[JOINT_BETA][0] += 1;
    if (!precision_factor(size)) return;
    const bool exact = chain.settings->quadratic;
    const double step = exact ? 1.0 : exp(chain.state->log_step[0]);
    propose_joint(step, size);
    double* trial_fit = at<double>(chain.work->trial_fit);
    fit_from_terms(size - 1, vector_of(POINT_THERE)[0], vector_of(POINT_THERE) + 1, trial_fit);
    gradient_at(at<double>(chain.work->trial_fit), POINT_THERE, GRADIENT_THERE, size);
    const double log_ratio = exact ? 0.0 : log_joint_ratio(step, size);
    if (leader()) {
        State* state = chain.state;
        chain.accepted = exact || log(uniforms(state, FOR_JOINT_BETA, 0, 0).u) < log_ratio;
        if (chain.accepted) {
            state->scalar[INTERCEPT] = vector_of(POINT_THERE)[0];
            state->scalar[FIT_LOGLIK] = chain.sums[0];
            state->tally[JOINT_BETA][1] += 1;
        }
        if (!exact && warming_up && chain.settings->adapt) adapt_step(chain.settings, state, 0, log_ratio);
    }
    __syncthreads();
    if (!chain.accepted) return;
    const double* there = vector_of(POINT_THERE);
    for (int k = threadIdx.x; k < size - 1; k += blockDim.x) chain.state->beta[k] = there[k + 1];
    take_trial_fit();
}

}  // namespace raytpnn
