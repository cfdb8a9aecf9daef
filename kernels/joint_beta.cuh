// All coefficients and the intercept at once (raytpnn/engine/moves/joint_beta.py).
// Gaussian: the exact conditional. Other families: a Langevin step, preconditioned by the Gram matrix at the
// constant curvature of the null model, which does not depend on the coefficients.
#pragma once

#include "adaptation.cuh"
#include "random.cuh"
#include "rows.cuh"
#include "triangular.cuh"

namespace raytpnn {

// Rows of the scratch vectors.
constexpr int POINT_HERE = 0, GRADIENT_HERE = 1, POINT_THERE = 2, GRADIENT_THERE = 3, NOISE = 4, SOLVED = 5;

// Gradient of the log posterior at a point whose fit is given; sums[0] is its log-likelihood.
UNIT void gradient_at(Chain& chain, const double* fit, const double* point, double* out, double scale, int size) {
    const Settings* settings = chain.settings;
    evaluate_at(chain, fit, DERIVATIVES + LIKELIHOOD + TOTALS);
    score_of_terms(chain, size - 1, out);
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        if (i == 0) {
            const double gap = point[0] - settings->intercept_mean;
            out[0] = scale * chain.sums[1] - settings->intercept_precision * gap;
        } else {
            out[i] = scale * out[i] - point[i] / chain.state->scalar[SIGMA_BETA2];
        }
    }
    __syncthreads();
}

// Log prior of intercept and coefficients, up to a constant, for the leader; overwrites `scratch`.
UNIT double log_prior(Chain& chain, const double* point, double* scratch, int size) {
    const Settings* settings = chain.settings;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const double gap = i == 0 ? point[0] - settings->intercept_mean : point[i];
        const double square = gap * gap;
        scratch[i] = i == 0 ? settings->intercept_precision * square : square / chain.state->scalar[SIGMA_BETA2];
    }
    __syncthreads();
    const double total = leader() ? ordered_sum(scratch[0], scratch, 1, size) : 0.0;
    __syncthreads();
    return -0.5 * total;
}

// out = step/2 L^-1 gradient; entry i is the work of one thread, and whole after the next barrier.
UNIT void half_step(const double* a, int side, const double* gradient, double step, double* out, int size) {
    for (int i = threadIdx.x; i < size; i += blockDim.x) out[i] = gradient[i];
    solve_lower(a, side, out, size);
    for (int i = threadIdx.x; i < size; i += blockDim.x) out[i] = 0.5 * step * out[i];
}

// Squared length of the normal vector that leads from `origin` to `target`, for the leader.
UNIT double squared_noise(const double* a, int side, const double* origin, const double* gradient,
                          const double* target, double step, double* scratch, int size) {
    half_step(a, side, gradient, step, scratch, size);
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        double value = 0.0;
        for (int m = i; m < size; ++m) value += a[(long long)m * side + i] * (target[m] - origin[m]);
        value = value / step - scratch[i];
        scratch[i] = value * value;
    }
    __syncthreads();
    const double total = leader() ? ordered_sum(0.0, scratch, 0, size) : 0.0;
    __syncthreads();
    return total;
}

// Cholesky factor of the proposal's precision in the place of the Gram matrix; false if there is none.
UNIT bool precision_factor(Chain& chain, double scale, int size) {
    const Settings* settings = chain.settings;
    const int side = (int)settings->K_max + 1;
    double* gram = at<double>(chain.work->gram);
    gram_matrix(chain, size - 1);
    const double curvature = scale * settings->null_curvature;
    const int warps = blockDim.x / WARP;
    for (int i = threadIdx.x / WARP; i < size; i += warps) {
        for (int m = threadIdx.x % WARP; m <= i; m += WARP) {
            double* entry = gram + (long long)i * side + m;
            double value = curvature * *entry;
            if (i == m) value += i == 0 ? settings->intercept_precision : 1.0 / chain.state->scalar[SIGMA_BETA2];
            *entry = value;
        }
    }
    __syncthreads();
    return cholesky(chain, gram, side, size);
}

// Standard normals, two a thread at a time.
INTERNAL void joint_noise(Chain& chain, double* noise, int size) {
    for (int i = 2 * (int)threadIdx.x; i < size; i += 2 * blockDim.x) {
        const Uniforms drawn = uniforms(chain.state, FOR_JOINT_BETA, 0, 1 + i / 2);
        noise[i] = normal_quantile(drawn.u);
        if (i + 1 < size) noise[i + 1] = normal_quantile(drawn.v);
    }
    __syncthreads();
}

