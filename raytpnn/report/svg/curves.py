"""Effects of single features and of columns of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.numerics.level import CREDIBLE_LEVEL, PERCENT
from raytpnn.posterior.effects.curves import credible_bands
from raytpnn.report.names import latent_unit, number, shorten
from raytpnn.report.plots.effects import column_effect, text_column
from raytpnn.report.plots.scale import is_category, level_labels, training_quantiles, wants_log_scale
from raytpnn.report.svg.axes import BOTTOM, Drawing, frame_scales, span

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["effect_drawing"]

# Points a curve, and marks of rows below it.
MOST_POINTS, MOST_MARKS = 120, 150


def effect_drawing(post: Posterior, name: str) -> str:
    """Draw the effect of a feature, or of a column of text over its levels."""
    column = text_column(post, name)
    if column is not None:
        levels, f = column_effect(post, column)
        shares = column_shares(post, column)
        return bars_over_levels(post, name, list(levels), credible_bands(f, CREDIBLE_LEVEL), shares)
    feature = post.encoder.index(name)
    table = post.component(name)
    bands = {key: table[key].to_numpy() for key in BANDS}
    if is_category(post, feature):
        labels = [label.replace("\\$", "$") for label in level_labels(post, feature)]
        weights = post.bins.weights_of(feature)
        return bars_over_levels(post, name, labels, bands, weights / weights.sum())
    return curve(post, name, feature, table.iloc[:, 0].to_numpy(), bands)


BANDS = ("mean", "low", "high", "simultaneous_low", "simultaneous_high")


def column_shares(post: Posterior, column: int) -> np.ndarray | None:
    """Share of the training rows that have each level of a column."""
    features = np.flatnonzero((post.encoder.column == column) & (post.encoder.kind == 1))
    ones = np.array([post.bins.weights_of(int(j))[1] / post.bins.weights_of(int(j)).sum() for j in features])
    return np.array([1.0 - ones[0], ones[0]]) if len(ones) == 1 else ones


def curve(post: Posterior, name: str, feature: int, x: np.ndarray, bands: dict[str, np.ndarray]) -> str:
    """Line with bands, and marks where training rows are."""
    low, high = training_quantiles(post, feature, np.array([0.002, 0.998]))
    inside = (x >= low) & (x <= high)
    if inside.sum() >= 3:
        x, bands = x[inside], {key: value[inside] for key, value in bands.items()}
    few = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
    x, bands = x[few], {key: value[few] for key, value in bands.items()}
    unit = latent_unit(post)
    title = f"Main effect of {shorten(name, 80)} with {PERCENT} bands, {in_words(x, bands['mean'])}"
    drawing = Drawing(title)
    ends = span(np.concatenate([bands["simultaneous_low"], bands["simultaneous_high"]]))
    across, up = frame_scales((float(x[0]), float(x[-1])), ends, wants_log_scale(post, feature))
    drawing.y_axis(up, f"effect ({unit})")
    drawing.x_axis(across, shorten(name, 50))
    px = [across(value) for value in x]
    places = {key: [up(value) for value in bands[key]] for key in BANDS}
    drawing.path("wide", px, places["simultaneous_high"], places["simultaneous_low"])
    drawing.path("band", px, places["high"], places["low"])
    drawing.path("line", px, places["mean"])
    marks = np.unique(training_quantiles(post, feature, (np.arange(MOST_MARKS) + 0.5) / MOST_MARKS))
    base = drawing.height - BOTTOM
    at = sorted({across(value) for value in marks if x[0] <= value <= x[-1]})
    drawing.add("path", "mark", d="".join(f"M{value:g} {base}v-8" for value in at))
    brief = shorten(name, 30)
    for i, value in enumerate(x):
        text = (
            f"{brief} {number(float(value))}: {signed(bands['mean'][i])} ({PERCENT} "
            f"{number(bands['low'][i])} to {number(bands['high'][i])})"
        )
        drawing.points.append((px[i], places["mean"][i], text))
    return drawing.finish()


def bars_over_levels(
    post: Posterior, name: str, labels: list[str], bands: dict[str, np.ndarray], shares: np.ndarray | None
) -> str:
    """One bar a level with its whiskers; at most 24 levels, the largest effects."""
    keep = np.arange(len(labels))
    if len(labels) > 24:
        keep = np.sort(np.argsort(-np.abs(bands["mean"]), kind="stable")[:24])
    title = f"Main effect of {shorten(name, 80)} with {PERCENT} bands over {len(labels)} levels"
    drawing = Drawing(title)
    chosen = {key: bands[key][keep] for key in BANDS}
    ends = span(np.concatenate([chosen["simultaneous_low"], chosen["simultaneous_high"]]))
    _, up = frame_scales((0.0, 1.0), ends)
    drawing.y_axis(up, f"effect ({latent_unit(post)})")
    places = drawing.categories([labels[i] for i in keep], shorten(name, 50))
    width = max(min(0.5 * (places[1] - places[0]) if len(places) > 1 else 60.0, 60.0), 4.0)
    for i, at in enumerate(places):
        top, zero = up(chosen["mean"][i]), up(0.0)
        kind = "up" if chosen["mean"][i] >= 0 else "down"
        drawing.add(
            "rect",
            kind,
            x=round(at - width / 2, 1),
            y=min(top, zero),
            width=round(width, 1),
            height=round(max(abs(top - zero), 0.5), 1),
        )
        drawing.line("thin", at, up(chosen["simultaneous_low"][i]), at, up(chosen["simultaneous_high"][i]))
        drawing.line("thick", at, up(chosen["low"][i]), at, up(chosen["high"][i]))
        share = (
            "" if shares is None or len(shares) != len(labels) else f", {100 * shares[keep[i]]:.0f}% of rows"
        )
        text = (
            f"{shorten(labels[keep[i]], 30)}: {signed(chosen['mean'][i])} ({PERCENT} "
            f"{number(chosen['low'][i])} to {number(chosen['high'][i])}){share}"
        )
        drawing.points.append((at, top, text))
    return drawing.finish()


def signed(value: float) -> str:
    """Number with its sign."""
    text = number(float(value))
    return text if text.startswith("−") or value == 0 else f"+{text}"


def in_words(x: np.ndarray, mean: np.ndarray) -> str:
    """Course of a curve in words, for those who do not see it."""
    least, most = int(np.argmin(mean)), int(np.argmax(mean))
    return (
        f"lowest {signed(mean[least])} at {number(float(x[least]))}, highest {signed(mean[most])} at "
        f"{number(float(x[most]))}"
    )
