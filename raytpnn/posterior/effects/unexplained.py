"""What the draws leave unexplained, and which sets of features it goes with."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from raytpnn.forward.norms import evenly_spaced
from raytpnn.model.screens.evidence import evidence, log_evidence
from raytpnn.model.screens.pairs import screen_pairs
from raytpnn.model.screens.shapes import Shapes
from raytpnn.model.screens.singles import exact_statistics, screen_singles
from raytpnn.model.screens.triples import extend_sets
from raytpnn.posterior.effects.components import label

if TYPE_CHECKING:
    from raytpnn.posterior.fitted import Fitted

__all__ = ["unexplained_table"]

# Sets that are all looked at one by one; of more, those that a screen finds.
MOST_LISTED = 200_000
MOST_FOUND = 2_000
# Features, and pairs, that are extended by every feature where there are too many sets.
MOST_EXTENDED = 64, 256
# Features whose pairs and triples are all looked at.
LEADING = 16
# Of the sets of features that matter elsewhere, those that may be effects, as a share for each feature.
ACTIVE_SHARE = 0.5
# Rows that are looked at.
MOST_ROWS = 20_000
HIGHEST_ORDER = 3


def unexplained_table(post: Fitted, order: int, top: int | None) -> pd.DataFrame:
    """Sets of `order` features by the evidence for their effect, what the draws leave out included.

    A draw holds an effect or not; one that is as large as its standard error is held by few draws or by none,
    and all these have importance 0. But the residual of the posterior mean tells them apart: its score
    statistic along products of centred ranks, or their squares, says how large a term on the set would be.

    Of interactions of the same size, those of features that matter elsewhere are the likelier ones: the prior
    odds of a set are a product over its features of a / 2 + (1 - a) / p, with a how likely it is that the
    feature matters at all, by the importance of all that draws hold of it and by its main effect in the
    residual. A large effect of other features overrules this. Single features all have the same odds.

    Parameters
    ----------
    post : Fitted
    order : {1, 2, 3}
    top : int or None
        Sets that are wanted; None: all that were looked at.

    Returns
    -------
    DataFrame
        component (tuple of names), order, log_odds (rough log odds that there is an effect, by which rows are
        sorted), size (root of the sum of squares of the next two), importance (posterior mean, 0 if no draw
        holds the set), left (size of the best product in the residual), statistic (its score statistic, about
        the largest of a few chi-squared numbers where there is nothing).
    """
    if order not in range(1, HIGHEST_ORDER + 1):
        raise ValueError(f"order must be 1, 2 or 3, got {order!r}")
    if top is not None and (isinstance(top, bool) or top < 1):
        raise ValueError(f"top must be a whole number from 1 on, or None, got {top!r}")
    rows = evenly_spaced(post.bins.n_rows, MOST_ROWS)
    shapes = Shapes.of(post.bins, rows)
    score, curvature = derivatives(post, rows)
    held = dict(zip(map(tuple, post.ensemble.components), post.norms.mean.tolist(), strict=True))
    importance = {tuple(sorted(S)): value for S, value in held.items() if len(S) == order}
    information = max(float(curvature.sum()), 1e-300)
    active = activity(shapes, score, curvature, held)
    sets = candidates(shapes, score, curvature, order, importance, active)
    statistic = exact_statistics(shapes, sets, score, curvature)
    left = np.sqrt(statistic / information)
    known = np.array([importance.get(S, 0.0) for S in map(tuple, sets.tolist())])
    size = np.hypot(left, known)
    log_odds = log_evidence(information * size**2) + log_prior_odds(sets, active)
    first = np.argsort(-log_odds, kind="stable")[:top]
    return pd.DataFrame(
        {
            "component": pd.Series([label(S, post.names) for S in sets[first].tolist()], dtype=object),
            "order": np.full(len(first), order, np.int64),
            "log_odds": log_odds[first],
            "size": size[first],
            "importance": known[first],
            "left": left[first],
            "statistic": statistic[first],
        }
    )


def derivatives(post: Fitted, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Score and curvature of rows at the posterior mean of f, divided by what divides the log-likelihood."""
    family = post.family
    fit = post.predictor.latent_mean(post.bins.codes[post.ensemble.used[:, None], rows]) + post.offset[rows]
    eta = float(np.mean(post.draws.nuisance))
    score, curvature, _ = family.reference_rows(post.y[rows], fit, post.weight[rows], eta)
    divisor = eta if family.dispersion and not family.dispersion_in_rows else 1.0
    return score / divisor, curvature / divisor


def activity(
    shapes: Shapes, score: np.ndarray, curvature: np.ndarray, held: dict[tuple[int, ...], float]
) -> np.ndarray:
    """How likely it is that each feature matters at all, (p,)."""
    squared = np.zeros(shapes.n_features)
    for S, importance in held.items():
        squared[list(S)] += importance**2
    statistic = screen_singles(shapes, score, curvature) + curvature.sum() * squared
    return evidence(statistic, shapes.n_features)


def log_prior_odds(sets: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Log prior odds of sets of features of which some matter elsewhere, (k,)."""
    p = len(active)
    if sets.shape[1] == 1:
        return np.full(len(sets), -np.log(p))
    return np.log(ACTIVE_SHARE * active + (1.0 - active) / p)[sets].sum(axis=1)


def candidates(
    shapes: Shapes,
    score: np.ndarray,
    curvature: np.ndarray,
    order: int,
    importance: dict[tuple[int, ...], float],
    active: np.ndarray,
) -> np.ndarray:
    """All sets, (k, order), or those that draws hold and that screens find."""
    p = shapes.n_features
    if order == 1 or comb(p, order) <= MOST_LISTED:
        return np.array(list(combinations(range(p), order)), np.int64).reshape(-1, order)
    pairs, _ = screen_pairs(shapes, score, curvature, MOST_FOUND, even=False)
    leading = np.argsort(-active, kind="stable")[: MOST_EXTENDED[0]]
    extended, _ = extend_sets(shapes, leading[:, None], score, curvature, MOST_FOUND)
    every = np.array(list(combinations(np.sort(leading[:LEADING]).tolist(), order)), np.int64)
    found = np.concatenate([pairs, extended])
    if order == HIGHEST_ORDER:
        best = np.concatenate([part[: MOST_EXTENDED[1]] for part in (pairs, extended)])
        found, _ = extend_sets(shapes, np.unique(best, axis=0), score, curvature, MOST_FOUND)
    held = np.array(sorted(importance), np.int64).reshape(-1, order)
    return np.unique(np.concatenate([found, every.reshape(-1, order), held]), axis=0)