// The point HERE from the state, and THERE proposed from it.
UNIT void propose_joint(Chain& chain, double scale, double step, bool exact, int size) {
    State* state = chain.state;
    const int side = (int)chain.settings->K_max + 1;
    const double* gram = at<const double>(chain.work->gram);
    double* here = vector_of(chain, POINT_HERE);
    double* there = vector_of(chain, POINT_THERE);
    double* noise = vector_of(chain, NOISE);
    double* solved = vector_of(chain, SOLVED);
    for (int i = threadIdx.x; i < size; i += blockDim.x) here[i] = i == 0 ? state->scalar[INTERCEPT] : state->beta[i - 1];
    gradient_at(chain, fit_of(chain), here, vector_of(chain, GRADIENT_HERE), scale, size);
    joint_noise(chain, noise, size);
    // One full Newton step plus noise is the exact draw when the target is Gaussian: eps^2/2 = 1 in the drift.
    half_step(gram, side, vector_of(chain, GRADIENT_HERE), exact ? 2.0 : step, solved, size);
    for (int i = threadIdx.x; i < size; i += blockDim.x) solved[i] = step * (solved[i] + noise[i]);
    __syncthreads();
    solve_upper(gram, side, solved, size);
    for (int i = threadIdx.x; i < size; i += blockDim.x) there[i] = here[i] + solved[i];
    __syncthreads();
}

// Log acceptance ratio of the proposed point, for the leader.
UNIT double log_joint_ratio(Chain& chain, double scale, double step, int size) {
    const int side = (int)chain.settings->K_max + 1;
    const double* gram = at<const double>(chain.work->gram);
    const double* here = vector_of(chain, POINT_HERE);
    const double* there = vector_of(chain, POINT_THERE);
    double* solved = vector_of(chain, SOLVED);
    double log_ratio = scale * (chain.sums[0] - chain.state->scalar[FIT_LOGLIK]);
    const double prior_there = log_prior(chain, there, solved, size);
    log_ratio += prior_there - log_prior(chain, here, solved, size);
    const double back =
        squared_noise(gram, side, there, vector_of(chain, GRADIENT_THERE), here, step, solved, size);
    const double forth =
        squared_noise(gram, side, here, vector_of(chain, GRADIENT_HERE), there, step, solved, size);
    return log_ratio - 0.5 * (back - forth);
}

// Draw or propose (intercept, beta_1, ..., beta_K).
UNIT void joint_beta(Chain& chain, bool warming_up) {
    const Settings* settings = chain.settings;
    State* state = chain.state;
    const int size = (int)state->K + 1;
    const double scale = state->scalar[TEMPERATURE] / state->scalar[NUISANCE];
    if (leader()) state->tally[JOINT_BETA][0] += 1;
    if (!precision_factor(chain, scale, size)) return;
    const bool exact = settings->family == GAUSSIAN;
    const double step = exact ? 1.0 : exp(state->log_step[0]);
    propose_joint(chain, scale, step, exact, size);
    const double* there = vector_of(chain, POINT_THERE);
    double* trial_fit = at<double>(chain.work->trial_fit);
    fit_from_terms(chain, size - 1, there[0], there + 1, trial_fit);
    gradient_at(chain, trial_fit, there, vector_of(chain, GRADIENT_THERE), scale, size);
    const double log_ratio = exact ? 0.0 : log_joint_ratio(chain, scale, step, size);
    if (leader()) {
        chain.accepted = exact || log(uniforms(state, FOR_JOINT_BETA, 0, 0).u) < log_ratio;
        if (chain.accepted) {
            state->scalar[INTERCEPT] = there[0];
            state->scalar[FIT_LOGLIK] = chain.sums[0];
            state->tally[JOINT_BETA][1] += 1;
        }
        if (!exact && warming_up && settings->adapt) adapt_step(settings, state, 0, log_ratio);
    }
    __syncthreads();
    if (!chain.accepted) return;
    for (int k = threadIdx.x; k < size - 1; k += blockDim.x) state->beta[k] = there[k + 1];
    take_trial_fit(chain);
    __syncthreads();
}

}  // namespace raytpnn
