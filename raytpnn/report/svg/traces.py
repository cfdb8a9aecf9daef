"""Scalars of the chains over their draws, and their ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

from raytpnn.report.names import number
from raytpnn.report.plots.traces import RANK_BINS, choose, title_of
from raytpnn.report.svg.axes import LEFT, Drawing, Scale

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["rank_drawing", "trace_drawing"]

STRIP, MOST_POINTS, COLOURS = 92, 160, 8


def trace_drawing(post: Posterior) -> str:
    """Draw each scalar over the draws, one line a chain."""
    scalars = choose(post, None)
    drawing = Drawing(
        "Traces of the log-likelihood and other scalars, one line per chain", height=STRIP * len(scalars) + 36
    )
    for strip, (name, values) in enumerate(scalars.items()):
        up = strip_scale(drawing, strip, title_of(post, name), float(values.min()), float(values.max()))
        for k, chain in enumerate(np.unique(post.draws.chain)):
            own = values[post.draws.chain == chain]
            few = np.unique(np.linspace(0, len(own) - 1, min(len(own), MOST_POINTS)).astype(int))
            across = Scale(0.0, max(len(own) - 1.0, 1.0), LEFT, drawing.width - 10)
            drawing.path(f"trace c{k % COLOURS}", [across(i) for i in few], [up(value) for value in own[few]])
    drawing.label(
        "draw, from the first kept to the last", (LEFT + drawing.width) / 2, drawing.height - 8, kind="axis"
    )
    return drawing.finish()


def rank_drawing(post: Posterior) -> str:
    """Draw how often each chain has each part of the ranks of all draws."""
    scalars = choose(post, None)
    drawing = Drawing("Ranks of the same scalars, one line per chain", height=STRIP * len(scalars) + 36)
    for strip, (name, values) in enumerate(scalars.items()):
        rank = (rankdata(values) - 0.5) / len(values)
        counts = {
            chain: np.histogram(rank[post.draws.chain == chain], RANK_BINS, (0.0, 1.0))[0]
            * RANK_BINS
            / np.sum(post.draws.chain == chain)
            for chain in np.unique(post.draws.chain)
        }
        up = strip_scale(
            drawing, strip, title_of(post, name), 0.0, float(max(c.max() for c in counts.values()))
        )
        drawing.line("wanted", LEFT, up(1.0), drawing.width - 10, up(1.0))
        across = Scale(0.0, 1.0, LEFT, drawing.width - 10)
        edges = np.repeat(np.linspace(0, 1, RANK_BINS + 1), 2)[1:-1]
        for k, count in enumerate(counts.values()):
            drawing.path(
                f"trace c{k % COLOURS}", [across(e) for e in edges], [up(v) for v in np.repeat(count, 2)]
            )
    drawing.label(
        "rank among the draws of all chains", (LEFT + drawing.width) / 2, drawing.height - 8, kind="axis"
    )
    return drawing.finish()


def strip_scale(drawing: Drawing, strip: int, title: str, low: float, high: float) -> Scale:
    """Scale of one strip, with its title and its ends."""
    top = STRIP * strip
    up = Scale(low, high if high > low else low + 1.0, top + STRIP - 6, top + 24)
    drawing.label(title, LEFT, top + 17, "start", "axis")
    for value in (low, high):
        drawing.label(number(float(value)), LEFT - 7, up(value) + 4, "end")
    drawing.line("grid", LEFT, top + STRIP - 6, drawing.width - 10, top + STRIP - 6)
    return up
