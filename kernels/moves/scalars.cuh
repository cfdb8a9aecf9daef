// Intercept, dispersion and the learned scales (raytpnn/engine/moves/scalars.py).
#pragma once

#include "core/random.cuh"
#include "moves/coefficient.cuh"
#include "rows/rows.cuh"

namespace raytpnn {

// Sums of score and curvature at sums[1] and [2], and the log-likelihood at sums[0], at the fit.
INTERNAL void totals() { evaluate_at(fit_of(), DERIVATIVES + LIKELIHOOD + TOTALS); }

// Mean and precision of the intercept's proposal from `value`, with the totals there.
struct NewtonStep {
    double mean, precision;
};

INTERNAL NewtonStep newton_step(double value) {
    const Settings* settings = chain.settings;
    const double scale = likelihood_scale();
    const double precision = scale * chain.sums[2] + settings->intercept_precision;
    const double gradient = scale * chain.sums[1] - settings->intercept_precision * (value - settings->intercept_mean);
    return {value + gradient / precision, precision};
}

// Newton proposal of the intercept, exact if quadratic; leaves the fit's log-likelihood fresh.
UNIT void update_intercept() {
    const Settings* settings = chain.settings;
    totals();
    if (leader()) {
        const NewtonStep forth = newton_step(chain.state->scalar[INTERCEPT]);
        const double u = uniforms(chain.state, FOR_INTERCEPT, 0, 0).u;
        chain.intercept = forth.mean + normal_quantile(u) / sqrt(forth.precision);
        chain.kept[0] = chain.sums[0];
        chain.kept[1] = forth.mean;
        chain.kept[2] = forth.precision;
    }
    __syncthreads();
    shift_fit(chain.intercept - chain.state->scalar[INTERCEPT]);
    totals();
    if (leader()) {
        State* state = chain.state;
        const double old_value = state->scalar[INTERCEPT], new_value = chain.intercept;
        const double loglik = chain.kept[0];
        state->tally[INTERCEPT_MOVE][0] += 1;
        chain.accepted = true;
        if (!settings->quadratic) {
            const NewtonStep back = newton_step(new_value);
            double log_ratio = likelihood_scale() * (chain.sums[0] - loglik);
            log_ratio += log_normal(new_value, settings->intercept_mean, settings->intercept_precision);
            log_ratio -= log_normal(old_value, settings->intercept_mean, settings->intercept_precision);
            log_ratio += log_normal(old_value, back.mean, back.precision) -
                         log_normal(new_value, chain.kept[1], chain.kept[2]);
            chain.accepted = log(uniforms(state, FOR_INTERCEPT, 0, 0).v) < log_ratio;
        }
        if (chain.accepted) {
            state->scalar[INTERCEPT] = new_value;
            state->scalar[FIT_LOGLIK] = chain.sums[0];
            state->tally[INTERCEPT_MOVE][1] += 1;
        } else {
            state->scalar[FIT_LOGLIK] = loglik;
        }
    }
    __syncthreads();
    if (!chain.accepted) shift_fit(chain.state->scalar[INTERCEPT] - chain.intercept);
}

// Log-likelihood of the fit from the rows, free of what increments have rounded away; at sums[0] too.
UNIT void refresh_likelihood() {
    totals();
    if (leader()) chain.state->scalar[FIT_LOGLIK] = chain.sums[0];
}

// Shape of the inverse gamma conditional of a dispersion that divides the log-likelihood.
INTERNAL double dispersion_shape(const Settings* settings, const State* state) {
    return 0.5 * settings->v + settings->dispersion_power * (state->scalar[TEMPERATURE] * settings->weight_sum);
}

// Random walk of the log of a dispersion that stands in the rows.
UNIT void step_dispersion() {
    const Settings* settings = chain.settings;
    State* state = chain.state;
    if (leader()) {
        const double u = uniforms(state, FOR_NUISANCE, 0, 0).u;
        const double log_step = WALK_WIDTH * normal_quantile(u) / sqrt(dispersion_shape(settings, state));
        chain.kept[0] = state->scalar[NUISANCE];
        chain.kept[1] = log_step;
        state->scalar[NUISANCE] = chain.kept[0] * exp(log_step);
    }
    __syncthreads();
    evaluate_at(fit_of(), LIKELIHOOD);
    if (leader()) {
        const double old_value = chain.kept[0], new_value = state->scalar[NUISANCE], log_step = chain.kept[1];
        double log_ratio = state->scalar[TEMPERATURE] * (chain.sums[0] - state->scalar[FIT_LOGLIK]);
        log_ratio -= 0.5 * (settings->v * log_step + settings->v_lambda * (1.0 / new_value - 1.0 / old_value));
        if (log(uniforms(state, FOR_NUISANCE, 0, 0).v) < log_ratio)
            state->scalar[FIT_LOGLIK] = chain.sums[0];
        else
            state->scalar[NUISANCE] = old_value;
    }
}

// Dispersion from its inverse gamma conditional, or by a random walk if it stands in the rows. It is the leader's
// until the next barrier.
UNIT void draw_nuisance() {
    const Settings* settings = chain.settings;
    if (!settings->dispersion) return;
    if (settings->dispersion_in_rows) {
        step_dispersion();
    } else if (leader()) {
        State* state = chain.state;
        const double rate = 0.5 * settings->v_lambda - state->scalar[TEMPERATURE] * state->scalar[FIT_LOGLIK];
        const double shape = dispersion_shape(settings, state);
        state->scalar[NUISANCE] = rate / gamma_variate(state, FOR_NUISANCE, 0, shape);
    }
}

// Learned scales from their inverse gamma conditionals: the leader's work.
UNIT void draw_scales(const Settings* settings, State* state) {
    int variables = 0;
    double gamma_sum = 0.0;
    double square_sum = 0.0;
    for (int k = 0; k < state->K; ++k) {
        square_sum += state->beta[k] * state->beta[k];
        for (int j = 0; j < state->order[k]; ++j) {
            ++variables;
            gamma_sum += state->gamma[k][j];
        }
    }
    if (settings->learn_b_gamma) {
        const double shape = settings->b_gamma_shape + settings->a_gamma * variables;
        const double variate = gamma_variate(state, FOR_SCALES, 0, shape);
        state->scalar[B_GAMMA] = (settings->b_gamma_scale + gamma_sum) / variate;
    }
    if (settings->learn_sigma_beta2) {
        const double shape = settings->sigma_beta2_shape + 0.5 * (double)state->K;
        const double variate = gamma_variate(state, FOR_SCALES, 1, shape);
        state->scalar[SIGMA_BETA2] = (settings->sigma_beta2_scale + 0.5 * square_sum) / variate;
    }
}

}  // namespace raytpnn
