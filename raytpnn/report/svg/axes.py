"""Scales, ticks and the frame of a drawing."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from raytpnn.report.names import number

__all__ = ["HEIGHT", "WIDTH", "Drawing", "Scale", "nice_ticks", "tick_text"]

WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 78, 14, 14, 56


@dataclass(frozen=True)
class Scale:
    """From values to places.

    Attributes
    ----------
    low, high : float
        Values at the ends.
    start, end : float
        Their places.
    log : bool
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Place of a value, to a tenth."""
        low, high, at = self.low, self.high, float(value)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(max(at, 1e-300))
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values between the ends."""
        if not self.log:
            return nice_ticks(self.low, self.high, most)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        decades = [m * 10.0**e for e in range(first, last + 1) for m in (1, 2, 5)]
        inside = [value for value in decades if self.low <= value <= self.high]
        return inside if len(inside) <= most else inside[:: -(-len(inside) // most)]


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values between two numbers, at most `most`."""
    if not high > low:
        return [low]
    raw = (high - low) / max(most - 1, 1)
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10, 20) if size * factor >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def tick_text(value: float) -> str:
    """Round number as short as it can be."""
    text = number(value, 4)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


@dataclass
class Drawing:
    """An SVG element that grows.

    Attributes
    ----------
    title : str
        Alternative text.
    width, height : float
        Of its own units; it is as wide as its place in the page.
    parts : list of str
        Elements so far.
    points : list of (x, y, text)
        What a pointer or the arrow keys show.
    plane : bool
        Whether the nearest point is looked for in both directions.
    """

    title: str
    width: float = WIDTH
    height: float = HEIGHT
    parts: list[str] = field(default_factory=list)
    points: list[tuple[float, float, str]] = field(default_factory=list)
    plane: bool = False

    def add(self, tag: str, kind: str, text: str | None = None, **where: float | str) -> None:
        """Add an element of a class; text is escaped."""
        attributes = "".join(
            f' {name.replace("_", "-")}="{escape(str(value), quote=True)}"' for name, value in where.items()
        )
        body = "/>" if text is None else f">{escape(text)}</{tag}>"
        self.parts.append(f'<{tag} class="{kind}"{attributes}{body}')

    def line(self, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """Add a straight line."""
        self.add("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)

    def path(
        self, kind: str, x: Sequence[float], y: Sequence[float], back: Sequence[float] | None = None
    ) -> None:
        """Add a line through points, or the area between two lines."""
        ahead = [f"{a:g},{b:g}" for a, b in zip(x, y, strict=True)]
        if back is not None:
            ahead += [f"{a:g},{b:g}" for a, b in zip(reversed(x), reversed(back), strict=True)]
        self.add("polyline" if back is None else "polygon", kind, points=" ".join(ahead))

    def label(self, text: str, x: float, y: float, anchor: str = "middle", kind: str = "tick") -> None:
        """Add a text."""
        self.add("text", kind, text, x=round(x, 1), y=round(y, 1), text_anchor=anchor)

    def y_axis(self, scale: Scale, name: str, grid: bool = True) -> None:
        """Ticks, faint lines and the name at the left; a line at 0."""
        for value in scale.ticks():
            at = scale(value)
            if grid:
                self.line("zero" if value == 0 else "grid", LEFT, at, self.width - RIGHT, at)
            self.label(tick_text(value), LEFT - 7, at + 4.5, "end")
        middle = (scale.start + scale.end) / 2
        self.add(
            "text",
            "axis",
            name,
            x=0,
            y=0,
            text_anchor="middle",
            transform=f"translate(17 {middle:g}) rotate(-90)",
        )

    def x_axis(self, scale: Scale, name: str) -> None:
        """Ticks and the name below."""
        base = self.height - BOTTOM
        self.line("frame", LEFT, base, self.width - RIGHT, base)
        for value in scale.ticks():
            self.line("frame", scale(value), base, scale(value), base + 5)
            self.label(tick_text(value), scale(value), base + 20)
        self.label(name, (scale.start + scale.end) / 2, self.height - 12, kind="axis")

    def categories(self, labels: Sequence[str], name: str) -> list[float]:
        """Places of labels below, turned where they are many."""
        base, room = self.height - BOTTOM, (self.width - LEFT - RIGHT) / max(len(labels), 1)
        self.line("frame", LEFT, base, self.width - RIGHT, base)
        places = [round(LEFT + room * (i + 0.5), 1) for i in range(len(labels))]
        most = max(int(room / 8.2), 3)
        for at, label in zip(places, labels, strict=True):
            short = label if len(label) <= most else label[: most - 1] + "…"
            self.label(short, at, base + 20)
        self.label(name, LEFT + (self.width - LEFT - RIGHT) / 2, self.height - 12, kind="axis")
        return places

    def finish(self) -> str:
        """Text of the element."""
        data = ""
        if self.points:
            listed = [[x, y, text] for x, y, text in self.points]
            data = escape(json.dumps(listed, ensure_ascii=False, separators=(",", ":")), quote=True)
            data = f' data-points="{data}"' + (' data-plane="1"' if self.plane else "")
        inside = "".join(self.parts)
        label = escape(self.title, quote=True)
        return (
            f'<svg role="img" aria-label="{label}" viewBox="0 0 {self.width:g} {self.height:g}"{data}>'
            f"{inside}</svg>"
        )


def frame_scales(
    x: tuple[float, float],
    y: tuple[float, float],
    log: bool = False,
    width: float = WIDTH,
    height: float = HEIGHT,
) -> tuple[Scale, Scale]:
    """Scales of a framed drawing, with a little room above and below."""
    low, high = y
    room = 0.06 * (high - low or 1.0)
    across = Scale(x[0], x[1], LEFT + 6, width - RIGHT - 6, log)
    return across, Scale(low - room, high + room, height - BOTTOM, TOP)


def span(values: np.ndarray) -> tuple[float, float]:
    """Least and greatest of finite values, 0 among them."""
    known = values[np.isfinite(values)]
    if not len(known):
        return -1.0, 1.0
    low, high = min(float(known.min()), 0.0), max(float(known.max()), 0.0)
    return (low, high) if high > low else (low - 1.0, high + 1.0)
