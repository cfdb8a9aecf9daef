// The proposal of one coefficient given the rest: a Newton step along its basis function
// (raytpnn/engine/moves/coefficient.py).
#pragma once

#include "chain.cuh"
#include "elementary.cuh"

namespace raytpnn {

// Log density of N(mean, 1 / precision).
UNIT double log_normal(double x, double mean, double precision) {
    return 0.5 * (log(precision) - LOG_2_PI) - 0.5 * (precision * (x - mean)) * (x - mean);
}

// A coefficient from the proposal; v chooses the part of the mixture, u the value.
UNIT double draw_coefficient(const Settings* settings, double u, double v, double mean, double precision,
                             double prior_precision) {
    if (!settings->conditional_beta || (settings->family != GAUSSIAN && v >= NEWTON_SHARE))
        return normal_quantile(u) / sqrt(prior_precision);
    return mean + normal_quantile(u) / sqrt(precision);
}

// Log of pi(beta) / q(beta).
UNIT double log_prior_over_proposal(const Settings* settings, double beta, double mean, double precision,
                                    double prior_precision) {
    if (!settings->conditional_beta) return 0.0;
    const double prior = log_normal(beta, 0.0, prior_precision);
    const double newton = log_normal(beta, mean, precision);
    if (settings->family == GAUSSIAN) return prior - newton;
    const double first = log(NEWTON_SHARE) + newton;
    const double second = log(1.0 - NEWTON_SHARE) + prior;
    const double largest = second > first ? second : first;
    return prior - (largest + log(exp(first - largest) + exp(second - largest)));
}

}  // namespace raytpnn
