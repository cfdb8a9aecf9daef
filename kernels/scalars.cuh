// Intercept, noise variance and the learned scales (raytpnn/engine/moves/scalars.py).
#pragma once

#include "coefficient.cuh"
#include "random.cuh"
#include "rows.cuh"

namespace raytpnn {

// Sums of score and curvature at sums[1] and [2], and the log-likelihood at sums[0], at the fit.
INTERNAL void totals(Chain& chain) { evaluate_at(chain, fit_of(chain), DERIVATIVES + LIKELIHOOD + TOTALS); }

// Mean and precision of the intercept's proposal.
struct NewtonStep {
    double mean, precision;
};

INTERNAL NewtonStep newton_step(const Settings* settings, const State* state, double value, double score,
                                double curvature) {
    const double scale = state->scalar[TEMPERATURE] / state->scalar[NUISANCE];
    const double precision = scale * curvature + settings->intercept_precision;
    const double gradient = scale * score - settings->intercept_precision * (value - settings->intercept_mean);
    return {value + gradient / precision, precision};
}

// Newton proposal of the intercept, exact for the Gaussian; leaves the fit's log-likelihood fresh.
UNIT void update_intercept(Chain& chain) {
    const Settings* settings = chain.settings;
    State* state = chain.state;
    const double old_value = state->scalar[INTERCEPT];
    totals(chain);
    const double loglik = chain.sums[0];
    NewtonStep forth = {0.0, 1.0};
    Uniforms drawn = {0.5, 0.5};
    if (leader()) {
        forth = newton_step(settings, state, old_value, chain.sums[1], chain.sums[2]);
        drawn = uniforms(state, FOR_INTERCEPT, 0, 0);
        chain.intercept = forth.mean + normal_quantile(drawn.u) / sqrt(forth.precision);
    }
    __syncthreads();
    const double new_value = chain.intercept;
    shift_fit(chain, new_value - old_value);
    totals(chain);
    if (leader()) {
        state->tally[INTERCEPT_MOVE][0] += 1;
        bool accepted = true;
        if (settings->family != GAUSSIAN) {
            const NewtonStep back = newton_step(settings, state, new_value, chain.sums[1], chain.sums[2]);
            const double scale = state->scalar[TEMPERATURE] / state->scalar[NUISANCE];
            double log_ratio = scale * (chain.sums[0] - loglik);
            log_ratio += log_normal(new_value, settings->intercept_mean, settings->intercept_precision);
            log_ratio -= log_normal(old_value, settings->intercept_mean, settings->intercept_precision);
            log_ratio += log_normal(old_value, back.mean, back.precision) -
                         log_normal(new_value, forth.mean, forth.precision);
            accepted = log(drawn.v) < log_ratio;
        }
        if (accepted) {
            state->scalar[INTERCEPT] = new_value;
            state->scalar[FIT_LOGLIK] = chain.sums[0];
            state->tally[INTERCEPT_MOVE][1] += 1;
        } else {
            state->scalar[FIT_LOGLIK] = loglik;
        }
        chain.accepted = accepted;
    }
    __syncthreads();
    if (!chain.accepted) shift_fit(chain, old_value - new_value);
}

// Log-likelihood of the fit from the rows, free of what increments have rounded away.
UNIT void refresh_likelihood(Chain& chain) {
    totals(chain);
    if (leader()) chain.state->scalar[FIT_LOGLIK] = chain.sums[0];
    __syncthreads();
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
