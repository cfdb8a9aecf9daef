"""One component as a function of its features, with bands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from raytpnn.data.encoding.bins import Bins
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.forward.packs import pack_by_draw
from raytpnn.forward.prediction import Predictor
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.posterior.effects.components import check_level

__all__ = ["component_curve", "credible_bands"]

# Points of each feature in the default grid, by the number of features; beyond them, the last one.
GRID_POINTS = (255, 40, 14, 7)
# Points of a default grid in all: 14 for each of three features. With 4,000 draws they take 88 MB.
MAX_POINTS = 14**3


def component_curve(
    predictor: Predictor,
    encoder: Encoder,
    bins: Bins,
    features: str | int | Sequence[str | int],
    grid: Any = None,
    level: float = CREDIBLE_LEVEL,
) -> pd.DataFrame:
    """f_S at the points of a grid, with credible bands.

    Parameters
    ----------
    predictor : Predictor
    encoder : Encoder
    bins : Bins
        Training bins.
    features : name, position, or several
        Encoded features of the component, in any order.
    grid : DataFrame, mapping of name to values, or (m, |S|) array, optional
        Points on the original scale (0 or 1 for a level of a category). A mapping or table has a column a
        feature, an array columns in the order of `features`; NaN is missing. By default the products of
        typical values of the bins: 255 of them for one feature, 40 each for two, 14 for three, then 7. Of
        more than 2,744 products, at most 2,744 spread over all of them.
    level : float
        Posterior probability of the bands.

    Returns
    -------
    DataFrame
        One row per point: one column per feature (ascending), `mean`, the pointwise band `low` and `high`
        (at each point alone, f_S is within it with probability `level`, equal tails), and the simultaneous
        band `simultaneous_low` and `simultaneous_high` (f_S is within it at all points of the grid at once
        with probability `level`). Draws without the component count as f_S = 0.

    Raises
    ------
    KeyError
        If a feature is not known.
    ValueError
        If the grid does not fit the features.
    """
    check_level(level)
    given = [encoder.index(f) for f in ([features] if isinstance(features, str | int) else features)]
    if not given or len(set(given)) < len(given):
        raise ValueError(f"a component is one or more different features, not {features!r}")
    ordered = sorted(given)
    points = default_grid(encoder, ordered) if grid is None else read_grid(encoder, given, grid)
    f = evaluate(predictor, encoder, bins, ordered, points)
    table = pd.DataFrame({encoder.labels[j]: points[j] for j in ordered})
    return pd.concat([table, pd.DataFrame(credible_bands(f, level))], axis=1)


def credible_bands(f: np.ndarray, level: float) -> dict[str, np.ndarray]:
    """Posterior mean, pointwise and simultaneous band of a function known at m points.

    The simultaneous band is the pointwise one, widened to the mean -+ w standard deviations where that
    reaches further; w is the least number with which a share `level` of draws stays inside at every point.

    Parameters
    ----------
    f : (D, m)
        Values of every draw.
    level : float

    Returns
    -------
    dict
        mean, low, high, simultaneous_low, simultaneous_high, (m,) each.
    """
    mean, sd = f.mean(axis=0), f.std(axis=0)
    low, high = np.quantile(f, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    outside = ((f < low) | (f > high)) & (sd > 0.0)
    distance = np.abs(f - mean) / np.where(sd > 0.0, sd, 1.0)
    furthest = np.max(np.where(outside, distance, 0.0), axis=1, initial=0.0)
    # Rounded up a little: a draw at the very edge is inside.
    width = float(np.quantile(furthest, level, method="higher")) * (1.0 + 1e-12) * sd
    return {
        "mean": mean,
        "low": low,
        "high": high,
        "simultaneous_low": np.minimum(low, mean - width),
        "simultaneous_high": np.maximum(high, mean + width),
    }


def default_grid(encoder: Encoder, features: list[int]) -> dict[int, np.ndarray]:
    """All combinations of typical bin values."""
    most = GRID_POINTS[min(len(features), len(GRID_POINTS)) - 1]
    axes = []
    for feature in features:
        typical = encoder.representatives(feature)
        place = np.unique(np.linspace(0, len(typical) - 1, min(len(typical), most)).round().astype(int))
        axes.append(typical[place])
    lengths = [len(axis) for axis in axes]
    total = math.prod(lengths)
    number = np.arange(total) if total <= MAX_POINTS else spread_over(total)
    places = np.unravel_index(number, lengths)
    return {feature: axis[place] for feature, axis, place in zip(features, axes, places, strict=True)}


def spread_over(total: int) -> np.ndarray:
    """At most `MAX_POINTS` different numbers below `total`, ascending, spread by the golden ratio.

    Evenly spaced numbers would hit few values of the last features: a step may be a multiple of a length.
    """
    share = (np.arange(MAX_POINTS) + 0.5) * ((math.sqrt(5.0) - 1.0) / 2.0) % 1.0
    return np.unique((share * total).astype(np.int64))


def read_grid(encoder: Encoder, features: list[int], grid: Any) -> dict[int, np.ndarray]:
    """Points by feature, from what the user gave."""
    names = [encoder.names[j] for j in features]
    if isinstance(grid, Mapping | pd.DataFrame):
        names = [encoder.labels[j] if encoder.labels[j] in grid else encoder.names[j] for j in features]
        absent = [name for name in names if name not in grid]
        if absent:
            raise ValueError(f"the grid has no column {absent[0]!r}; it needs {', '.join(map(repr, names))}")
        columns = [np.atleast_1d(np.asarray(grid[name], np.float64)) for name in names]
    else:
        array = np.asarray(grid, np.float64)
        if array.ndim == 1 and len(names) == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != len(names):
            raise ValueError(f"the grid has shape {array.shape}; it needs {len(names)} column(s), {names}")
        columns = list(array.T)
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1 or lengths[0] == 0:
        raise ValueError(f"the grid's columns have {lengths} points; they need the same number, at least 1")
    for name, column in zip(names, columns, strict=True):
        if np.any(np.isinf(column)):
            raise ValueError(f"the grid is infinite in column {name!r}; use NaN for missing")
    return dict(zip(features, columns, strict=True))


def evaluate(
    predictor: Predictor, encoder: Encoder, bins: Bins, features: list[int], points: dict[int, np.ndarray]
) -> np.ndarray:
    """f_S of every draw at every point, (D, m)."""
    ensemble = predictor.ensemble
    m = len(points[features[0]])
    try:
        component = ensemble.components.index(tuple(features))
    except ValueError:
        return np.zeros((ensemble.n_draws, m))
    codes = np.full((len(ensemble.used), m), bins.missing_code, bins.codes.dtype)
    for feature in features:
        code = np.searchsorted(encoder.bin_edges(feature), points[feature], side="right")
        code[np.isnan(points[feature])] = bins.missing_code
        codes[np.searchsorted(ensemble.used, feature)] = code
    term = np.flatnonzero(ensemble.component == component)
    return predictor.latent(codes, np.zeros(m), pack_by_draw(ensemble, term))
