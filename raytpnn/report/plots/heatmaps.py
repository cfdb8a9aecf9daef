"""Two-way interactions as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.posterior.effects.components import check_level
from raytpnn.report.names import component_label, latent_unit, number, percent, plot_text, shorten
from raytpnn.report.plots.canvas import start_axes
from raytpnn.report.plots.scale import is_category, level_labels, training_quantiles, wants_log_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from raytpnn.posterior.posterior import Posterior

__all__ = ["draw_map", "grid_values", "plot_interaction"]

# Cells a side of a map, and dots a side at most.
CELLS = 36
DOTS = 18
# Up to so many values, each has a tick.
FEW_VALUES = 8


def plot_interaction(
    post: Posterior, features: Sequence[str | int], ax: Axes | None = None, level: float = CREDIBLE_LEVEL
) -> Axes:
    """Draw an interaction of two features as a heat map of its posterior mean.

    The map shows what the two do together beyond their main effects. Dots mark where the simultaneous band
    leaves out zero: with probability `level` the sign is right at all dots at once.

    Parameters
    ----------
    post : Posterior
    features : pair of str or int
        Encoded features.
    ax : Axes, optional
    level : float
        Posterior probability of the simultaneous band.

    Returns
    -------
    Axes
    """
    check_level(level)
    first, second = find_features(post, features, 2)
    ax = start_axes(ax, 3.6)
    x, y = grid_values(post, first, CELLS), grid_values(post, second, CELLS)
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    curve = post.component([first, second], grid, level)
    shape = (len(x), len(y))
    mean = curve["mean"].to_numpy().reshape(shape)
    sure = ((curve["simultaneous_low"] > 0) | (curve["simultaneous_high"] < 0)).to_numpy().reshape(shape)
    image = draw_map(ax, post, (first, second), (x, y), mean, sure)
    ax.figure.colorbar(image, ax=ax, label=f"posterior mean effect\n({latent_unit(post)})")
    title = plot_text(component_label([post.names[first], post.names[second]], 28))
    ax.set_title(f"{title}\ndots: {percent(level)} simultaneous band excludes 0", fontsize="small")
    return ax


def find_features(post: Posterior, features: Sequence[str | int], count: int) -> list[int]:
    """Positions of `count` different encoded features, ascending as `component` has them."""
    given = [features] if isinstance(features, str | int) else list(features)
    found = sorted({post.encoder.index(feature) for feature in given})
    if len(found) != count or len(given) != count:
        raise ValueError(f"{count} different features are needed, not {features!r}")
    return found


def grid_values(post: Posterior, feature: int, most: int) -> np.ndarray:
    """Ascending values at which a feature is looked at: its own if they are few, else evenly spaced ones."""
    typical = post.encoder.representatives(feature)
    if len(typical) <= most:
        return typical
    low, high = training_quantiles(post, feature, np.array([0.005, 0.995]))
    if not low < high:
        low, high = float(typical[0]), float(typical[-1])
    return np.geomspace(low, high, most) if wants_log_scale(post, feature) else np.linspace(low, high, most)


def draw_map(
    ax: Axes,
    post: Posterior,
    features: tuple[int, int],
    values: tuple[np.ndarray, np.ndarray],
    mean: np.ndarray,
    sure: np.ndarray,
    limit: float | None = None,
) -> Any:
    """Draw a heat map.

    Parameters
    ----------
    ax : Axes
    post : Posterior
    features : pair of int
        On the horizontal and the vertical axis.
    values : pair of (a,) and (b,)
    mean : (a, b)
    sure : (a, b) bool
        Where to put dots.
    limit : float, optional
        Where the colour scale ends, on both sides of 0.

    Returns
    -------
    QuadMesh
    """
    limit = (float(np.max(np.abs(mean))) if limit is None else limit) or 1.0
    places, edges = zip(*(axis_of(post, f, v) for f, v in zip(features, values, strict=True)), strict=True)
    image = ax.pcolormesh(*edges, mean.T, cmap="RdBu_r", vmin=-limit, vmax=limit, rasterized=True)
    steps = [max(1, -(-len(v) // DOTS)) for v in values]
    thinned = np.zeros_like(sure)
    thinned[steps[0] // 2 :: steps[0], steps[1] // 2 :: steps[1]] = True
    at = np.nonzero(sure & thinned)
    ax.plot(places[0][at[0]], places[1][at[1]], "o", color="black", markersize=1.4, rasterized=True)
    for axis, feature, most in ((ax.xaxis, features[0], 30), (ax.yaxis, features[1], 20)):
        axis.set_label_text(plot_text(shorten(post.names[feature], most)))
        if is_category(post, feature):
            axis.set_ticks([0, 1], level_labels(post, feature))
        elif len(post.encoder.representatives(feature)) <= FEW_VALUES:
            typical = post.encoder.representatives(feature)
            axis.set_ticks(typical, [number(float(value)) for value in typical])
    set_log_scales(ax, post, features)
    return image


def set_log_scales(ax: Axes, post: Posterior, features: tuple[int, int]) -> None:
    """Give features with a long tail a logarithmic axis."""
    for feature, set_scale in zip(features, (ax.set_xscale, ax.set_yscale), strict=True):
        many = len(post.encoder.representatives(feature)) > FEW_VALUES
        if many and wants_log_scale(post, feature):
            set_scale("log")


def axis_of(post: Posterior, feature: int, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of values on an axis, (m,), and the edges of their cells, (m + 1,)."""
    if is_category(post, feature):
        return np.arange(len(values)), np.arange(len(values) + 1) - 0.5
    middle = 0.5 * (values[1:] + values[:-1])
    first, last = values[0], values[-1]
    if len(values) <= FEW_VALUES:
        # Few values are cells of their own, and the outer ones are as wide as their neighbours.
        first, last = first - (middle[0] - first), last + (last - middle[-1])
    return values, np.concatenate([[first], middle, [last]])
