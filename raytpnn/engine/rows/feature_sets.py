"""Drawing features off a set, and what a set's proposal costs."""

from __future__ import annotations

from raytpnn.engine.jit.pointers import doubles
from raytpnn.numerics.elementary import exp, log
from raytpnn.numerics.jit import internal

__all__ = [
    "contains",
    "draw_off_set",
    "extension_weight",
    "has_set",
    "log_set_weight",
    "sort_set",
    "terms_on_set",
    "weight_off_set",
]

# Where a set leaves less than this share of all weight, its complement is summed feature by feature: a
# difference of two sums, and of two cumulative weights, would be mostly rounding.
LEAST_SHARE = 2.0**-20


@internal
def contains(features, d, feature):
    """Whether `feature` is one of the first d."""
    found = False
    for i in range(d):
        found |= features[i] == feature
    return found


@internal
def sort_set(work, features, d):
    """Insertion sort of the first d features into work.sorted_set."""
    out = work.sorted_set[0]
    for i in range(d):
        value = features[i]
        place = i
        while place > 0 and out[place - 1] > value:
            out[place] = out[place - 1]
            place -= 1
        out[place] = value


@internal
def sum_off_set(problem, features, d):
    """Sum of the feature weights outside the set, feature by feature."""
    weight = doubles(problem.feature_weight, problem.p)
    total = 0.0
    for j in range(problem.p):
        if not contains(features, d, j):
            total += weight[j]
    return total


@internal
def weight_off_set(problem, features, d):
    """Total feature weight outside the set."""
    weight = doubles(problem.feature_weight, problem.p)
    whole = doubles(problem.cumulative, problem.p + 1)[problem.p]
    total = whole
    for i in range(d):
        total -= weight[features[i]]
    if total < LEAST_SHARE * whole:
        return sum_off_set(problem, features, d)
    return total


@internal
def pick_off_set(problem, features, d, target):
    """First feature outside the set at which the sum of `sum_off_set` exceeds the target."""
    weight = doubles(problem.feature_weight, problem.p)
    picked = -1
    total = 0.0
    for j in range(problem.p):
        if total <= target and not contains(features, d, j):
            total += weight[j]
            picked = j
    return picked


@internal
def draw_off_set(problem, work, features, d, u):
    """A feature outside the set, by weight, from one uniform; -1 if rounding led into the set.

    The intervals of the set are cut out of the cumulative weights; no feature is tried and thrown away.
    """
    weight = doubles(problem.feature_weight, problem.p)
    cumulative = doubles(problem.cumulative, problem.p + 1)
    total = weight_off_set(problem, features, d)
    target = u * total
    if total < LEAST_SHARE * cumulative[problem.p]:
        return pick_off_set(problem, features, d, target)
    sort_set(work, features, d)
    for i in range(d):
        member = work.sorted_set[0, i]
        if target >= cumulative[member]:
            target += weight[member]
    low = 0
    high = problem.p - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle + 1] > target:
            high = middle
        else:
            low = middle + 1
    if contains(features, d, low):
        return -1
    return low


@internal
def extension_weight(problem, state, features, d, skip):
    """Sum over terms k (but `skip`) with S_k + {j} equal to the set: w_j / weight off S_k."""
    total = 0.0
    for k in range(state.K):
        if k != skip and state.order[k] == d - 1:
            smaller = state.features[k]
            added = -1
            missing = 0
            for i in range(d):
                if not contains(smaller, d - 1, int(features[i])):
                    added = features[i]
                    missing += 1
            if missing == 1:
                weight = doubles(problem.feature_weight, problem.p)[added]
                total += weight / weight_off_set(problem, smaller, d - 1)
    return total


@internal
def has_set(state, k, features, d):
    """Whether the set of term k equals the first d features, in any order."""
    same = state.order[k] == d
    if same:
        for i in range(d):
            same = same and contains(state.features[k], d, int(features[i]))
    return same


@internal
def terms_on_set(state, features, d, skip):
    """Number of terms, except `skip`, whose set equals the first d features."""
    count = 0
    for k in range(state.K):
        if k != skip and has_set(state, k, features, d):
            count += 1
    return count


@internal
def log_set_weight(settings, state, features, d, skip):
    """Log of what the prior of a term's set given the others is proportional to, all terms but `skip`.

    Where terms share sets: the probability of the set by itself, and `sharing` for every term that has it.
    """
    if settings.sharing == 0.0:
        return settings.log_set_prior[d]
    return log(exp(settings.log_set_prior[d]) + settings.sharing * terms_on_set(state, features, d, skip))
