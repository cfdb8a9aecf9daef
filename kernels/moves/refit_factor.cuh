// Location and scale of one factor of a term, then its coefficient (raytpnn/engine/moves/refit_factor.py).
//
// Where the steps are stands in chain.point, rows NOW and NEXT. Sums of bins stand where tables are kept on a CPU: a
// table that is wanted again is computed again.
#pragma once

#include "moves/adaptation.cuh"
#include "moves/coefficient.cuh"
#include "moves/likelihood.cuh"
#include "moves/trial.cuh"
#include "rows/bin_sums.cuh"

namespace raytpnn {

// What the leader keeps while steps are taken: the step size, log evidence where they are, gain at the start.
constexpr int STEP_SIZE = 0, EVIDENCE = 1, OLD_GAIN = 2;

// Tables of all factors of term k, whole; false if one has no mass.
UNIT bool factor_tables(int k, int d) {
    for (int i = 0; i < d; ++i) {
        const double c = factor_table(i, chain.state->features[k][i], chain.state->b[k][i], chain.state->gamma[k][i]);
        if (!(c >= SMALLEST_MEAN)) return false;
        __syncthreads();
    }
    return true;
}

// Log evidence of a coefficient from the moments along its basis function, up to a constant.
UNIT double log_evidence(double dot, double norm) {
    const double scale = likelihood_scale();
    const double precision = scale * norm + 1.0 / chain.state->scalar[SIGMA_BETA2];
    const double slope = scale * dot;
    return 0.5 * (slope * slope / precision - log(precision));
}

// Approximate gain of the log-likelihood by a coefficient.
INTERNAL double fitted_gain(double beta, double dot, double norm) { return beta * dot - (0.5 * norm) * (beta * beta); }

// Begin the steps at the term's own numbers: the leader's work.
UNIT void begin_steps(int k, int j) {
    const State* state = chain.state;
    double* now = chain.point[NOW];
    now[LOCATION] = state->b[k][j];
    now[SCALE] = state->gamma[k][j];
    now[LOG_SCALE] = log(state->gamma[k][j]);
    now[DOT] = chain.moments[0];
    now[NORM] = chain.moments[1];
    chain.kept[STEP_SIZE] = exp(state->log_step[state->order[k]]);
    chain.kept[EVIDENCE] = log_evidence(now[DOT], now[NORM]);
    chain.kept[OLD_GAIN] = fitted_gain(state->beta[k], now[DOT], now[NORM]);
    chain.moved = false;
    chain.table_is_now = true;
}

// Location and scale of a step into NEXT; returns the log prior ratio. The leader's work.
UNIT double propose_factor(int k, int turn) {
    const Settings* settings = chain.settings;
    const State* state = chain.state;
    const double* now = chain.point[NOW];
    double* next = chain.point[NEXT];
    const Uniforms drawn = uniforms(state, FOR_FACTOR, k, 3 + 2 * turn);
    if (uniforms(state, FOR_FACTOR, k, 2 + 2 * turn).v < WALK_SHARE) {
        const double step = chain.kept[STEP_SIZE];
        next[LOCATION] = now[LOCATION] + (LOCATION_WIDTH * step) * normal_quantile(drawn.u);
        next[LOG_SCALE] = now[LOG_SCALE] + step * normal_quantile(drawn.v);
        const double size = next[LOG_SCALE] < 0.0 ? -next[LOG_SCALE] : next[LOG_SCALE];
        if (!(next[LOCATION] > 0.0 && next[LOCATION] < 1.0 && size < 600.0)) return minus_infinity();
        next[SCALE] = exp(next[LOG_SCALE]);
        const double log_ratio = settings->a_gamma * (next[LOG_SCALE] - now[LOG_SCALE]);
        return log_ratio - (next[SCALE] - now[SCALE]) / state->scalar[B_GAMMA];
    }
    next[LOCATION] = drawn.u;
    const double variate = gamma_variate(state, FOR_FACTOR, GAMMA_SLOTS + k + MOST_TERMS * turn, settings->a_gamma);
    next[SCALE] = state->scalar[B_GAMMA] * variate;
    if (!(next[SCALE] > 0.0)) return minus_infinity();
    next[LOG_SCALE] = log(next[SCALE]);
    return 0.0;
}

// Judge a step, whose factor may have no mass, and adapt walks: the leader's work.
UNIT void judge_step(int k, int turn, bool possible, bool adapts) {
    State* state = chain.state;
    double* next = chain.point[NEXT];
    double log_ratio = minus_infinity(), there = 0.0;
    if (chain.inside) chain.table_is_now = false;
    if (possible) {
        next[DOT] = chain.moments[0];
        next[NORM] = chain.moments[1];
        there = log_evidence(next[DOT], next[NORM]);
        log_ratio = chain.log_ratio + (there - chain.kept[EVIDENCE]);
    }
    const Uniforms drawn = uniforms(state, FOR_FACTOR, k, 2 + 2 * turn);
    if (log(drawn.u) < log_ratio) {
        for (int i = 0; i <= NORM; ++i) chain.point[NOW][i] = next[i];
        chain.kept[EVIDENCE] = there;
        chain.moved = true;
        chain.table_is_now = true;
    }
    if (adapts && drawn.v < WALK_SHARE) {
        const long long d = state->order[k];
        state->step_count[d] += 1;
        state->log_step[d] = adapted(state->log_step[d], state->step_count[d], log_ratio, FACTOR_ACCEPTANCE);
    }
}

// All steps of factor j of term k.
UNIT void step_factor(int k, int j, bool adapts) {
    const int feature = chain.state->features[k][j];
    for (int turn = 0; turn < chain.settings->factor_steps; ++turn) {
        if (leader()) {
            chain.log_ratio = propose_factor(k, turn);
            chain.inside = chain.log_ratio > minus_infinity();
        }
        __syncthreads();
        bool possible = chain.inside;
        if (possible) {
            const double c = factor_table(j, feature, chain.point[NEXT][LOCATION], chain.point[NEXT][SCALE]);
            possible = c >= SMALLEST_MEAN;
            if (possible) bin_moments(feature, j);
        } else {
            // The leader is not to propose again before all have seen that there is nothing to do.
            __syncthreads();
        }
        if (leader()) judge_step(k, turn, possible, adapts);
    }
}

// Take location, scale and coefficient over, which change the log-likelihood by so much: the leader's work.
INTERNAL void take_numbers(int k, int j, double change) {
    State* state = chain.state;
    state->scalar[FIT_LOGLIK] += change;
    state->beta[k] = chain.beta;
    state->b[k][j] = chain.point[NOW][LOCATION];
    state->gamma[k][j] = chain.point[NOW][SCALE];
    if (chain.moved) state->tally[FACTOR][1] += 1;
}

// Draw the coefficient where the steps have ended; if the log-likelihood is quadratic, that is all: the leader's work.
UNIT void draw_refitted(int k, int j) {
    const double* now = chain.point[NOW];
    const double scale = likelihood_scale();
    const double precision = scale * now[NORM] + 1.0 / chain.state->scalar[SIGMA_BETA2];
    const double u = uniforms(chain.state, FOR_FACTOR, k, 1).u;
    chain.old_beta = chain.state->beta[k];
    chain.beta = scale * now[DOT] / precision + normal_quantile(u) / sqrt(precision);
    chain.log_ratio = fitted_gain(chain.beta, now[DOT], now[NORM]) - chain.kept[OLD_GAIN];
    if (chain.settings->quadratic) take_numbers(k, j, chain.log_ratio);
}

// Judge what the steps have come to by the log-likelihood at chain.sums[0]: the leader's work.
UNIT void judge_factor(int k, int j) {
    const double change = chain.sums[0] - chain.state->scalar[FIT_LOGLIK];
    const double v = uniforms(chain.state, FOR_FACTOR, k, 1).v;
    chain.accepted = log(v) < likelihood_scale() * (change - chain.log_ratio);
    if (chain.accepted) take_numbers(k, j, change);
}

// Let the rows follow, once they agree.
UNIT void take_factor(int k, int j) {
    const int* features = chain.state->features[k];
    const int row = chain.moved ? (int)chain.settings->K_max : k;
    if (chain.moved) {
        if (!chain.table_is_now) {
            factor_table(j, features[j], chain.point[NOW][LOCATION], chain.point[NOW][SCALE]);
            __syncthreads();
        }
        for (int i = 0; i < chain.state->order[k]; ++i) multiply_factor(features[i], i, row);
    }
    if (!chain.settings->quadratic) {
        evaluate_change(k, chain.old_beta, row, chain.beta);
        if (leader()) judge_factor(k, j);
        __syncthreads();
        if (!chain.accepted) return;
    }
    replace_term(k, chain.old_beta, row, chain.beta);
}

// Draw location and scale of one factor of term k, and its coefficient.
INTERNAL void refit_factor(int k, bool warming_up) {
    const int d = (int)chain.state->order[k];
    if (leader()) {
        const int pick = (int)(uniforms(chain.state, FOR_FACTOR, k, 0).u * d);
        chain.factor = pick < d - 1 ? pick : d - 1;
        chain.state->tally[FACTOR][0] += 1;
    }
    clear_bins();
    if (!factor_tables(k, d)) return;
    const int j = chain.factor;
    add_bins(k, j);
    __syncthreads();
    bin_moments(chain.state->features[k][j], j);
    if (leader()) begin_steps(k, j);
    step_factor(k, j, warming_up && chain.settings->adapt);
    if (leader()) draw_refitted(k, j);
    __syncthreads();
    take_factor(k, j);
}

}  // namespace raytpnn
