"""Sizes of the leading effects in every draw, as chains are compared by them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from raytpnn.forward.probe import Sizes

__all__ = ["effects"]

# An effect leads if its mean importance is at least this part of the total of all effects of its kind. One
# that few draws hold is left out by it: chains need not agree on what hardly matters.
LEADING_SHARE = 0.05
MOST_LEADING = 10


def effects(chains: Sequence[Sizes], draws: int, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Importance of the leading features and components in every draw, (chains, draws) each.

    "component[a x b]" is the size of the component of a and b over the probe rows, 0 where it is absent;
    "importance[a]" is the root of the sum of the squared sizes of the components that hold feature a.

    Parameters
    ----------
    chains : sequence of Sizes
        A chain each, of as many draws.
    draws : int
    names : sequence of str
        Of the features.
    """
    sets: dict[tuple[int, ...], int] = {}
    place = [np.array([sets.setdefault(own, len(sets)) for own in sizes.sets], np.int64) for sizes in chains]
    if not sets:
        return {}
    cell = np.concatenate([i * draws + sizes.draw.astype(np.int64) for i, sizes in enumerate(chains)])
    number = np.concatenate([own[sizes.component] for own, sizes in zip(place, chains, strict=True)])
    size = np.concatenate([sizes.size for sizes in chains]).astype(np.float64)
    shape = len(chains), draws
    ordered = sorted(sets, key=lambda own: (len(own), own))
    rank = np.empty(len(sets), np.int64)
    rank[[sets[own] for own in ordered]] = np.arange(len(sets))
    by_feature = feature_sizes(cell, rank[number], size, ordered, draws * len(chains))
    found: dict[str, np.ndarray] = {}
    for feature, values in by_feature.items():
        found[f"importance[{names[feature]}]"] = values.reshape(shape)
    order = rank[number]
    for component in leading(np.bincount(order, size, minlength=len(sets))):
        label = " x ".join(names[feature] for feature in ordered[component])
        mine = order == component
        values = np.zeros(shape)
        values.flat[cell[mine]] = size[mine]
        found[f"component[{label}]"] = values
    return found


def feature_sizes(
    cell: np.ndarray, component: np.ndarray, size: np.ndarray, sets: Sequence[tuple[int, ...]], cells: int
) -> dict[int, np.ndarray]:
    """Importance of the leading features in every draw, (cells,) each, by feature."""
    orders = np.array([len(own) for own in sets], np.int64)
    start = np.concatenate([[0], np.cumsum(orders)])
    used, feature_of = np.unique([feature for own in sets for feature in own], return_inverse=True)
    times = orders[component]
    holder = np.repeat(np.arange(len(component)), times)
    within = np.arange(len(holder)) - np.repeat(np.cumsum(times) - times, times)
    feature = feature_of[start[component[holder]] + within]
    # Of every feature and draw, once: the root of what its components add up to.
    key, at = np.unique(feature * cells + cell[holder], return_inverse=True)
    importance = np.sqrt(np.bincount(at, size[holder] ** 2, minlength=len(key)))
    owner = key // cells
    result = {}
    for lead in leading(np.bincount(owner, importance, minlength=len(used))):
        values = np.zeros(cells)
        mine = owner == lead
        values[key[mine] % cells] = importance[mine]
        result[int(used[lead])] = values
    return result


def leading(total: np.ndarray) -> list[int]:
    """The largest of some totals, at most ten, each at least a twentieth of their sum."""
    order = np.argsort(-total, kind="stable")[:MOST_LEADING]
    return [int(i) for i in order if total[i] > 0.0 and total[i] >= LEADING_SHARE * total.sum()]
