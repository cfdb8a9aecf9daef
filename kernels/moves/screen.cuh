// Delayed acceptance: proposals are screened on a subset of the rows, survivors checked on all of them
// (raytpnn/engine/moves/delayed_acceptance.py).
//
// Passes over rows look at what `Chain` tells them to: the leader turns all of them to the subset, and back. Births
// come before other moves, so that these need not say that they used the subset's derivatives.
#pragma once

#include "moves/coefficient.cuh"
#include "moves/screen_plan.cuh"
#include "moves/trial.cuh"
#include "rows/subset.cuh"

namespace raytpnn {

// Let passes look at the subset, or at all rows.
UNIT void look_at(bool subset) {
    // Some may still be in the pass before.
    __syncthreads();
    if (leader()) {
        chain.problem = subset ? &chain.part : chain.whole;
        chain.work = subset ? &chain.part_work : chain.whole_work;
        chain.rows = subset ? at<long long>(chain.whole_work->batch_rows) : nullptr;
    }
    __syncthreads();
}

// Draw the subset of a sweep, and what it needs of the fit.
UNIT void begin_screening() {
    take_subset();
    gather_fit();
    if (leader()) chain.part_work.at_fit = 0;
}

// Log evidence of a coefficient from the moments along its basis function, and its squared z-score.
struct Evidence {
    double value, square;
};

UNIT Evidence log_evidence(const double* moments) {
    const double scale = likelihood_scale();
    const double prior_precision = 1.0 / chain.state->scalar[SIGMA_BETA2];
    const double precision = scale * moments[1] + prior_precision;
    const double slope = scale * moments[0];
    const double square = slope * slope / precision;
    return {0.5 * (log(prior_precision) - log(precision)) + 0.5 * square, square};
}

// Variance of a scaled sum over the subset, in units of what a row adds to the sum over all.
INTERNAL double excess() { return (double)chain.whole->n_all / (double)chain.settings->batch - 1.0; }

// What is left of a log ratio beyond its uncertainty: an odd function of it. `squares` is the sum of the squared
// z-scores that it was made from.
UNIT double beyond_margin(double log_ratio, double squares) {
    const double margin = MARGIN * sqrt(excess() * (squares + excess()));
    if (log_ratio > margin) return log_ratio - margin;
    if (log_ratio < -margin) return log_ratio + margin;
    return 0.0;
}

// Log R* of a birth from the moments of the new basis function, the set part in chain.log_ratio; that of the death
// is its negative.
INTERNAL double log_birth_screen(const double* moments) {
    const Evidence evidence = log_evidence(moments);
    // Noise alone adds the excess to the squared z-score.
    return beyond_margin(chain.log_ratio + evidence.value - 0.5 * excess(), evidence.square);
}

// Log R* of putting the trial in the place of a term.
INTERNAL double log_restructure_screen(const double* old_moments, const double* moments) {
    const Evidence old = log_evidence(old_moments), evidence = log_evidence(moments);
    return beyond_margin(chain.log_ratio + (evidence.value - old.value), evidence.square + old.square);
}

// Let a proposal pass with probability min(1, R*): the leader's work.
UNIT void judge(int group, int slot, double log_screen) {
    chain.log_screen = log_screen;
    chain.passed = log(uniforms(chain.state, FOR_SCREEN, slot, 0).u) < log_screen;
    if (!chain.passed) count_proposal(group, false, false);
}

// Log ratio with which a proposal that passed the screen is accepted.
INTERNAL double second_stage(int group, double log_ratio) {
    return is_screened(group) ? log_ratio - chain.log_screen : log_ratio;
}

// Whether the birth of the trial term passes.
UNIT bool birth_passes(int slot, int d) {
    const int trial = (int)chain.settings->K_max;
    look_at(true);
    const bool built = build_trial(d, 0, trial);
    if (built) {
        derivatives_at_fit();
        phi_moments(trial);
    }
    if (leader()) judge(SCREEN_BIRTH_DEATH, slot, built ? log_birth_screen(chain.moments) : minus_infinity());
    look_at(false);
    return chain.passed;
}

// Whether the death of term k does.
UNIT bool death_passes(int slot, int k) {
    look_at(true);
    moments_without(k, chain.state->beta[k]);
    if (leader()) {
        chain.work->at_fit = 0;
        judge(SCREEN_BIRTH_DEATH, slot, -log_birth_screen(chain.old_moments));
    }
    look_at(false);
    return chain.passed;
}

// Group of the change of a set that is proposed.
INTERNAL int group_of_move() {
    return chain.move == ADDING || chain.move == DELETING ? SCREEN_ADD_DELETE : SCREEN_CHANGE;
}

// Whether the trial passes in the place of term k.
UNIT bool restructure_passes(int k, int slot) {
    const int trial = (int)chain.settings->K_max;
    look_at(true);
    if (chain.first > 0) copy_phi(k, trial);
    const bool built = build_trial(chain.order, chain.first, trial);
    if (built) {
        moments_without(k, chain.state->beta[k]);
        phi_moments(trial);
    }
    if (leader()) {
        const double screen = built ? log_restructure_screen(chain.old_moments, chain.moments) : minus_infinity();
        judge(group_of_move(), SCREEN_SLOTS + slot, screen);
    }
    look_at(false);
    return chain.passed;
}

// Put term k as it is now in the place of what the subset has of it.
UNIT void replace_in_subset(int k, double old_beta) {
    const State* state = chain.state;
    const int trial = (int)chain.settings->K_max;
    look_at(true);
    build_phi(state->features[k], state->b[k], state->gamma[k], (int)state->order[k], 0, trial);
    replace_term(k, old_beta, trial, state->beta[k]);
    if (leader()) chain.work->at_fit = 0;
    look_at(false);
}

// Let the subset follow where term k, whose coefficient was old_beta, has become what it is.
INTERNAL void follow_term(int k, double old_beta) {
    if (is_screening()) replace_in_subset(k, old_beta);
}

// Take term k from the subset, and put the last in its place.
UNIT void remove_from_subset(int k, double beta, int last) {
    look_at(true);
    replace_term(k, beta, last, 0.0);
    if (leader()) chain.work->at_fit = 0;
    look_at(false);
}

// Let the subset follow where term k has died and the last took its place.
INTERNAL void follow_death(int k, double beta, int last) {
    if (is_screening()) remove_from_subset(k, beta, last);
}

}  // namespace raytpnn
