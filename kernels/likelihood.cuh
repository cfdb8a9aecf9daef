// What a change of one term does to the log-likelihood (raytpnn/engine/moves/likelihood.py).
#pragma once

#include "rows.cuh"

namespace raytpnn {

// A term as a change sees it: its basis function, its coefficient, and the moments of the function with the
// derivatives at the fit without the term.
struct Weighed {
    int row;
    double beta;
    double dot, norm;
};

// Pass over the rows that `log_likelihood_change` needs: none for a Gaussian.
INTERNAL void evaluate_change(Chain& chain, int old_row, double old_beta, int new_row, double new_beta) {
    if (chain.settings->family != GAUSSIAN)
        evaluate(chain, fit_of(chain), old_row, old_beta, new_row, new_beta, LIKELIHOOD, 0, chain.trial_features, 0);
}

// Unscaled change of the log-likelihood when a term replaces another, after `evaluate_change`: the leader's.
INTERNAL double log_likelihood_change(const Chain& chain, Weighed old_term, Weighed new_term) {
    if (chain.settings->family == GAUSSIAN) {
        const double gain = new_term.beta * new_term.dot - (0.5 * new_term.norm) * (new_term.beta * new_term.beta);
        const double loss = old_term.beta * old_term.dot - (0.5 * old_term.norm) * (old_term.beta * old_term.beta);
        return gain - loss;
    }
    return chain.sums[0] - chain.state->scalar[FIT_LOGLIK];
}

}  // namespace raytpnn
