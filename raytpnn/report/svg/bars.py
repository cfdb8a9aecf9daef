"""Horizontal bars with intervals: importance of effects, and what adds up at a row."""

from __future__ import annotations

from collections.abc import Sequence

from raytpnn.numerics.level import PERCENT
from raytpnn.report.names import number, shorten
from raytpnn.report.svg.axes import Drawing, Scale, tick_text

__all__ = ["bar_drawing"]

NAMES, ROOM, STEP = 220, 14, 27


def bar_drawing(
    title: str,
    labels: Sequence[str],
    means: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    axis: str,
    sizes: bool = False,
) -> str:
    """Draw a bar with its interval for every label, the first on top; `sizes` have no direction."""
    drawing = Drawing(title, height=STEP * len(labels) + 56)
    low, high = min([0.0, *lows, *means]), max([0.0, *highs, *means])
    across = Scale(low, high if high > low else low + 1.0, NAMES, drawing.width - ROOM)
    base = STEP * len(labels) + 6
    for value in across.ticks(5):
        drawing.line("zero" if value == 0 else "grid", across(value), 4, across(value), base)
        drawing.label(tick_text(value), across(value), base + 18)
    drawing.label(axis, (NAMES + drawing.width - ROOM) / 2, base + 42, kind="axis")
    for i, label in enumerate(labels):
        y = 6 + STEP * i
        drawing.label(shorten(label, 22), NAMES - 8, y + 17, "end")
        zero, at = across(0.0), across(means[i])
        kind = "plain" if sizes else "up" if means[i] >= 0 else "down"
        drawing.add(
            "rect", kind, x=min(zero, at), y=y + 4, width=round(max(abs(at - zero), 0.5), 1), height=17
        )
        if lows[i] != highs[i]:
            drawing.line("thick", across(lows[i]), y + 12.5, across(highs[i]), y + 12.5)
        text = f"{label}: {number(means[i])} ({PERCENT} {number(lows[i])} to {number(highs[i])})"
        drawing.points.append((at, y + 12.5, text))
    drawing.plane = True
    return drawing.finish()
