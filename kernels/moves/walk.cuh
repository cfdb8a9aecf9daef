// Random walk of the numbers of one term, in the place of its Langevin step where proposals are screened
// (raytpnn/engine/moves/random_walk.py). Its scales are curvatures from the sweep's subset, at both ends.
#pragma once

#include "moves/langevin.cuh"

namespace raytpnn {

// Propose a step from the scales of the subset; false if impossible.
UNIT bool propose_walk(int k, int d) {
    look_at(true);
    const bool possible = propose_step<false>(k, d);
    look_at(false);
    return possible;
}

// Evaluate the step proposed on all rows; false if impossible.
UNIT bool evaluate_walk(int k, int d) {
    const State* state = chain.state;
    const int trial = (int)chain.settings->K_max;
    if (!build_phi(state->features[k], chain.trial_b, chain.trial_gamma, d, 0, trial)) return false;
    evaluate(fit_of(), k, state->beta[k], trial, chain.point[THERE][2 * d], LIKELIHOOD, 0);
    return true;
}

// Log acceptance ratio of the step proposed: the leader's work.
UNIT double log_ratio_of_walk(int k, int d) {
    const State* state = chain.state;
    const double here = log_prior_of_term(chain.settings, state, state->gamma[k], state->beta[k], d);
    const double there = log_prior_of_term(chain.settings, state, chain.trial_gamma, chain.point[THERE][2 * d], d);
    const int size = 2 * d + 1;
    const double step = step_of<false>(d);
    const double back = log_proposal(chain.point[BACK_SQUARE], chain.point[BACK_LOG], step, size);
    const double forth = log_proposal(chain.point[FORTH_SQUARE], chain.point[FORTH_LOG], step, size);
    const double log_ratio = there - here + back - forth;
    return log_ratio + likelihood_scale() * (chain.sums[0] - state->scalar[FIT_LOGLIK]);
}

// Adapt the step of walks of order d: the leader's work.
UNIT void adapt_walk(int d, double log_ratio) {
    State* state = chain.state;
    state->walk_count[d] += 1;
    state->walk_step[d] = adapted(state->walk_step[d], state->walk_count[d], log_ratio, WALK_ACCEPTANCE);
}

// One random step of term k.
INTERNAL void walk(int k, bool warming_up) {
    const int d = (int)chain.state->order[k];
    const bool possible = propose_walk(k, d) && evaluate_walk(k, d);
    if (leader()) {
        const double log_ratio = possible ? log_ratio_of_walk(k, d) : minus_infinity();
        chain.accepted = log(uniforms(chain.state, FOR_LANGEVIN, k, 0).u) < log_ratio;
        chain.state->tally[LANGEVIN][0] += 1;
        count_step(d, chain.accepted, (d + 2) * chain.whole->n_all + (7 * d + 4) * chain.settings->batch);
        if (chain.accepted) {
            chain.state->tally[LANGEVIN][1] += 1;
            take_point(k, d);
        }
        if (warming_up && chain.settings->adapt) adapt_walk(d, log_ratio);
    }
    __syncthreads();
    if (chain.accepted) take_step(k);
}

}  // namespace raytpnn
