"""Sets that births draw more often: those of a table, and those of features with large weights.

A table holds sets of one, two or three features, each in ascending order and filled up with -1, sorted, and a
weight for each. What is drawn from it has a known probability: the ratio of a birth or a death needs no more.
"""

from __future__ import annotations

from raytpnn.engine.jit.pointers import doubles, integers
from raytpnn.engine.rows.feature_sets import LEAST_SHARE
from raytpnn.numerics.elementary import exp
from raytpnn.numerics.jit import internal

__all__ = ["draw_table_set", "table_probability", "take_proposals", "weighted_probability"]

# Features of a set in a table at most, and of one whose features are drawn by weight.
MOST_IN_TABLE = 3


@internal
def take_proposals(part, problem):
    """Let the problem of a subset of the rows draw features and sets as the whole one does."""
    part.feature_weight = problem.feature_weight
    part.cumulative = problem.cumulative
    part.weighted_births = problem.weighted_births
    part.table_share = problem.table_share
    part.table_size = problem.table_size
    part.table_sets = problem.table_sets
    part.table_weight = problem.table_weight
    part.table_cumulative = problem.table_cumulative


@internal
def draw_table_set(problem, work, u):
    """Set of the table, by weight, from one uniform, into work.trial_features; returns its order."""
    size = problem.table_size
    cumulative = doubles(problem.table_cumulative, size + 1)
    target = u * cumulative[size]
    low = 0
    high = size - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle + 1] > target:
            high = middle
        else:
            low = middle + 1
    sets = integers(problem.table_sets, MOST_IN_TABLE * size)
    d = 0
    while d < MOST_IN_TABLE and sets[MOST_IN_TABLE * low + d] >= 0:
        work.trial_features[0, d] = sets[MOST_IN_TABLE * low + d]
        d += 1
    return d


@internal
def is_before(sets, at, first, second, third):
    """Whether the set at a place of the table comes before another, each a row of three numbers."""
    start = MOST_IN_TABLE * at
    if sets[start] != first:
        return sets[start] < first
    if sets[start + 1] != second:
        return sets[start + 1] < second
    return sets[start + 2] < third


@internal
def table_probability(problem, features, d):
    """Probability of the set of the first d features, in any order, among those of the table."""
    size = problem.table_size
    if d > MOST_IN_TABLE or size == 0:
        return 0.0
    first = int(features[0])
    second = int(features[1]) if d > 1 else -1
    third = int(features[2]) if d > 2 else -1
    if d > 1 and second < first:
        first, second = second, first
    if d > 2:
        if third < second:
            second, third = third, second
        if second < first:
            first, second = second, first
    sets = integers(problem.table_sets, MOST_IN_TABLE * size)
    low = 0
    high = size - 1
    while low < high:
        middle = (low + high) // 2
        if is_before(sets, middle, first, second, third):
            low = middle + 1
        else:
            high = middle
    start = MOST_IN_TABLE * low
    if sets[start] != first or sets[start + 1] != second or sets[start + 2] != third:
        return 0.0
    whole = doubles(problem.table_cumulative, size + 1)[size]
    return doubles(problem.table_weight, size)[low] / whole


@internal
def weight_without(problem, first, second):
    """Total feature weight without one feature, or two; -1 stands for none. As `weight_off_set` has it."""
    weight = doubles(problem.feature_weight, problem.p)
    whole = doubles(problem.cumulative, problem.p + 1)[problem.p]
    total = whole - weight[first]
    if second >= 0:
        total -= weight[second]
    if total < LEAST_SHARE * whole:
        total = 0.0
        for j in range(problem.p):
            taken = (j == first) | (j == second)
            if not taken:
                total += weight[j]
    return total


@internal
def probability_in_turn(problem, features, d):
    """Probability that the first d features, at most three, are drawn one by one by weight, in any order."""
    weight = doubles(problem.feature_weight, problem.p)
    whole = doubles(problem.cumulative, problem.p + 1)[problem.p]
    total = 0.0
    for i in range(d):
        first = int(features[i])
        one = weight[first] / whole
        if d == 1:
            return one
        for j in range(d):
            if j != i:
                second = int(features[j])
                two = one * (weight[second] / weight_without(problem, first, -1))
                if d > 2:
                    third = int(features[3 - i - j])
                    two *= weight[third] / weight_without(problem, first, second)
                total += two
    return total


@internal
def weighted_probability(problem, settings, features, d):
    """Probability of a set from the prior of its order, with features by weight where that is done."""
    if not problem.weighted_births or d > MOST_IN_TABLE:
        return exp(settings.log_set_prior[d])
    share = settings.order_cumulative[d - 1]
    if d > 1:
        share -= settings.order_cumulative[d - 2]
    return share * probability_in_turn(problem, features, d)
