"""How each effect looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.data.encoding.encoder import LEVEL
from raytpnn.numerics.level import PERCENT
from raytpnn.report import html
from raytpnn.report.names import TIMES, latent_unit, number, shorten
from raytpnn.report.plots.scale import training_quantiles
from raytpnn.report.svg.curves import effect_drawing
from raytpnn.report.svg.maps import map_drawing

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["effects_section", "leading_effects"]

# Pictures of each order at most, and the part of the largest importance below which an effect is not drawn.
MOST = {1: 10, 2: 6, 3: 2}
LEAST_PART = 0.05


def effects_section(post: Posterior, few: Posterior) -> str:
    """Draw the leading effects, by order; `few` is the posterior of the draws behind the drawings."""
    chosen, left = leading_effects(post)
    if not any(chosen.values()):
        return html.section(
            "effects", "How each effect looks", [html.paragraph("There is no effect to draw.")]
        )
    parts = [
        html.paragraph(
            f"Effects are in {latent_unit(post)} and average to zero over the training data. Lines and bars "
            "are posterior means. The dark band or thick whisker is pointwise: at each value alone the "
            f"effect lies within it with probability {PERCENT}. The light band or thin whisker is "
            f"simultaneous: with probability {PERCENT} the effect lies within it at all values at once; "
            "judge shapes by this one. Small marks at the bottom show where training rows are; far from them "
            "the prior speaks."
        )
    ]
    if chosen[1]:
        parts += [
            html.heading("Single features"),
            html.drawings([main_effect(few, name) for name in chosen[1]]),
        ]
    if chosen[2]:
        parts += [
            html.heading("Pairs of features"),
            html.paragraph(
                "What two features do together beyond their single effects. Orange raises, blue lowers. "
                "Small dots are training rows; where there are none, there is no colour. A ring: the "
                "simultaneous band excludes 0."
            ),
            html.drawings([pair(few, names) for names in chosen[2]]),
        ]
    if chosen[3]:
        parts += [
            html.heading("Three features"),
            html.paragraph("Maps of two features, at a low and a high value of the third."),
            html.drawings([drawn for names in chosen[3] for drawn in triple(few, names)]),
        ]
    if few is not post:
        parts.append(
            html.note(
                f"Drawings, scores and single rows are made of {few.draws.n_draws:,} evenly spaced draws of "
                f"{post.draws.n_draws:,}."
            )
        )
    if left:
        parts.append(
            html.note(
                f"{left:,} further effect{'s are' if left > 1 else ' is'} not drawn: weaker, of more than "
                "three features, or held by fewer than 5% of the draws. `post.components()` lists all."
            )
        )
    return html.section("effects", "How each effect looks", parts)


def leading_effects(post: Posterior) -> tuple[dict[int, list], int]:
    """Effects to draw by order, and how many components are left out.

    Order 1 holds names, of which levels of one column of text become its name; the others hold tuples.
    """
    table = post.components()
    chosen: dict[int, list] = {1: [], 2: [], 3: []}
    left = 0
    least = LEAST_PART * table["importance"].max() if len(table) else 0.0
    for row in table.to_dict("records"):
        # Levels of one column exclude each other: their interactions are part of the column's effect.
        column = {single(post, name) for name in row["component"]}
        order = 1 if len(column) == 1 else len(row["component"])
        if order not in chosen or row["importance"] < least:
            left += 1
            continue
        effect = column.pop() if order == 1 else row["component"]
        if effect in chosen[order]:
            continue
        if len(chosen[order]) < MOST[order]:
            chosen[order].append(effect)
        else:
            left += 1
    return chosen, left


def single(post: Posterior, name: str) -> str:
    """Name of the column of a level, unless an encoded feature is called so; else the name itself."""
    feature = post.encoder.index(name)
    source = post.encoder.source(feature)
    return source if post.encoder.kind[feature] == LEVEL and source not in post.encoder.names else name


def main_effect(post: Posterior, name: str) -> tuple[str, str]:
    """Drawing of one feature or column."""
    return effect_drawing(post, name), f"Main effect of {shorten(name, 120)}."


def pair(post: Posterior, names: tuple[str, ...]) -> tuple[str, str]:
    """Drawing of two features."""
    label = TIMES.join(shorten(name, 60) for name in names)
    return map_drawing(post, names), f"{label}. Posterior mean of what they do together."


def triple(post: Posterior, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Drawings of three features: two maps, at a low and a high value of the last."""
    first, second, third = names
    feature = post.encoder.index(third)
    values = post.encoder.representatives(feature)
    ends = values if len(values) == 2 else training_quantiles(post, feature, np.array([0.1, 0.9]))
    label = TIMES.join(shorten(name, 60) for name in names)
    return [
        (
            map_drawing(post, (first, second), {third: float(value)}),
            f"{label}, where {shorten(third, 60)} is {number(float(value))}.",
        )
        for value in ends
    ]
