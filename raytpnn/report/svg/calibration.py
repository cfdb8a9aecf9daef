"""What was promised beside what was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.report.names import number, percent
from raytpnn.report.plots.calibration import pit_histogram, reliability
from raytpnn.report.svg.axes import Drawing, frame_scales

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior
    from raytpnn.report.quality import Assessment

__all__ = ["calibration_drawings"]


def calibration_drawings(post: Posterior, result: Assessment) -> list[tuple[str, str]]:
    """Drawings with their captions."""
    if post.family.binary:
        return [(reliability_drawing(result), RELIABILITY)]
    drawn = [(coverage_drawing(result), COVERAGE), (pit_drawing(result), PIT)]
    if post.family.discrete:
        drawn[0] = (
            drawn[0][0],
            f"{COVERAGE} Intervals of counts end on whole numbers and hold more than they promise.",
        )
    return drawn


RELIABILITY = (
    "Of the rows given a probability, the share that turned out so, with a 95% interval of that share; on "
    "the dashed line probabilities can be taken at their word."
)
COVERAGE = (
    "The share of responses within predictive intervals of each level; below the dashed line intervals are "
    "too narrow, above it too wide. Grey: 95% of what chance alone does."
)
PIT = (
    "Where responses fell in their predictive distribution: bars of equal height are right, a hump says "
    "too wide, a valley too narrow."
)


def reliability_drawing(result: Assessment) -> str:
    """Draw promised against seen probabilities."""
    table = reliability(result.y, result.mean)
    drawing = Drawing("Calibration: share seen against probability promised")
    across, up = frame_scales((0.0, 1.0), (0.0, 1.0))
    drawing.y_axis(up, "share seen")
    drawing.x_axis(across, "probability promised")
    drawing.line("wanted", across(0.0), up(0.0), across(1.0), up(1.0))
    for promised, seen, low, high, rows in table:
        drawing.line("thick", across(promised), up(low), across(promised), up(high))
        drawing.add("circle", "dot", cx=across(promised), cy=up(seen), r=5)
        text = f"promised {percent(promised)}, seen {percent(seen)} of {int(rows)} rows"
        drawing.points.append((across(promised), up(seen), text))
    return drawing.finish()


def coverage_drawing(result: Assessment) -> str:
    """Draw the share within intervals against their level."""
    levels = np.linspace(0.05, 0.95, 19)
    seen = np.array([result.coverage(level) for level in levels])
    half = 1.96 * np.sqrt(levels * (1 - levels) / len(result.y))
    drawing = Drawing(
        f"Calibration: {percent(result.coverage(0.9))} of responses lie within the 90% intervals"
    )
    across, up = frame_scales((0.0, 1.0), (0.0, 1.0))
    drawing.y_axis(up, "share of responses inside")
    drawing.x_axis(across, "level of the predictive interval")
    px = [across(level) for level in levels]
    drawing.path(
        "chance",
        px,
        [up(v) for v in np.minimum(levels + half, 1)],
        [up(v) for v in np.maximum(levels - half, 0)],
    )
    drawing.line("wanted", across(0.0), up(0.0), across(1.0), up(1.0))
    drawing.path("line", px, [up(value) for value in seen])
    for at, level, share in zip(px, levels, seen, strict=True):
        drawing.points.append((at, up(share), f"{percent(level)} intervals hold {percent(share)}"))
    return drawing.finish()


def pit_drawing(result: Assessment) -> str:
    """Draw the histogram of where responses fell."""
    share = pit_histogram(result.below, result.upto)
    bins = len(share)
    drawing = Drawing("Where responses fell in their predictive distributions, as bars")
    across, up = frame_scales((0.0, 1.0), (0.0, max(float(share.max()), 2.0 / bins)))
    drawing.y_axis(up, "share of rows")
    drawing.x_axis(across, "place in the predictive distribution")
    base = up(0.0)
    for k, value in enumerate(share):
        left, right = across(k / bins), across((k + 1) / bins)
        drawing.add(
            "rect",
            "plain",
            x=left,
            y=up(value),
            width=round(right - left - 1, 1),
            height=round(base - up(value), 1),
        )
        text = f"{percent(k / bins)} to {percent((k + 1) / bins)}: {number(100 * float(value))}% of rows"
        drawing.points.append(((left + right) / 2, up(value), text))
    drawing.line("wanted", across(0.0), up(1 / bins), across(1.0), up(1 / bins))
    return drawing.finish()
