// The proposal of one coefficient given the rest: a Newton step along its basis function
// (raytpnn/engine/moves/coefficient.py).
#pragma once

#include "core/chain.cuh"
#include "core/elementary.cuh"

namespace raytpnn {

// Log density of N(mean, 1 / precision).
UNIT double log_normal(double x, double mean, double precision) {
    return 0.5 * (log(precision) - LOG_2_PI) - 0.5 * (precision * (x - mean)) * (x - mean);
}

// What row sums of log-likelihood, score and curvature are multiplied with.
INTERNAL double likelihood_scale() {
    const double temperature = chain.state->scalar[TEMPERATURE];
    return chain.settings->dispersion_in_rows ? temperature : temperature / chain.state->scalar[NUISANCE];
}

// The Newton step from the moments (dot, norm) of a basis function with the derivatives at the fit without it.
struct Newton {
    double mean, precision, prior_precision;

    INTERNAL explicit Newton(const double* moments) {
        const double scale = likelihood_scale();
        prior_precision = 1.0 / chain.state->scalar[SIGMA_BETA2];
        precision = scale * moments[1] + prior_precision;
        mean = scale * moments[0] / precision;
    }
};

// A coefficient from the proposal; v chooses the part of the mixture, u the value.
UNIT double draw_coefficient(double u, double v, const double* moments) {
    const Settings* settings = chain.settings;
    const Newton newton(moments);
    if (!settings->conditional_beta || (!settings->quadratic && v >= NEWTON_SHARE))
        return normal_quantile(u) / sqrt(newton.prior_precision);
    return newton.mean + normal_quantile(u) / sqrt(newton.precision);
}

// Log of pi(beta) / q(beta).
UNIT double log_prior_over_proposal(double beta, const double* moments) {
    if (!chain.settings->conditional_beta) return 0.0;
    const Newton step(moments);
    const double prior = log_normal(beta, 0.0, step.prior_precision);
    const double newton = log_normal(beta, step.mean, step.precision);
    if (chain.settings->quadratic) return prior - newton;
    const double first = log(NEWTON_SHARE) + newton;
    const double second = log(1.0 - NEWTON_SHARE) + prior;
    const double largest = second > first ? second : first;
    return prior - (largest + log(exp(first - largest) + exp(second - largest)));
}

}  // namespace raytpnn
