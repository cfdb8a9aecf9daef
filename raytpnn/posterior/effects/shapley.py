"""Shapley values with credible intervals: of every draw, not of the mean alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from raytpnn.forward.packs import pack_by_draw
from raytpnn.forward.prediction import LATENT_ENTRIES, Predictor, row_blocks
from raytpnn.posterior.effects.components import check_level, check_size, shapley

__all__ = ["shapley_intervals", "shapley_of_draws"]


def shapley_intervals(
    predictor: Predictor, codes: np.ndarray, names: Sequence[str], level: float, used_only: bool = False
) -> pd.DataFrame:
    """Posterior means and credible intervals of the Shapley values.

    Parameters
    ----------
    predictor : Predictor
    codes : (k, n)
        Codes of the features in use.
    names : sequence of str
    level : float
        Posterior probability of an interval, with equal tails.
    used_only : bool
        Leave out the features that no draw uses.

    Returns
    -------
    (n, 3 x features) DataFrame
        Columns (feature, "mean"), (feature, "low"), (feature, "high").

    Raises
    ------
    ValueError
        If the level is not one, or the table would take more than 4 GB.
    """
    check_level(level)
    ensemble = predictor.ensemble
    columns = ensemble.used.tolist() if used_only else list(range(len(names)))
    n = codes.shape[1]
    check_size(n, 3 * len(columns), "give fewer rows, or used_only=True")
    mean = shapley(predictor, codes, names, used_only).to_numpy()
    table = np.zeros((n, len(columns), 3))
    table[:, :, 0] = mean
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    # A value that differs from 0 in so few draws has both quantiles at 0.
    few = int(tails[0] * (ensemble.n_draws - 1))
    for i, feature in enumerate(columns):
        if len(np.unique(ensemble.draw[ensemble.terms_with([feature])[0]])) <= few:
            continue
        for rows, values in shapley_of_draws(predictor, codes, [feature]):
            table[rows, i, 1:] = np.quantile(values, tails, axis=0).T
    labels = pd.MultiIndex.from_product(
        [[names[feature] for feature in columns], ["mean", "low", "high"]], names=["feature", None]
    )
    return pd.DataFrame(table.reshape(n, -1), columns=labels)


def shapley_of_draws(
    predictor: Predictor, codes: np.ndarray, features: Sequence[int], column: np.ndarray | None = None
) -> Iterator[tuple[slice, np.ndarray]]:
    """Shapley value in every draw of some features added up, or of one column.

    Parameters
    ----------
    predictor : Predictor
    codes : (k, n)
        Codes of the features in use.
    features : sequence of int
        Encoded features.
    column : (p,) int, optional
        Column of every encoded feature: columns are then the players, and `features` those of one of them.

    Yields
    ------
    rows : slice
    values : (D, rows) float64
        At most 64 MB. Nothing is given if no draw uses any of the features: the values are 0.
    """
    ensemble = predictor.ensemble
    term, held = ensemble.terms_with(features)
    if not len(term):
        return
    # What features get of a term is the term with its coefficient times their share among its features.
    beta = ensemble.terms.beta.copy()
    if column is None:
        share = held / np.diff(ensemble.terms.start)[term]
    else:
        players = np.array([len({int(column[j]) for j in own}) for own in ensemble.components])
        share = 1.0 / players[ensemble.component[term]]
    beta[term] *= share
    shared = Predictor(replace(ensemble, terms=ensemble.terms._replace(beta=beta)))
    packs = pack_by_draw(ensemble, term)
    for rows in row_blocks(codes.shape[1], max(LATENT_ENTRIES // ensemble.n_draws, 1)):
        yield rows, shared.latent(codes[:, rows], np.zeros(rows.stop - rows.start), packs)
