"""Interactions of three features, as heat maps of two at values of the third."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.posterior.effects.components import check_level
from raytpnn.report.names import component_label, latent_unit, number, percent, plot_text, shorten
from raytpnn.report.plots.canvas import start_figure
from raytpnn.report.plots.heatmaps import draw_map, find_features, grid_values
from raytpnn.report.plots.scale import is_category, level_labels, training_quantiles

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from raytpnn.posterior.posterior import Posterior

__all__ = ["plot_slices"]

CELLS = 20
# Where a number is cut: low, middle and high values of training rows.
CUTS = np.array([0.1, 0.5, 0.9])


def plot_slices(
    post: Posterior,
    features: Sequence[str | int],
    figure: Figure | SubFigure | None = None,
    level: float = CREDIBLE_LEVEL,
) -> np.ndarray:
    """Draw an interaction of three features: heat maps of two at some values of the third.

    The third is the one with the fewest values. It is cut at both values if it has two, else at its 10%, 50%
    and 90% quantiles over the training rows. Colours mean the same in all maps. Dots mark where the
    simultaneous band, over all maps, leaves out zero.

    Parameters
    ----------
    post : Posterior
    features : three of str or int
    figure : Figure, optional
    level : float
        Posterior probability of the simultaneous band.

    Returns
    -------
    (slices,) array of Axes
    """
    check_level(level)
    found = find_features(post, features, 3)
    sizes = [len(post.encoder.representatives(feature)) for feature in found]
    third = found[2 - int(np.argmin(sizes[::-1]))]
    first, second = (feature for feature in found if feature != third)
    x, y = grid_values(post, first, CELLS), grid_values(post, second, CELLS)
    z, labels = cuts_of(post, third)
    grid = np.stack(np.meshgrid(z, x, y, indexing="ij"), axis=-1).reshape(-1, 3)
    curve = post.component([third, first, second], grid, level)
    shape = (len(z), len(x), len(y))
    mean = curve["mean"].to_numpy().reshape(shape)
    sure = ((curve["simultaneous_low"] > 0) | (curve["simultaneous_high"] < 0)).to_numpy().reshape(shape)
    figure = start_figure(figure, 0.7 + 2.1 * len(z))
    axes = np.atleast_1d(figure.subplots(len(z), 1, sharex=True))
    limit = float(np.max(np.abs(mean)))
    name = plot_text(shorten(post.names[third], 24))
    for i, ax in enumerate(axes):
        image = draw_map(ax, post, (first, second), (x, y), mean[i], sure[i], limit)
        ax.set_title(f"{name} = {labels[i]}", fontsize="small")
        ax.label_outer()
    figure.colorbar(image, ax=list(axes), label=f"posterior mean effect ({latent_unit(post)})")
    title = plot_text(component_label([post.names[feature] for feature in found], 36))
    caption = f"dots: {percent(level)} simultaneous band excludes 0"
    figure.suptitle(f"{title}\n{caption}", fontsize="small")
    return axes


def cuts_of(post: Posterior, feature: int) -> tuple[np.ndarray, list[str]]:
    """Values at which the third feature is cut, and what they are called."""
    if is_category(post, feature):
        return post.encoder.representatives(feature), level_labels(post, feature)
    values, place = np.unique(training_quantiles(post, feature, CUTS), return_index=True)
    return values, [
        f"{number(float(v))} ({percent(CUTS[i])} quantile)" for v, i in zip(values, place, strict=True)
    ]
