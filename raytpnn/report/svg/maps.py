"""Effects of two features as maps: no colour where there are no rows, dots where there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.numerics.level import PERCENT
from raytpnn.report.names import TIMES, latent_unit, number, shorten
from raytpnn.report.plots.heatmaps import grid_values
from raytpnn.report.plots.scale import is_category, level_labels
from raytpnn.report.svg.axes import BOTTOM, LEFT, Drawing
from raytpnn.report.svg.curves import signed

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["map_drawing"]

CELLS = 20
DOTS = 250
TOP_OF_MAP, RIGHT_OF_MAP = 14, 100


def map_drawing(
    post: Posterior, names: tuple[str, ...], held: dict[str, float] | None = None, most: float | None = None
) -> str:
    """Draw the effect of two features.

    Parameters
    ----------
    post : Posterior
    names : tuple of two str
    held : dict of str to float, optional
        Further features of the effect, and the values at which they are held.
    most : float, optional
        Largest size of the colours, to share it among maps.
    """
    held = held or {}
    features = [post.encoder.index(name) for name in names]
    values = [grid_values(post, feature, CELLS) for feature in features]
    a, b = (np.repeat(values[0], len(values[1])), np.tile(values[1], len(values[0])))
    grid = {names[0]: a, names[1]: b} | {name: np.full(len(a), value) for name, value in held.items()}
    table = post.component((*names, *held), grid=grid)
    mean = table["mean"].to_numpy().reshape(len(values[0]), len(values[1]))
    low, high = (table[f"simultaneous_{end}"].to_numpy().reshape(mean.shape) for end in ("low", "high"))
    codes = [post.bins.codes[feature] for feature in features]
    cells = [cell_of(post, feature, value) for feature, value in zip(features, values, strict=True)]
    known = (codes[0] != post.bins.missing_code) & (codes[1] != post.bins.missing_code)
    rows = np.flatnonzero(known)
    place = [cells[k][codes[k][rows].astype(int)] for k in (0, 1)]
    count = np.zeros(mean.shape, int)
    np.add.at(count, (place[0], place[1]), 1)
    there = near(count, [is_category(post, feature) for feature in features])
    at = "".join(f", {shorten(name, 20)} {number(value)}" for name, value in held.items())
    label = TIMES.join(shorten(name, 60) for name in names) + at
    drawing = Drawing(f"Map of the interaction {label}", height=360, plane=True)
    reach = most or float(np.max(np.abs(mean[there]), initial=0.0)) or 1.0
    draw_cells(drawing, post, names, features, values, mean, (low > 0) | (high < 0), there, reach)
    dots(drawing, mean.shape, place)
    key(drawing, reach, latent_unit(post))
    return drawing.finish()


def cell_of(post: Posterior, feature: int, values: np.ndarray) -> np.ndarray:
    """Cell of the grid that each bin of a feature falls into."""
    middle = (values[1:] + values[:-1]) / 2
    return np.searchsorted(middle, post.encoder.representatives(feature))


def near(count: np.ndarray, category: list[bool]) -> np.ndarray:
    """Cells that have rows, or whose neighbours along an axis of numbers have."""
    there = count > 0
    for axis in (0, 1):
        if category[axis]:
            continue
        for shift in (1, -1):
            moved = np.roll(count > 0, shift, axis)
            edge = [slice(None), slice(None)]
            edge[axis] = slice(0, 1) if shift == 1 else slice(-1, None)
            moved[tuple(edge)] = False
            there = there | moved
    return there


def box(drawing: Drawing, shape: tuple[int, ...]) -> tuple[float, float]:
    """Width and height of a cell."""
    return (
        (drawing.width - LEFT - RIGHT_OF_MAP) / shape[0],
        (drawing.height - BOTTOM - TOP_OF_MAP) / shape[1],
    )


def draw_cells(
    drawing: Drawing,
    post: Posterior,
    names: tuple[str, ...],
    features: list[int],
    values: list[np.ndarray],
    mean: np.ndarray,
    sure: np.ndarray,
    there: np.ndarray,
    reach: float,
) -> None:
    """Cells with their texts, ticks and names of the axes."""
    wide, tall = box(drawing, mean.shape)
    base = drawing.height - BOTTOM
    texts = [
        [label.replace("\\$", "$") for label in level_labels(post, feature)]
        if is_category(post, feature)
        else [number(float(value)) for value in own]
        for feature, own in zip(features, values, strict=True)
    ]
    brief = [shorten(name, 18) for name in names]
    for i in range(mean.shape[0]):
        for j in range(mean.shape[1]):
            x, y = round(LEFT + i * wide, 1), round(base - (j + 1) * tall, 1)
            if not there[i, j]:
                continue
            strength = min(abs(float(mean[i, j])) / reach, 1.0)
            drawing.add(
                "rect",
                "up" if mean[i, j] >= 0 else "down",
                x=x,
                y=y,
                width=round(wide + 0.2, 1),
                height=round(tall + 0.2, 1),
                fill_opacity=f"{strength:.2f}",
            )
            if sure[i, j]:
                drawing.add("circle", "sure", cx=round(x + wide / 2, 1), cy=round(y + tall / 2, 1), r=1.6)
            text = f"{brief[0]} {texts[0][i]}, {brief[1]} {texts[1][j]}: {signed(mean[i, j])}"
            drawing.points.append((round(x + wide / 2, 1), round(y + tall / 2, 1), text))
    drawing.add(
        "rect",
        "outline",
        x=LEFT,
        y=TOP_OF_MAP,
        width=round(wide * mean.shape[0], 1),
        height=round(base - TOP_OF_MAP, 1),
    )
    for i in ticked(len(values[0])):
        drawing.label(shorten(texts[0][i], 12), LEFT + (i + 0.5) * wide, base + 20)
    for j in ticked(len(values[1])):
        drawing.label(shorten(texts[1][j], 8), LEFT - 7, base - (j + 0.5) * tall + 4.5, "end")
    drawing.label(shorten(names[0], 44), LEFT + wide * mean.shape[0] / 2, drawing.height - 12, kind="axis")
    drawing.add(
        "text",
        "axis",
        shorten(names[1], 34),
        x=0,
        y=0,
        text_anchor="middle",
        transform=f"translate(17 {(base + TOP_OF_MAP) / 2:g}) rotate(-90)",
    )


def ticked(count: int, most: int = 5) -> list[int]:
    """Places that have a tick: all of few, else some at equal distances."""
    if count <= most:
        return list(range(count))
    return [round(k * (count - 1) / (most - 1)) for k in range(most)]


def dots(drawing: Drawing, shape: tuple[int, ...], place: list[np.ndarray]) -> None:
    """Draw a dot for training rows, spread within their cells; at most 250 of them."""
    rows = np.arange(len(place[0]))
    if len(rows) > DOTS:
        rows = rows[np.linspace(0, len(rows) - 1, DOTS).astype(int)]
    wide, tall = box(drawing, shape)
    base = drawing.height - BOTTOM
    rng = np.random.default_rng(0)
    jitter = rng.uniform(0.15, 0.85, (2, len(rows)))
    x = LEFT + (place[0][rows] + jitter[0]) * wide
    y = base - (place[1][rows] + jitter[1]) * tall
    d = "".join(f"M{a:.0f} {b:.0f}h1.6" for a, b in zip(x, y, strict=True))
    drawing.add("path", "row", d=d)


def key(drawing: Drawing, reach: float, unit: str) -> None:
    """Colours and what they mean, beside the map."""
    left, top, height = drawing.width - RIGHT_OF_MAP + 16, TOP_OF_MAP + 24, 150
    steps = 10
    for k in range(steps):
        value = 1.0 - 2.0 * (k + 0.5) / steps
        drawing.add(
            "rect",
            "up" if value >= 0 else "down",
            x=left,
            y=round(top + k * height / steps, 1),
            width=16,
            height=round(height / steps + 0.2, 1),
            fill_opacity=f"{abs(value):.2f}",
        )
    drawing.add("rect", "outline", x=left, y=top, width=16, height=height)
    for value, at in ((reach, top + 5), (0.0, top + height / 2 + 5), (-reach, top + height + 5)):
        drawing.label(signed(value) if value else "0", left + 22, at, "start")
    drawing.label("effect", left - 2, top - 12, "start", "axis")


TITLE = f"Colour: posterior mean. Rings: the {PERCENT} simultaneous band excludes 0."
