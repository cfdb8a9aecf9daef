// Langevin step of the numbers of one term: theta = (b, log gamma or gamma, beta)
// (raytpnn/engine/moves/langevin.py). What concerns one coordinate is one thread's work.
#pragma once

#include "moves/adaptation.cuh"
#include "moves/screen.cuh"

namespace raytpnn {

// Factor and slope tables of a term; false if a factor has no mass. Slope tables are whole after the next barrier,
// factor tables at once: there was one with the slopes.
UNIT bool term_tables(const int* features, const double* b, const double* gamma, int d) {
    for (int j = 0; j < d; ++j) {
        const double c = factor_table(j, features[j], b[j], gamma[j]);
        if (!(c >= SMALLEST_MEAN)) return false;
        slope_tables(j, features[j], b[j], gamma[j], c);
    }
    return true;
}

// Log prior of one scale in the coordinate that moves: the Jacobian of log gamma adds one log gamma.
INTERNAL double log_gamma_prior(const Settings* settings, double gamma, double b_gamma) {
    const double power = settings->log_gamma ? settings->a_gamma : settings->a_gamma - 1.0;
    return power * log(gamma) - gamma / b_gamma;
}

// Log posterior of the term's numbers but for the likelihood, up to a constant.
UNIT double log_prior_of_term(const Settings* settings, const State* state, const double* gamma, double beta, int d) {
    double value = -0.5 * (beta * beta) / state->scalar[SIGMA_BETA2];
    for (int j = 0; j < d; ++j) value += log_gamma_prior(settings, gamma[j], state->scalar[B_GAMMA]);
    return value;
}

// Gradient of the log target and the inverse of D in one coordinate, from the row sums.
struct Slope {
    double gradient, precision;
};

UNIT Slope gradient_and_precision(const double* gamma, double beta, int d, int i) {
    const Settings* settings = chain.settings;
    const State* state = chain.state;
    const double* sums = chain.sums;
    const double scale = likelihood_scale();
    const double prior_precision = 1.0 / state->scalar[SIGMA_BETA2];
    const double curvature = scale * (beta * beta);
    Slope slope;
    if (i < d) {
        slope.gradient = scale * beta * sums[3 + 4 * i];
        slope.precision = curvature * sums[4 + 4 * i] + UNIFORM_PRECISION;
    } else if (i < 2 * d) {
        const int j = i - d;
        const double in_log_gamma = scale * beta * sums[5 + 4 * j];
        if (settings->log_gamma)
            slope.gradient = in_log_gamma + settings->a_gamma - gamma[j] / state->scalar[B_GAMMA];
        else
            slope.gradient = (in_log_gamma + settings->a_gamma - 1.0) / gamma[j] - 1.0 / state->scalar[B_GAMMA];
        slope.precision = curvature * sums[6 + 4 * j] + settings->a_gamma;
    } else {
        slope.gradient = scale * sums[1] - beta * prior_precision;
        slope.precision = scale * sums[2] + prior_precision;
    }
    if (!settings->preconditioned) slope.precision = 1.0;
    return slope;
}

// Coordinate i of term k.
INTERNAL double coordinate_of_term(int k, int d, int i) {
    const State* state = chain.state;
    if (i < d) return state->b[k][i];
    if (i == 2 * d) return state->beta[k];
    const double gamma = state->gamma[k][i - d];
    return chain.settings->log_gamma ? log(gamma) : gamma;
}

// Step size of Langevin steps of order d, or without DRIFT that of a random walk.
template <bool DRIFT>
INTERNAL double step_of(int d) {
    return exp(DRIFT ? chain.state->log_step[d] : chain.state->walk_step[d]);
}

// Proposed point in THERE, every coordinate by one thread; the way there in the other rows.
template <bool DRIFT>
INTERNAL void propose_point(int k, int d) {
    for (int i = threadIdx.x; i < 2 * d + 1; i += blockDim.x) {
        Slope slope = gradient_and_precision(chain.state->gamma[k], chain.state->beta[k], d, i);
        if (!DRIFT) slope.gradient = 0.0;
        const Uniforms drawn = uniforms(chain.state, FOR_LANGEVIN, k, 1 + i / 2);
        const double here = coordinate_of_term(k, d, i);
        const double step = step_of<DRIFT>(d);
        const double spread = step / sqrt(slope.precision);
        const double drift = (0.5 * step) * step * slope.gradient / slope.precision;
        chain.point[HERE][i] = here;
        chain.point[GRADIENT][i] = slope.gradient;
        chain.point[PRECISION][i] = slope.precision;
        chain.point[THERE][i] = here + drift + spread * normal_quantile(i % 2 == 0 ? drawn.u : drawn.v);
    }
    __syncthreads();
}

// The proposed point as the trial's numbers; false if it lies outside the prior's support: the leader's work.
UNIT bool trial_of_point(int d) {
    for (int j = 0; j < d; ++j) {
        const double b = chain.point[THERE][j];
        double gamma = chain.point[THERE][d + j];
        if (chain.settings->log_gamma) {
            if (!((gamma < 0.0 ? -gamma : gamma) < 600.0)) return false;
            gamma = exp(gamma);
        }
        if (!(b > 0.0 && b < 1.0 && gamma > 0.0)) return false;
        chain.trial_b[j] = b;
        chain.trial_gamma[j] = gamma;
    }
    return true;
}

// Squared and scaled gap between where a coordinate is and where the drift from `origin` leads.
INTERNAL double squared_gap(double origin, double gradient, double precision, double target, double step) {
    const double drift = (0.5 * step) * step * gradient / precision;
    const double gap = target - origin - drift;
    return (gap * gap) * precision;
}

// What every coordinate adds to the log densities of the way there and back.
template <bool DRIFT>
INTERNAL void weigh_ways(int d) {
    for (int i = threadIdx.x; i < 2 * d + 1; i += blockDim.x) {
        const double step = step_of<DRIFT>(d);
        const double here = chain.point[HERE][i], there = chain.point[THERE][i];
        const double gradient = chain.point[GRADIENT][i], precision = chain.point[PRECISION][i];
        Slope back = gradient_and_precision(chain.trial_gamma, chain.point[THERE][2 * d], d, i);
        if (!DRIFT) back.gradient = 0.0;
        if (SCREENED) chain.point[JUMP][i] = ((there - here) * (there - here)) * precision;
        chain.point[BACK_SQUARE][i] = squared_gap(there, back.gradient, back.precision, here, step);
        chain.point[BACK_LOG][i] = log(back.precision);
        chain.point[FORTH_SQUARE][i] = squared_gap(here, gradient, precision, there, step);
        chain.point[FORTH_LOG][i] = log(precision);
    }
    __syncthreads();
}

// Log density of a proposal, up to a constant: half the log-determinant of D^-1 and the squares.
INTERNAL double log_proposal(const double* squares, const double* logs, double step, int size) {
    double total = 0.0;
    double determinant = 0.0;
    for (int i = 0; i < size; ++i) {
        total += squares[i];
        determinant += logs[i];
    }
    return 0.5 * determinant - 0.5 * total / (step * step);
}

// Propose from the scales at the rows that are looked at, and weigh the ways by those at the trial; false if
// impossible.
template <bool DRIFT>
UNIT bool propose_step(int k, int d) {
    if (!term_tables(chain.state->features[k], chain.state->b[k], chain.state->gamma[k], d)) return false;
    evaluate_slopes(k, 0.0, k, 0.0, DERIVATIVES + MOMENTS, k, chain.state->features[k], d);
    propose_point<DRIFT>(k, d);
    if (leader()) chain.inside = trial_of_point(d);
    __syncthreads();
    if (!chain.inside) return false;
    if (!term_tables(chain.state->features[k], chain.trial_b, chain.trial_gamma, d)) return false;
    const int trial = (int)chain.settings->K_max;
    for (int j = 0; j < d; ++j) multiply_factor(chain.state->features[k][j], j, trial);
    // A walk has its log-likelihood from all rows.
    constexpr int need = DRIFT ? DERIVATIVES + LIKELIHOOD + MOMENTS : DERIVATIVES + MOMENTS;
    evaluate_slopes(k, chain.state->beta[k], trial, chain.point[THERE][2 * d], need, trial, chain.state->features[k],
                    d);
    weigh_ways<DRIFT>(d);
    return true;
}

// Log acceptance ratio of the step proposed: the leader's work.
UNIT double log_ratio_of_move(int k, int d) {
    const double here = log_prior_of_term(chain.settings, chain.state, chain.state->gamma[k], chain.state->beta[k], d);
    const double there = log_prior_of_term(chain.settings, chain.state, chain.trial_gamma, chain.point[THERE][2 * d], d);
    const double scale = likelihood_scale();
    const double change = scale * (chain.sums[0] - chain.state->scalar[FIT_LOGLIK]) + there - here;
    const int size = 2 * d + 1;
    const double step = step_of<true>(d);
    const double back = log_proposal(chain.point[BACK_SQUARE], chain.point[BACK_LOG], step, size);
    const double forth = log_proposal(chain.point[FORTH_SQUARE], chain.point[FORTH_LOG], step, size);
    return change + back - forth;
}

// Write the proposed point over term k: the leader's work.
INTERNAL void take_point(int k, int d) {
    if (SCREENED) chain.old_beta = chain.state->beta[k];
    for (int j = 0; j < d; ++j) chain.trial_features[j] = chain.state->features[k][j];
    take_trial(k, d, chain.point[THERE][2 * d]);
    chain.state->scalar[FIT_LOGLIK] = chain.sums[0];
}

// Let the rows follow.
INTERNAL void take_step(int k) {
    take_trial_fit();
    copy_phi((int)chain.settings->K_max, k);
    follow_term(k, chain.old_beta);
}

// One Langevin step of term k.
INTERNAL void langevin(int k, bool warming_up) {
    const int d = (int)chain.state->order[k];
    const bool possible = propose_step<true>(k, d);
    if (leader()) {
        const double log_ratio = possible ? log_ratio_of_move(k, d) : minus_infinity();
        chain.accepted = log(uniforms(chain.state, FOR_LANGEVIN, k, 0).u) < log_ratio;
        chain.state->tally[LANGEVIN][0] += 1;
        // A gradient costs six passes a variable at either end.
        count_step(d, chain.accepted, (7 * d + 4) * chain.problem->n_all);
        if (chain.accepted) {
            chain.state->tally[LANGEVIN][1] += 1;
            take_point(k, d);
        }
        if (warming_up && chain.settings->adapt) adapt_step(chain.settings, chain.state, d, log_ratio);
    }
    __syncthreads();
    if (chain.accepted) take_step(k);
}

}  // namespace raytpnn
