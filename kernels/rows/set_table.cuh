// Sets that births draw more often (raytpnn/engine/rows/set_table.py): the leader's work.
#pragma once

#include "core/chain.cuh"

namespace raytpnn {

// Set of the table, by weight, from one uniform, into the trial; returns its order.
UNIT int draw_table_set(double u) {
    const Problem* problem = chain.problem;
    const double* cumulative = at<const double>(problem->table_cumulative);
    const long long size = problem->table_size;
    const double target = u * cumulative[size];
    long long low = 0;
    long long high = size - 1;
    while (low < high) {
        const long long middle = (low + high) / 2;
        if (cumulative[middle + 1] > target)
            high = middle;
        else
            low = middle + 1;
    }
    const long long* set = at<const long long>(problem->table_sets) + MOST_IN_TABLE * low;
    int d = 0;
    for (; d < MOST_IN_TABLE && set[d] >= 0; ++d) chain.trial_features[d] = (int)set[d];
    return d;
}

// Whether a set of the table comes before another, each a row of three numbers.
INTERNAL bool is_before(const long long* set, long long first, long long second, long long third) {
    if (set[0] != first) return set[0] < first;
    if (set[1] != second) return set[1] < second;
    return set[2] < third;
}

// Probability of the set of the first d features, in any order, among those of the table.
UNIT double table_probability(const int* features, int d) {
    const Problem* problem = chain.problem;
    const long long size = problem->table_size;
    if (d > MOST_IN_TABLE || size == 0) return 0.0;
    long long set[MOST_IN_TABLE] = {features[0], d > 1 ? features[1] : -1, d > 2 ? features[2] : -1};
    for (int i = 1; i < d; ++i)
        for (int j = i; j > 0 && set[j] < set[j - 1]; --j) {
            const long long larger = set[j - 1];
            set[j - 1] = set[j];
            set[j] = larger;
        }
    const long long* sets = at<const long long>(problem->table_sets);
    long long low = 0;
    long long high = size - 1;
    while (low < high) {
        const long long middle = (low + high) / 2;
        if (is_before(sets + MOST_IN_TABLE * middle, set[0], set[1], set[2]))
            low = middle + 1;
        else
            high = middle;
    }
    const long long* found = sets + MOST_IN_TABLE * low;
    if (found[0] != set[0] || found[1] != set[1] || found[2] != set[2]) return 0.0;
    return at<const double>(problem->table_weight)[low] / at<const double>(problem->table_cumulative)[size];
}

// Total feature weight without one feature, or two; -1 stands for none. As weight_off_set has it.
UNIT double weight_without(int first, int second) {
    const Problem* problem = chain.problem;
    const double* weight = at<const double>(problem->feature_weight);
    const double whole = at<const double>(problem->cumulative)[problem->p];
    double total = whole - weight[first];
    if (second >= 0) total -= weight[second];
    if (total < LEAST_SHARE * whole) {
        total = 0.0;
        for (int j = 0; j < problem->p; ++j)
            if (j != first && j != second) total += weight[j];
    }
    return total;
}

// Probability that the first d features, at most three, are drawn one by one by weight, in any order.
UNIT double probability_in_turn(const int* features, int d) {
    const double* weight = at<const double>(chain.problem->feature_weight);
    const double whole = at<const double>(chain.problem->cumulative)[chain.problem->p];
    double total = 0.0;
    for (int i = 0; i < d; ++i) {
        const int first = features[i];
        const double one = weight[first] / whole;
        if (d == 1) return one;
        for (int j = 0; j < d; ++j) {
            if (j == i) continue;
            const int second = features[j];
            double two = one * (weight[second] / weight_without(first, -1));
            if (d > 2) two *= weight[features[3 - i - j]] / weight_without(first, second);
            total += two;
        }
    }
    return total;
}

// Probability of a set from the prior of its order, with features by weight where that is done.
INTERNAL double weighted_probability(const int* features, int d) {
    const Settings* settings = chain.settings;
    if (!chain.problem->weighted_births || d > MOST_IN_TABLE) return exp(settings->log_set_prior[d]);
    double share = settings->order_cumulative[d - 1];
    if (d > 1) share -= settings->order_cumulative[d - 2];
    return share * probability_in_turn(features, d);
}

}  // namespace raytpnn
