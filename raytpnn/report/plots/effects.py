"""Main effects with pointwise and simultaneous bands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.data.encoding.encoder import LEVEL
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.posterior.effects.components import check_level
from raytpnn.posterior.effects.curves import credible_bands
from raytpnn.report.names import latent_unit, percent, plot_text, shorten
from raytpnn.report.plots.canvas import GREY, LINE, POINTWISE, SIMULTANEOUS, start_axes
from raytpnn.report.plots.scale import draw_rug, is_category, level_labels, wants_log_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from raytpnn.posterior.posterior import Posterior

__all__ = ["column_effect", "plot_effect"]

# Up to so many values, each is marked on the line.
MARKED_VALUES = 20
# Columns of `Posterior.component`.
BANDS = ("mean", "low", "high", "simultaneous_low", "simultaneous_high")


def plot_effect(
    post: Posterior,
    feature: str | int,
    ax: Axes | None = None,
    level: float = CREDIBLE_LEVEL,
    rug: bool = True,
    legend: bool = True,
) -> Axes:
    """Draw the main effect of a feature, or of a whole column of categories.

    A number is a line with two bands; a level of a category, an indicator or a feature of two values is a
    pair of bars; a text column has one bar per level. The dark band (thick whisker) is pointwise: at each
    value alone the effect lies within it with probability `level`. The light band (thin whisker) is
    simultaneous: with that probability the effect lies within it at all values at once.

    Parameters
    ----------
    post : Posterior
    feature : str or int
        Encoded feature, or the name of an input column of text.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    level : float
        Posterior probability of the bands.
    rug : bool
        Mark where training rows are.
    legend : bool

    Returns
    -------
    Axes

    Raises
    ------
    KeyError
        If there is no such feature or column.
    """
    check_level(level)
    column = text_column(post, feature)
    ax = start_axes(ax)
    if column is not None:
        draw_column(ax, post, column, level)
        name = post.encoder.input_names[column]
    else:
        index = post.encoder.index(feature)
        name = post.names[index]
        if is_category(post, index):
            bands = post.component(index, level=level)[list(BANDS)].to_numpy().T
            draw_bars(ax, level_labels(post, index), bands, level)
        else:
            draw_curve(ax, post, index, level)
            if rug:
                draw_rug(ax, post, index)
    ax.axhline(0.0, color=GREY, linewidth=0.6, zorder=0.5)
    ax.set_xlabel(plot_text(shorten(name, 40)))
    ax.set_ylabel(f"effect\n({latent_unit(post)})")
    ax.set_title(f"Main effect of {plot_text(shorten(name, 28))}", fontsize="medium")
    if legend:
        ax.legend(fontsize="small", framealpha=0.8, loc="best")
    return ax


def text_column(post: Posterior, feature: str | int) -> int | None:
    """Input column of text with that name, unless an encoded feature has it."""
    encoder = post.encoder
    if not isinstance(feature, str) or feature in encoder.names:
        return None
    return next((i for i in encoder.levels if encoder.input_names[i] == feature), None)


def draw_curve(ax: Axes, post: Posterior, feature: int, level: float) -> None:
    """Line and bands of a number."""
    curve = post.component(feature, level=level)
    x = curve.iloc[:, 0].to_numpy()
    mean, low, high, wide_low, wide_high = curve[list(BANDS)].to_numpy().T
    ax.fill_between(
        x, wide_low, wide_high, color=SIMULTANEOUS, linewidth=0, label=f"{percent(level)} band, simultaneous"
    )
    ax.fill_between(x, low, high, color=POINTWISE, linewidth=0, label=f"{percent(level)} band, pointwise")
    marker = "o" if len(x) <= MARKED_VALUES else ""
    ax.plot(x, mean, color=LINE, marker=marker, markersize=3, label="posterior mean")
    if wants_log_scale(post, feature):
        ax.set_xscale("log")


def draw_bars(
    ax: Axes,
    labels: list[str],
    bands: np.ndarray,
    level: float,
) -> None:
    """Bars with two whiskers each, of bands (5, m) in the order of `BANDS`."""
    mean, low, high, wide_low, wide_high = bands
    place = np.arange(len(labels))
    ax.bar(place, mean, width=0.6, color=POINTWISE, label="posterior mean")
    ax.vlines(
        place, wide_low, wide_high, color=LINE, linewidth=1, label=f"{percent(level)} interval, simultaneous"
    )
    ax.vlines(place, low, high, color=LINE, linewidth=4, label=f"{percent(level)} interval, pointwise")
    crowded = len(labels) * max(map(len, labels)) > 40
    ax.set_xticks(place, labels, rotation=45 if crowded else 0, ha="right" if crowded else "center")


def draw_column(ax: Axes, post: Posterior, column: int, level: float) -> None:
    """Bars of the levels of a column of text, the largest effect first."""
    labels, f = column_effect(post, column)
    bands = credible_bands(f, level)
    rank = np.argsort(-bands["mean"], kind="stable")
    names = [plot_text(shorten(labels[i], 16)) for i in rank]
    draw_bars(ax, names, np.stack([bands[name] for name in BANDS])[:, rank], level)


def column_effect(post: Posterior, column: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Effect of every level of a column of text, over all draws.

    All components that are made of the column's levels alone count. Other features are taken for missing,
    which makes every component that holds one of them zero.

    Returns
    -------
    levels : tuple of m str
    f : (D, m) float64
    """
    encoder, used = post.encoder, post.ensemble.used
    levels = encoder.levels[column]
    codes = np.full((len(used), len(levels)), post.bins.missing_code, post.bins.codes.dtype)
    for row, feature in enumerate(used):
        if encoder.column[feature] == column and encoder.kind[feature] == LEVEL:
            codes[row] = np.arange(len(levels)) == encoder.level[feature]
    f = post.predictor.latent(codes, np.zeros(len(levels)))
    return levels, f - post.ensemble.intercept[:, None]
