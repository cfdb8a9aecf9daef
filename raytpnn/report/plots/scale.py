"""A feature's own scale: its values, its training rows, and the axis it is drawn on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.data.encoding.encoder import LEVEL, MISSING
from raytpnn.report.names import number, plot_text, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from raytpnn.posterior.posterior import Posterior

__all__ = ["draw_rug", "is_category", "level_labels", "training_quantiles", "wants_log_scale"]

RUG_LINES = 150


def is_category(post: Posterior, feature: int) -> bool:
    """Whether a feature is a level, an indicator, or has two values only."""
    return post.encoder.kind[feature] in (LEVEL, MISSING) or len(post.encoder.representatives(feature)) <= 2


def level_labels(post: Posterior, feature: int) -> list[str]:
    """Labels of the values of a feature that `is_category`."""
    encoder, kind = post.encoder, post.encoder.kind[feature]
    if kind == MISSING:
        return ["known", "missing"]
    if kind == LEVEL:
        levels = encoder.levels[int(encoder.column[feature])]
        own = levels[int(encoder.level[feature])]
        other = f"not {own}" if len(levels) != 2 else next(level for level in levels if level != own)
        return [plot_text(shorten(other, 16)), plot_text(shorten(own, 16))]
    return [number(float(value)) for value in encoder.representatives(feature)]


def training_quantiles(post: Posterior, feature: int, q: np.ndarray) -> np.ndarray:
    """Quantiles of a feature over the training rows that have it, on the original scale, (len(q),)."""
    total = np.cumsum(post.bins.weights_of(feature))
    place = np.minimum(np.searchsorted(total, q * total[-1]), len(total) - 1)
    return post.encoder.representatives(feature)[place]


def wants_log_scale(post: Posterior, feature: int) -> bool:
    """Whether a positive feature has so long a tail that most of it would be squeezed into a corner."""
    low, middle, high = training_quantiles(post, feature, np.array([0.01, 0.5, 0.99]))
    smallest = post.encoder.representatives(feature)[0]
    return bool(smallest > 0 and high - middle > 8 * (middle - low) > 0)


def draw_rug(ax: Axes, post: Posterior, feature: int) -> None:
    """Short lines at the bottom: where training rows are."""
    places = training_quantiles(post, feature, (np.arange(RUG_LINES) + 0.5) / RUG_LINES)
    ax.plot(
        places,
        np.zeros(len(places)),
        "|",
        color="#333333",
        markersize=7,
        markeredgewidth=0.5,
        alpha=0.6,
        transform=ax.get_xaxis_transform(),
        label="training rows (quantiles)",
        clip_on=False,
    )
