// Intercept, noise variance and the learned scales (raytpnn/engine/moves/scalars.py).
#pragma once

#include "coefficient.cuh"
#include "random.cuh"
#include "rows.cuh"

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

// Newton proposal of the intercept, exact for the Gaussian; leaves the fit's log-likelihood fresh.
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
        if (settings->family != GAUSSIAN) {
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

// Noise variance of the Gaussian from its inverse gamma conditional: the leader's work.
UNIT void draw_nuisance(const Settings* settings, State* state) {
    if (settings->family != GAUSSIAN) return;
    const double temperature = state->scalar[TEMPERATURE];
    const double squares = -2.0 * state->scalar[FIT_LOGLIK];
    const double shape = 0.5 * (settings->v + temperature * settings->weight_sum);
    const double rate = 0.5 * (settings->v_lambda + temperature * squares);
    state->scalar[NUISANCE] = rate / gamma_variate(state, FOR_NUISANCE, 0, shape);
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
