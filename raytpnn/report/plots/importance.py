"""Which components matter, as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.report.names import component_label, latent_unit, percent, plot_text, shorten_all
from raytpnn.report.plots.canvas import GREY, LINE, POINTWISE, say_empty, start_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from raytpnn.posterior.posterior import Posterior

__all__ = ["NOTHING", "bars_height", "plot_importance"]

NOTHING = "No draw holds any component:\nthe model is its intercept"
# Bars whose place the legend takes.
LEGEND_ROWS = 3


def bars_height(bars: int) -> float:
    """Inches that so many bars and the legend below them take."""
    return 0.9 + 0.26 * (bars + LEGEND_ROWS)


def plot_importance(
    post: Posterior, top: int = 15, ax: Axes | None = None, level: float = CREDIBLE_LEVEL
) -> Axes:
    """Draw the importance of the leading components with its posterior interval.

    The importance of a component is the root of its mean square over the training rows, in the units of f.
    The share of draws that hold the component stands beside the bar.

    Parameters
    ----------
    post : Posterior
    top : int
        How many components, at least 1.
    ax : Axes, optional
    level : float
        Posterior probability of the intervals, with equal tails.

    Returns
    -------
    Axes
    """
    if top < 1:
        raise ValueError(f"top must be 1 or more, not {top!r}")
    table = post.components(level).head(top)
    ax = start_axes(ax, bars_height(len(table)))
    if table.empty:
        return say_empty(ax, NOTHING)
    labels = shorten_all([component_label(component, 20) for component in table["component"]], 26)
    place = np.arange(len(table))
    importance = table["importance"].to_numpy()
    high = table["importance_high"].to_numpy()
    ax.barh(place, importance, height=0.66, color=POINTWISE, label="posterior mean")
    ax.hlines(
        place,
        table["importance_low"],
        high,
        color=LINE,
        linewidth=1.5,
        label=f"{percent(level)} posterior interval",
    )
    reach = max(float(np.max(np.maximum(high, importance))), 1e-300)
    for i, share in enumerate(table["share_of_draws"]):
        ax.text(
            max(high[i], importance[i]) + 0.02 * reach,
            i,
            percent(share),
            va="center",
            fontsize="small",
            color=GREY,
        )
    ax.set_xlim(0.0, 1.18 * reach)
    ax.set_yticks(place, [plot_text(label) for label in labels])
    # The legend has a place of its own: intervals may reach to the right in every row.
    ax.set_ylim(len(table) + LEGEND_ROWS - 0.4, -0.6)
    ax.set_xlabel(f"importance\n({latent_unit(post)})")
    ax.set_title("Importance of components", fontsize="medium")
    ax.legend(fontsize="small", loc="lower right", title="%: draws that hold it", title_fontsize="small")
    return ax
