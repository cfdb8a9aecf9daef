"""How strongly features act together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.norms import Norms, gathered
from raytpnn.posterior.effects.components import by_importance, check_level, label

__all__ = ["interaction_table", "pair_norms"]


def interaction_table(ensemble: Ensemble, norms: Norms, names: Sequence[str], level: float) -> pd.DataFrame:
    """Pairs of features that some component holds, the strongest first.

    The strength of a pair in a draw is the root of the sum of the squared norms of the components that hold
    both features, of any order; components are orthogonal under the product of marginals, so that this is the
    norm of their sum there.

    Parameters
    ----------
    ensemble : Ensemble
    norms : Norms
    names : sequence of str
        Names of all encoded features.
    level : float
        Posterior probability of the interval of the strength, with equal tails.

    Returns
    -------
    DataFrame
        pair (tuple of two names), importance (posterior mean of the strength), importance_low,
        importance_high, share_of_draws (in which the strength is not negligible), components
        (how many different components hold both in some draw).
    """
    check_level(level)
    pairs, count, strength = pair_norms(ensemble, norms)
    table = pd.DataFrame(
        {
            "pair": pd.Series([label(pair, names) for pair in pairs], dtype=object),
            "importance": strength.mean,
            "importance_low": strength.quantile((1.0 - level) / 2.0),
            "importance_high": strength.quantile((1.0 + level) / 2.0),
            "share_of_draws": strength.share_of_draws,
            "components": count,
        }
    )
    return table.iloc[by_importance(strength)].reset_index(drop=True)


def pair_norms(ensemble: Ensemble, norms: Norms) -> tuple[list[tuple[int, int]], np.ndarray, Norms]:
    """Strength of every pair in every draw.

    Returns
    -------
    pairs : list of pairs of int
        Encoded features, ascending.
    count : (pairs,) int64
        Components that hold the pair.
    strength : Norms
        With pairs in the place of components.
    """
    place: dict[tuple[int, int], int] = {}
    holder, pair = [], []
    for component, features in enumerate(ensemble.components):
        for both in combinations(features, 2):
            holder.append(component)
            pair.append(place.setdefault(both, len(place)))
    by_component = np.array(holder, np.int64)
    pair_of = np.array(pair, np.int64)
    strength = gathered(norms, by_component, pair_of, len(place))
    return list(place), np.bincount(pair_of, minlength=len(place)), strength
