"""Shapley values of many rows, one strip of dots per feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.posterior.effects.columns import column_shapley
from raytpnn.posterior.effects.components import check_level, shapley
from raytpnn.posterior.effects.shapley import shapley_of_draws
from raytpnn.report.names import latent_unit, percent, plot_text, shorten_all
from raytpnn.report.plots.canvas import GREY, matplotlib_module, say_empty, start_axes
from raytpnn.report.plots.importance import NOTHING
from raytpnn.report.rows import Rows, choose_rows, thin_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from raytpnn.posterior.posterior import Posterior

__all__ = ["plot_shapley", "shapley_by_column", "shapley_interval"]

MAX_ROWS = 400


def plot_shapley(
    post: Posterior, X: Any = None, top: int = 12, ax: Axes | None = None, level: float | None = None
) -> Axes:
    """Draw the Shapley values of the leading features: one dot per row.

    A feature's Shapley value at a row is its fair share of f there: of every component, each of its features
    gets an equal part. Dots are posterior means, exact and not sampled. Colour is the feature's rank among
    training rows, from low to high; missing is grey. Of more than 400 rows, 400 evenly spaced ones are drawn.

    Parameters
    ----------
    post : Posterior
    X : table, optional
        Rows; those of training if not given.
    top : int
        How many features, by mean absolute value, at least 1.
    ax : Axes, optional
    level : float, optional
        Draw also the posterior interval of every dot, with equal tails; best for few rows.

    Returns
    -------
    Axes
    """
    if top < 1:
        raise ValueError(f"top must be 1 or more, not {top!r}")
    rows = thin_rows(choose_rows(post, X), MAX_ROWS)
    values = shapley(post.predictor, rows.codes, post.names, used_only=True).to_numpy()
    leading = np.argsort(-np.mean(np.abs(values), axis=0), kind="stable")[:top]
    ax = start_axes(ax, 1.3 + 0.3 * max(len(leading), 4))
    if not len(leading):
        return say_empty(ax, NOTHING)
    features = post.ensemble.used[leading]
    colormap = matplotlib_module().colormaps["viridis"].with_extremes(bad="#bbbbbb")
    reach = float(np.max(np.abs(values))) or 1.0
    for place, column in enumerate(leading):
        feature = int(post.ensemble.used[column])
        rank = feature_rank(post, feature, rows.codes[column])
        height = place + spread(values[:, column], reach)
        if level is not None:
            low, high = shapley_interval(post, rows, [feature], level)
            ax.hlines(height, low, high, color=GREY, linewidth=0.6, alpha=0.5, zorder=0.8)
        image = ax.scatter(
            values[:, column],
            height,
            c=rank,
            cmap=colormap,
            vmin=0.0,
            vmax=1.0,
            s=6,
            linewidths=0,
            rasterized=True,
            plotnonfinite=True,
        )
    bar = ax.figure.colorbar(image, ax=ax, ticks=[0, 1], aspect=30)
    bar.set_ticklabels(["low", "high"])
    bar.set_label("value (grey: missing)")
    ax.axvline(0.0, color=GREY, linewidth=0.7, zorder=0.5)
    labels = shorten_all([post.names[feature] for feature in features], 17)
    ax.set_yticks(np.arange(len(labels)), [plot_text(label) for label in labels])
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_xlabel(f"Shapley value\n({latent_unit(post)})")
    bands = "" if level is None else f", lines: {percent(level)} posterior intervals"
    ax.set_title(f"{rows.n:,} rows, posterior means{bands}", fontsize="medium")
    return ax


def shapley_interval(
    post: Posterior, rows: Rows, features: Sequence[int], level: float, column: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the posterior interval, (n,) each, of the Shapley value of some features or of their column."""
    check_level(level)
    low, high = np.zeros((2, rows.n))
    for block, values in shapley_of_draws(post.predictor, rows.codes, features, column):
        low[block], high[block] = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def shapley_by_column(
    post: Posterior, row: Rows, top: int, level: float
) -> list[tuple[int, float, float, float]]:
    """Shapley values of input columns at one row, the largest first.

    Columns are the players: an effect over levels of two columns is shared by these two.

    Returns
    -------
    list of (column, mean, low, high)
        At most `top`; the ends are those of the posterior interval.
    """
    total = column_shapley(post.predictor, post.encoder, row.codes, used_only=False).to_numpy()[0]
    column = post.encoder.column[post.ensemble.used]
    table = []
    for i in np.argsort(-np.abs(total), kind="stable")[:top]:
        if total[i] != 0.0:
            own = post.ensemble.used[column == i].tolist()
            low, high = shapley_interval(post, row, own, level, post.encoder.column)
            table.append((int(i), float(total[i]), float(low[0]), float(high[0])))
    return table


def feature_rank(post: Posterior, feature: int, codes: np.ndarray) -> np.ndarray:
    """Rank of a feature in (0, 1) at every row, NaN where missing."""
    values = np.append(post.bins.values_of(feature), np.nan)
    return values[np.minimum(codes, len(values) - 1)]


def spread(values: np.ndarray, reach: float) -> np.ndarray:
    """Heights, within 0.38 of zero, that keep dots of about equal value apart."""
    cell = np.round(values / reach * 60).astype(np.int64)
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], cell[order])
    turn = np.empty(len(values), np.int64)
    turn[order] = np.arange(len(values)) - first
    # 0, 1, -1, 2, -2, ... for the dots of a cell.
    height = np.where(turn % 2, (turn + 1) // 2, -(turn // 2)).astype(float)
    return height * min(0.06, 0.38 / max(float(np.max(np.abs(height), initial=0.0)), 1.0))
