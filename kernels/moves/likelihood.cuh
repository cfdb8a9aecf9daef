// What a change of one term does to the log-likelihood (raytpnn/engine/moves/likelihood.py).
#pragma once

#include "rows/rows.cuh"

namespace raytpnn {

// Pass over the rows that `log_likelihood_change` needs: none if the log-likelihood is quadratic.
INTERNAL void evaluate_change(int old_row, double old_beta, int new_row, double new_beta) {
    if (!chain.settings->quadratic)
        evaluate(fit_of(), old_row, old_beta, new_row, new_beta, LIKELIHOOD, 0);
}

// Unscaled change of the log-likelihood when one term replaces another, after `evaluate_change`: the leader's work.
// The moments (dot, norm) are with the derivatives at the fit without the term. If the log-likelihood is
// quadratic, they say it all.
INTERNAL double log_likelihood_change(double old_beta, const double* old_moments, double new_beta,
                                      const double* new_moments) {
    if (chain.settings->quadratic) {
        const double gain = new_beta * new_moments[0] - (0.5 * new_moments[1]) * (new_beta * new_beta);
        const double loss = old_beta * old_moments[0] - (0.5 * old_moments[1]) * (old_beta * old_beta);
        return gain - loss;
    }
    return chain.sums[0] - chain.state->scalar[FIT_LOGLIK];
}

}  // namespace raytpnn
