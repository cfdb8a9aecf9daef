// Drawing features off a set, and what a set's proposal costs (raytpnn/engine/rows/feature_sets.py): the leader's work.
#pragma once

#include "core/chain.cuh"

namespace raytpnn {

INTERNAL bool contains(const int* features, int d, int feature) {
    bool found = false;
    for (int i = 0; i < d; ++i) found |= features[i] == feature;
    return found;
}

// Insertion sort of the first d features into chain.sorted_set.
INTERNAL void sort_set(const int* features, int d) {
    int* out = chain.sorted_set;
    for (int i = 0; i < d; ++i) {
        const int value = features[i];
        int place = i;
        while (place > 0 && out[place - 1] > value) {
            out[place] = out[place - 1];
            --place;
        }
        out[place] = value;
    }
}

// Sum of the feature weights outside the set, feature by feature.
UNIT double sum_off_set(const int* features, int d) {
    const double* weight = at<const double>(chain.problem->feature_weight);
    double total = 0.0;
    for (int j = 0; j < chain.problem->p; ++j)
        if (!contains(features, d, j)) total += weight[j];
    return total;
}

// Total feature weight outside the set.
INTERNAL double weight_off_set(const int* features, int d) {
    const double* weight = at<const double>(chain.problem->feature_weight);
    const double whole = at<const double>(chain.problem->cumulative)[chain.problem->p];
    double total = whole;
    for (int i = 0; i < d; ++i) total -= weight[features[i]];
    return total < LEAST_SHARE * whole ? sum_off_set(features, d) : total;
}

// First feature outside the set at which the sum of sum_off_set exceeds the target.
UNIT int pick_off_set(const int* features, int d, double target) {
    const double* weight = at<const double>(chain.problem->feature_weight);
    int picked = -1;
    double total = 0.0;
    for (int j = 0; j < chain.problem->p && total <= target; ++j) {
        if (contains(features, d, j)) continue;
        total += weight[j];
        picked = j;
    }
    return picked;
}

// A feature outside the set, by weight, from one uniform; -1 if rounding led into the set.
UNIT int draw_off_set(const int* features, int d, double u) {
    const double* weight = at<const double>(chain.problem->feature_weight);
    const double* cumulative = at<const double>(chain.problem->cumulative);
    const double total = weight_off_set(features, d);
    double target = u * total;
    if (total < LEAST_SHARE * cumulative[chain.problem->p]) return pick_off_set(features, d, target);
    sort_set(features, d);
    for (int i = 0; i < d; ++i) {
        const int member = chain.sorted_set[i];
        if (target >= cumulative[member]) target += weight[member];
    }
    int low = 0;
    int high = (int)chain.problem->p - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (cumulative[middle + 1] > target)
            high = middle;
        else
            low = middle + 1;
    }
    return contains(features, d, low) ? -1 : low;
}

// Sum over terms k (but `skip`) with S_k + {j} equal to the set: w_j / weight off S_k.
UNIT double extension_weight(const int* features, int d, int skip) {
    const State* state = chain.state;
    double total = 0.0;
    for (int k = 0; k < state->K; ++k) {
        if (k == skip || state->order[k] != d - 1) continue;
        const int* smaller = state->features[k];
        int added = -1;
        int missing = 0;
        for (int i = 0; i < d; ++i) {
            if (!contains(smaller, d - 1, features[i])) {
                added = features[i];
                ++missing;
            }
        }
        if (missing == 1) {
            const double weight = at<const double>(chain.problem->feature_weight)[added];
            total += weight / weight_off_set(smaller, d - 1);
        }
    }
    return total;
}

// Whether the set of term k is that of the first d features, in whatever order.
INTERNAL bool has_set(int k, const int* features, int d) {
    const State* state = chain.state;
    bool same = state->order[k] == d;
    for (int i = 0; same && i < d; ++i) same = contains(state->features[k], d, features[i]);
    return same;
}

// Number of terms, but `skip`, whose set is that of the first d features.
UNIT int terms_on_set(const int* features, int d, int skip) {
    int count = 0;
    for (int k = 0; k < chain.state->K; ++k) count += k != skip && has_set(k, features, d);
    return count;
}

// Log of what the prior of a term's set given the others is proportional to, all terms but `skip`.
UNIT double log_set_weight(const int* features, int d, int skip) {
    const Settings* settings = chain.settings;
    if (settings->sharing == 0.0) return settings->log_set_prior[d];
    return log(exp(settings->log_set_prior[d]) + settings->sharing * terms_on_set(features, d, skip));
}

// Set of term k into the trial; returns its order.
INTERNAL int copy_set(int k) {
    const int d = (int)chain.state->order[k];
    for (int i = 0; i < d; ++i) chain.trial_features[i] = chain.state->features[k][i];
    return d;
}

}  // namespace raytpnn
