// Which moves are screened in a sweep, and the account by which that is decided (the last part of
// raytpnn/engine/moves/delayed_acceptance.py): the leader's work.
#pragma once

#include "core/chain.cuh"

namespace raytpnn {

// Whether a group of moves is screened in this sweep.
INTERNAL bool is_screened(int group) { return SCREENED && chain.screen[group] != 0; }

// Whether any is.
INTERNAL bool is_screening() { return SCREENED && chain.screening != 0; }

// Keep account of a proposal; `passed` says whether all rows were looked at.
UNIT void note_proposal(int group, bool passed, bool accepted) {
    if (chain.settings->delayed == EXACT_ONLY) return;
    const int way = chain.screen[group];
    long long* tally = chain.state->screen_tally[group][way];
    tally[PROPOSED] += 1;
    if (way != 0) tally[ROWS] += chain.settings->batch;
    if (passed) {
        tally[PASSED] += 1;
        tally[ROWS] += chain.whole->n_all;
    }
    if (accepted) tally[ACCEPTED] += 1;
}

INTERNAL void count_proposal(int group, bool passed, bool accepted) {
    if (SCREENED) note_proposal(group, passed, accepted);
}

// Keep account of a Langevin or walk step, and of how far it led.
UNIT void note_step(int d, bool accepted, long long rows) {
    if (chain.settings->delayed == EXACT_ONLY) return;
    State* state = chain.state;
    const int way = chain.screen[SCREEN_WALK];
    long long* tally = state->screen_tally[SCREEN_WALK][way];
    tally[PROPOSED] += 1;
    tally[PASSED] += 1;
    tally[ROWS] += rows;
    if (!accepted) return;
    tally[ACCEPTED] += 1;
    const int size = 2 * d + 1;
    double total = 0.0;
    for (int i = 0; i < size; ++i) total += chain.point[SCREENED ? JUMP : HERE][i];
    state->jump[way] += total / size;
}

INTERNAL void count_step(int d, bool accepted, long long rows) {
    if (SCREENED) note_step(d, accepted, rows);
}

// Screen the groups in which that gave more accepted moves a row, or longer steps a row.
UNIT void choose_screening(State* state) {
    for (int group = 0; group < N_SCREENS; ++group) {
        const long long* plain = state->screen_tally[group][0];
        const long long* screened = state->screen_tally[group][1];
        // One more of each: a few chances more or less are not to decide.
        double gain = (double)screened[ACCEPTED] + 1.0;
        double plain_gain = (double)plain[ACCEPTED] + 1.0;
        if (group == SCREEN_WALK) {
            gain = state->jump[1];
            plain_gain = state->jump[0];
        }
        gain = gain * ((double)plain[ROWS] + 1.0);
        plain_gain = plain_gain * ((double)screened[ROWS] + 1.0);
        state->screened[group] = gain > WORTH_IT * plain_gain ? 1 : 0;
    }
}

// Start the account anew.
UNIT void forget_screening(State* state) {
    for (int way = 0; way < 2; ++way) {
        state->jump[way] = 0.0;
        for (int group = 0; group < N_SCREENS; ++group)
            for (int count = 0; count < N_COUNTS; ++count) state->screen_tally[group][way][count] = 0;
    }
}

// Set which groups are screened in sweep number `index`. If that is to be found out: none in the first third of
// warm-up, all in every other sweep of the second, those that it pays for from then on. The account is of the second
// third alone.
UNIT void set_screens(long long index, long long warmup) {
    const long long delayed = chain.settings->delayed;
    const bool tuned = delayed == DELAYED_IF_IT_PAYS;
    if (tuned && index == warmup / 3) forget_screening(chain.state);
    if (tuned && index == 2 * warmup / 3) choose_screening(chain.state);
    chain.screening = 0;
    for (int group = 0; group < N_SCREENS; ++group) {
        int on = delayed != EXACT_ONLY;
        if (tuned && index < warmup / 3)
            on = 0;
        else if (tuned && index < 2 * warmup / 3)
            on = (int)(index % 2);
        else if (tuned)
            on = (int)chain.state->screened[group];
        chain.screen[group] = on;
        chain.screening |= on;
    }
}

INTERNAL void plan_screening(long long index, long long warmup) {
    if (SCREENED) set_screens(index, warmup);
}

}  // namespace raytpnn
