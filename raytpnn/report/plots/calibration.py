"""Whether predicted probabilities and intervals hold what they promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.report.names import plot_text, shorten
from raytpnn.report.plots.canvas import GREY, LINE, POINTWISE, SIMULTANEOUS, start_figure
from raytpnn.report.quality import Assessment, assess
from raytpnn.report.rows import choose_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from raytpnn.posterior.posterior import Posterior

__all__ = ["draw_calibration", "pit_histogram", "plot_calibration", "reliability"]

BINS = 10
PIT_BINS = 10
HOW = {
    "new": "rows given",
    "loo": "training rows, leave-one-out",
    "fit": "training rows as fitted (too good)",
}


def plot_calibration(
    post: Posterior,
    X: Any = None,
    y: Any = None,
    offset: Any = None,
    figure: Figure | SubFigure | None = None,
) -> np.ndarray:
    """Draw how predictions keep their word.

    For two classes: observed shares against predicted probabilities, with 95% intervals of the shares, and
    how often each probability was given. Else: the share of responses within predictive intervals against
    their level, and the histogram of P(Y <= y), which is flat if predictions are calibrated. Grey bands hold
    95% of what chance alone does to each point of a calibrated model with as many rows.

    Parameters
    ----------
    post : Posterior
    X : table, optional
        Rows; those of training if not given, each then predicted leaving it out.
    y : (n,), optional
        Responses to X; needed with X.
    offset : (n,), optional
        Of X.
    figure : Figure, optional

    Returns
    -------
    (2,) array of Axes
    """
    return draw_calibration(post, assess(post, choose_rows(post, X, y, offset)), figure)


def draw_calibration(
    post: Posterior, assessment: Assessment, figure: Figure | SubFigure | None = None
) -> np.ndarray:
    """Draw both axes of an assessment."""
    figure = start_figure(figure, 5.6)
    axes = figure.subplots(2, 1, height_ratios=[3, 2])
    if post.family.binary:
        which = "1" if post.classes is None else shorten(str(post.classes[1]), 18)
        draw_reliability(axes[0], assessment, plot_text(which))
        draw_probabilities(axes[1], assessment)
    else:
        draw_coverage(axes[0], assessment)
        draw_pit(axes[1], assessment)
    figure.suptitle(f"{len(assessment.y):,} {HOW[assessment.how]}", fontsize="medium")
    return axes


def reliability(y: np.ndarray, probability: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Predicted and observed shares in bins of about equal numbers of rows.

    Parameters
    ----------
    y, probability : (n,)
    bins : int
        At most; rows of equal probability stay together.

    Returns
    -------
    (m, 5) float64
        Mean probability, share of ones, ends of the 95% (Wilson) interval of the share, number of rows.
    """
    edges = np.unique(np.quantile(probability, np.linspace(0, 1, bins + 1)[1:-1]))
    place = np.searchsorted(edges, probability, side="left")
    table = []
    for b in np.unique(place):
        inside = place == b
        n, share = int(inside.sum()), float(y[inside].mean())
        z2 = 1.959964**2
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
        table.append([float(probability[inside].mean()), share, centre - half, centre + half, n])
    return np.array(table)


def draw_reliability(ax: Axes, assessment: Assessment, which: str) -> None:
    """Observed against predicted shares."""
    points = reliability(assessment.y, assessment.mean)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle="--", label="perfect")
    ax.vlines(
        points[:, 0], points[:, 2], points[:, 3], color=LINE, linewidth=1.2, label="95% interval of the share"
    )
    ax.plot(points[:, 0], points[:, 1], "o", color=LINE, markersize=4, label="share in a tenth of the rows")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel(f"predicted probability of {which}")
    ax.set_ylabel("observed share")
    ax.legend(fontsize="small", loc="upper left")


def draw_probabilities(ax: Axes, assessment: Assessment) -> None:
    """How often each probability was given, by class."""
    edges = np.linspace(0, 1, 21).tolist()
    parts = [assessment.mean[assessment.y == value] for value in (0.0, 1.0)]
    ax.hist(
        parts, edges, stacked=True, color=[SIMULTANEOUS, LINE], label=["rows of class 0", "rows of class 1"]
    )
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("rows")
    ax.legend(fontsize="small")


def draw_coverage(ax: Axes, assessment: Assessment) -> None:
    """Coverage of predictive intervals against their level."""
    levels = np.linspace(0.05, 0.95, 19)
    seen = np.array([assessment.coverage(level) for level in levels])
    spread = 1.959964 * np.sqrt(levels * (1 - levels) / len(assessment.y))
    ax.fill_between(
        levels,
        np.clip(levels - spread, 0, 1),
        np.clip(levels + spread, 0, 1),
        color="#e3e3e3",
        label="95% of chance at each level",
    )
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle="--", label="perfect")
    ax.plot(levels, seen, "o-", color=LINE, markersize=3, linewidth=1, label="observed")
    ax.set_xlabel("level of the predictive interval")
    ax.set_ylabel("share of responses within")
    ax.legend(fontsize="small", loc="upper left")


def pit_histogram(below: np.ndarray, upto: np.ndarray, bins: int = PIT_BINS) -> np.ndarray:
    """Histogram of P(Y <= y), a share a bin, (bins,).

    A whole-number response counts evenly over [P(Y < y), P(Y <= y)], so that nothing is drawn at random.
    """
    edges = np.linspace(0, 1, bins + 1)[:, None]
    width = np.maximum(upto - below, 1e-12)
    reached = np.clip((edges - below) / width, 0.0, 1.0)
    reached[0], reached[-1] = 0.0, 1.0
    return np.diff(reached.mean(axis=1))


def draw_pit(ax: Axes, assessment: Assessment) -> None:
    """Histogram of where responses fell in their predictive distribution."""
    share = pit_histogram(assessment.below, assessment.upto)
    even = 1.0 / len(share)
    spread = 1.959964 * np.sqrt(even * (1 - even) / len(assessment.y))
    ax.bar((np.arange(len(share)) + 0.5) * even, share, width=0.9 * even, color=POINTWISE)
    ax.axhspan(
        max(even - spread, 0.0), even + spread, color="#e3e3e3", zorder=0.4, label="95% of chance in each bar"
    )
    ax.axhline(even, color=GREY, linewidth=0.8, linestyle="--")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.35 * max(float(share.max()), even + spread))
    ax.set_xlabel("P(Y ≤ y): where the response fell")
    ax.set_ylabel("share of rows")
    ax.legend(fontsize="small", loc="upper right")
