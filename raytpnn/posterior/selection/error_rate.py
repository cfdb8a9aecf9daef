"""From p-values to q-values: every set of features has its prior share of the rate.

Benjamini and Hochberg's procedure with the prior's probabilities of sets as weights: a pair among 1,000
features must be as much more certain than one feature as there are more pairs. What is not tested has p-value
1. A group of near-equal features counts only where none of its members is selected by itself, and the rate is
that of what then remains (focused, by Katsevich, Sabatti and Bogomolov).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from raytpnn.model.prior import Prior
from raytpnn.posterior.selection.score_tests import Tested

__all__ = ["q_values"]

# Part of the share of single features that groups of them have.
SHARE_OF_GROUPS = 0.5


def q_values(tested: Sequence[Tested], n_features: int, prior: Prior | None = None) -> np.ndarray:
    """Smallest false discovery rate at which each effect is selected, (effects,); 1 at most.

    A group of which a member is selected before gets NaN: it says nothing more.

    Parameters
    ----------
    tested : sequence of Tested
    n_features : int
        Encoded features.
    prior : Prior
        Whose probabilities of orders are the weights; the default one if not given.
    """
    log_prior = (prior or Prior()).log_set_prior(n_features)
    groups = any(effect.is_group for effect in tested)
    value = np.empty(len(tested))
    for i, effect in enumerate(tested):
        share = np.exp(log_prior[min(effect.order, len(log_prior) - 1)])
        if effect.order == 1 and groups:
            share *= SHARE_OF_GROUPS if effect.is_group else 1.0 - SHARE_OF_GROUPS
        value[i] = effect.p_value / share
    order = np.argsort(value, kind="stable")
    counted = np.zeros(len(tested))
    singles: set[int] = set()
    kept_groups: list[int] = []
    covered = np.zeros(len(tested), bool)
    number = 0
    for place, i in enumerate(order):
        effect = tested[i]
        if effect.is_group:
            if singles.isdisjoint(effect.features):
                kept_groups.append(int(i))
                number += 1
            else:
                covered[i] = True
        else:
            number += 1
            if effect.order == 1:
                singles.update(effect.features)
                said = [g for g in kept_groups if effect.features[0] in tested[g].features]
                kept_groups = [g for g in kept_groups if g not in said]
                number -= len(said)
        counted[place] = number
    rate = value[order] / np.maximum(counted, 1.0)
    smallest = np.minimum.accumulate(rate[::-1])[::-1] if len(rate) else rate
    found = np.empty(len(tested))
    found[order] = np.minimum(smallest, 1.0)
    found[covered] = np.nan
    return found
