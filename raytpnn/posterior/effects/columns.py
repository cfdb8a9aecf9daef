"""Components by the input columns they are about: all levels of a column of text together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from raytpnn.data.encoding.encoder import Encoder
from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.norms import Norms, component_norms
from raytpnn.forward.prediction import Predictor
from raytpnn.posterior.effects.components import component_table

__all__ = ["column_groups", "column_norms", "column_shapley", "column_table"]


def column_groups(ensemble: Ensemble, column: np.ndarray) -> dict[tuple[int, ...], list[int]]:
    """Components by the input columns of their features.

    Only levels (and indicators of missing cells) of one column share a group: alone they can trade off
    against each other, while their sum is what the data tell.

    Parameters
    ----------
    ensemble : Ensemble
    column : (p,) int
        Input column of every encoded feature.

    Returns
    -------
    dict
        From columns, ascending, to places in `ensemble.components`.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    # Plain Python: wide data have a hundred thousand components of one or two features.
    columns = column.tolist()
    for i, features in enumerate(ensemble.components):
        groups.setdefault(tuple(sorted({columns[f] for f in features})), []).append(i)
    return groups


def column_norms(
    ensemble: Ensemble, column: np.ndarray, codes: np.ndarray, negligible: float = 0.0
) -> tuple[list[tuple[int, ...]], Norms]:
    """Norm of the sum of the components over each set of input columns, in every draw.

    Parameters
    ----------
    ensemble : Ensemble
    column : (p,) int
    codes : (k, n)
        Training codes of the features in use.
    negligible : float
        Sizes up to this one are what noise alone makes.

    Returns
    -------
    sets : list of tuples of int
        Input columns.
    norms : Norms
        With these sets in the place of components.
    """
    groups = column_groups(ensemble, column)
    # Packs are ordered by component: renumbered, those of a group are neighbours.
    order = np.array([i for members in groups.values() for i in members], np.int64)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    renumbered = replace(
        ensemble,
        component=number[ensemble.component],
        components=tuple(ensemble.components[i] for i in order),
    )
    together = np.repeat(np.arange(len(groups)), [len(members) for members in groups.values()])
    return list(groups), component_norms(Predictor(renumbered), codes, together, negligible)


def column_table(
    ensemble: Ensemble, encoder: Encoder, codes: np.ndarray, level: float, negligible: float = 0.0
) -> pd.DataFrame:
    """`component_table` of sets of input columns.

    Parameters
    ----------
    ensemble : Ensemble
    encoder : Encoder
    codes : (k, n)
        Training codes of the features in use.
    level : float
        Posterior probability of the interval of the importance.
    negligible : float
        Sizes up to this one are what noise alone makes.
    """
    sets, norms = column_norms(ensemble, encoder.column, codes, negligible)
    return component_table(sets, norms, encoder.column_labels, level)


def column_shapley(
    predictor: Predictor, encoder: Encoder, codes: np.ndarray, used_only: bool
) -> pd.DataFrame:
    """Shapley values of the game whose players are input columns: posterior means, (n, columns).

    What the effects over one set of columns add is shared equally by the columns of the set.

    Parameters
    ----------
    predictor : Predictor
    encoder : Encoder
    codes : (k, n)
        Codes of the features in use.
    used_only : bool
        Whether columns that no draw uses are left out.
    """
    ensemble = predictor.ensemble
    groups = column_groups(ensemble, encoder.column)
    group = np.empty(len(ensemble.components), np.int64)
    for i, members in enumerate(groups.values()):
        group[members] = i
    values = np.zeros((codes.shape[1], len(encoder.input_names)))
    if groups:
        means = predictor.column_means(codes, group, len(groups))
        for i, columns in enumerate(groups):
            for column in columns:
                values[:, column] += means[:, i] / len(columns)
    table = pd.DataFrame(values, columns=list(encoder.column_labels))
    if not used_only:
        return table
    used = sorted({column for columns in groups for column in columns})
    return table.iloc[:, used]
