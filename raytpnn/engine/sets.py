"""Drawing features off a set, and what a set's proposal costs."""

from __future__ import annotations

from raytpnn.engine.memory import doubles
from raytpnn.numerics.jit import internal

__all__ = ["contains", "draw_off_set", "draw_uniform_set", "extension_weight", "weight_off_set"]


@internal
def contains(features, d, feature):
    """Whether `feature` is one of the first d."""
    for i in range(d):
        if features[i] == feature:
            return True
    return False


@internal
def sort_set(features, d, out):
    """Insertion sort of the first d features into `out`."""
    for i in range(d):
        value = features[i]
        place = i
        while place > 0 and out[place - 1] > value:
            out[place] = out[place - 1]
            place -= 1
        out[place] = value


@internal
def weight_off_set(problem, features, d):
    """Total feature weight outside the set."""
    weight = doubles(problem.feature_weight, problem.p)
    total = doubles(problem.cumulative, problem.p + 1)[problem.p]
    for i in range(d):
        total -= weight[features[i]]
    return total


@internal
def draw_off_set(problem, features, d, u, scratch):
    """A feature outside the set, by weight, from one uniform.

    The intervals of the set are cut out of the cumulative weights; no feature is tried and thrown away.
    """
    weight = doubles(problem.feature_weight, problem.p)
    cumulative = doubles(problem.cumulative, problem.p + 1)
    sort_set(features, d, scratch)
    target = u * weight_off_set(problem, features, d)
    for i in range(d):
        if target >= cumulative[scratch[i]]:
            target += weight[scratch[i]]
    low = 0
    high = problem.p - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle + 1] > target:
            high = middle
        else:
            low = middle + 1
    return low


@internal
def draw_uniform_set(d, pick, features, scratch):
    """Turn d draws `pick[i]` in 0 ... p - i - 1 into a set of d distinct features."""
    for i in range(d):
        sort_set(features, i, scratch)
        value = pick[i]
        for s in range(i):
            if value >= scratch[s]:
                value += 1
        features[i] = value


@internal
def extension_weight(problem, state, features, d, skip):
    """Sum over terms k (but `skip`) with S_k + {j} equal to the set: w_j / weight off S_k."""
    total = 0.0
    for k in range(state.K):
        if k != skip and state.order[k] == d - 1:
            matches = 0
            for i in range(d - 1):
                if contains(features, d, state.features[k, i]):
                    matches += 1
            if matches == d - 1:
                added = -1
                for i in range(d):
                    if not contains(state.features[k], d - 1, features[i]):
                        added = features[i]
                off = weight_off_set(problem, state.features[k], d - 1)
                total += doubles(problem.feature_weight, problem.p)[added] / off
    return total
