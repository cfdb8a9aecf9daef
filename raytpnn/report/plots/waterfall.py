"""Why one row gets its prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.forward.packs import pack_by_draw
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.posterior.effects.columns import column_groups
from raytpnn.posterior.effects.components import check_level
from raytpnn.report.names import TIMES, latent_unit, number, percent, plot_text, shorten
from raytpnn.report.plots.canvas import GREY, LINE, NEGATIVE, POSITIVE, start_axes
from raytpnn.report.rows import Rows, choose_rows, column_text, pick

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from raytpnn.posterior.posterior import Posterior

__all__ = ["Explanation", "draw_explanation", "explain", "plot_waterfall", "waterfall_height"]


@dataclass(frozen=True)
class Explanation:
    """What adds up to f at one row.

    Attributes
    ----------
    labels : list of m str
        Columns and the row's values.
    mean, low, high : (m,) float64
        Posterior mean and interval at the row of the components over a set of columns, the largest first.
    rest : float
        Posterior mean of all others together; there are `n_rest`.
    n_rest : int
    intercept, offset, total : float
        Posterior means; intercept + offset + sum(mean) + rest = total.
    level : float
        Of the intervals.
    """

    labels: list[str]
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rest: float
    n_rest: int
    intercept: float
    offset: float
    total: float
    level: float


def explain(post: Posterior, row: Rows, top: int = 8, level: float = CREDIBLE_LEVEL) -> Explanation:
    """Take apart f at one row.

    Parameters
    ----------
    post : Posterior
    row : Rows
        One row.
    top : int
        Sets of columns that are shown separately.
    level : float
        Posterior probability of the intervals, with equal tails.
    """
    check_level(level)
    if top < 1:
        raise ValueError(f"top must be 1 or more, not {top!r}")
    ensemble = post.ensemble
    groups = column_groups(ensemble, post.encoder.column)
    column = np.empty(len(ensemble.components), np.int64)
    for i, members in enumerate(groups.values()):
        column[members] = i
    means = post.predictor.column_means(row.codes, column, len(groups))[0]
    leading = [int(g) for g in np.argsort(-np.abs(means), kind="stable")[:top] if means[g] != 0.0]
    ends = np.empty((2, len(leading)))
    for i, group in enumerate(leading):
        term = np.flatnonzero(column[ensemble.component] == group)
        f = post.predictor.latent(row.codes, np.zeros(1), pack_by_draw(ensemble, term))
        ends[:, i] = np.quantile(f[:, 0], [(1 - level) / 2, (1 + level) / 2])
    names = list(groups)
    labels = [group_label(post, names[group], row) for group in leading]
    rest = float(means.sum() - means[leading].sum())
    n_rest = int(np.sum(means != 0.0)) - len(leading)
    intercept, offset = post.intercept_mean, float(row.offset[0])
    total = intercept + offset + float(means.sum())
    return Explanation(
        labels, means[leading], ends[0], ends[1], rest, n_rest, intercept, offset, total, level
    )


def group_label(post: Posterior, columns: tuple[int, ...], row: Rows) -> str:
    """Columns of a group and what they are in the row."""
    each = max(10, 30 // len(columns))
    parts = []
    for column in columns:
        name = shorten(post.encoder.column_labels[column], each)
        parts.append(f"{name} {shorten(column_text(post, column, row), 14)}")
    return TIMES.join(parts)


def plot_waterfall(
    post: Posterior,
    X: Any = None,
    row: int = 0,
    top: int = 8,
    ax: Axes | None = None,
    level: float = CREDIBLE_LEVEL,
    offset: Any = None,
) -> Axes:
    """Draw how components add up to f at one row.

    From the intercept downwards, each bar starts where the last one ended. Whiskers are the posterior
    interval of that bar alone, at its end. A component of which a feature is missing adds nothing. Components
    over the same columns, such as several levels of one column of text, share a bar.

    Parameters
    ----------
    post : Posterior
    X : table, optional
        Rows; those of training if not given.
    row : int
        Which row, from 0.
    top : int
        How many bars; what is left shares one more.
    ax : Axes, optional
    level : float
        Posterior probability of the whiskers, with equal tails.
    offset : (n,), optional
        Of X.

    Returns
    -------
    Axes
    """
    one = pick(choose_rows(post, X, None, offset), [row])
    explanation = explain(post, one, top, level)
    return draw_explanation(post, one, explanation, start_axes(ax, waterfall_height(explanation)))


def draw_explanation(post: Posterior, row: Rows, explanation: Explanation, ax: Axes) -> Axes:
    """Draw an explanation of a row, with title and labels."""
    draw_waterfall(ax, explanation)
    whiskers = f"whiskers: {percent(explanation.level)} posterior interval of a bar alone"
    ax.set_xlabel(f"f ({latent_unit(post)})\n{whiskers}")
    ax.set_title(f"Row {row.number[0]}: what adds up to f = {number(explanation.total)}", fontsize="medium")
    return ax


def waterfall_height(explanation: Explanation) -> float:
    """Inches that a waterfall needs."""
    return 1.1 + 0.4 * (len(explanation.labels) + 3)


def draw_waterfall(ax: Axes, explanation: Explanation) -> Axes:
    """Draw bars, whiskers and figures of an explanation; what a bar is stands above it."""
    labels, steps = list(explanation.labels), list(explanation.mean)
    start = explanation.intercept + explanation.offset
    if explanation.n_rest:
        labels.append(f"{explanation.n_rest} other effect{'s' if explanation.n_rest > 1 else ''}")
        steps.append(explanation.rest)
    ends = start + np.cumsum([0.0, *steps])
    places = np.arange(1, len(steps) + 1)
    colours = [POSITIVE if step > 0 else NEGATIVE for step in steps]
    ax.barh(places, steps, left=ends[:-1], height=0.4, color=colours, alpha=0.8)
    for i, end in enumerate(ends):
        ax.plot([end, end], [i, i + 1], color=GREY, linewidth=0.6, linestyle=":")
    shown = len(explanation.labels)
    before = ends[:shown]
    ax.hlines(
        places[:shown], before + explanation.low, before + explanation.high, color="black", linewidth=1.2
    )
    ax.plot([ends[0], ends[-1]], [0, len(steps) + 1], "D", color=LINE, markersize=5, linestyle="none")
    signed = [number(start), *(("+" if s > 0 else "") + number(s) for s in steps), number(explanation.total)]
    first = "intercept + offset" if explanation.offset else "intercept"
    for i, (name, value) in enumerate(zip([first, *labels, "f (posterior mean)"], signed, strict=True)):
        at: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": "small"}
        ax.text(0.01, i - 0.42, plot_text(name), ha="left", **at)
        ax.text(0.99, i - 0.42, value, ha="right", fontweight="bold", **at)
    ax.set_ylim(len(steps) + 1.5, -0.8)
    ax.set_yticks([])
    ax.use_sticky_edges = False
    ax.margins(x=0.08)
    return ax
