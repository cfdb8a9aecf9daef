"""How each effect looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raytpnn.data.encoding.encoder import LEVEL
from raytpnn.numerics.level import PERCENT
from raytpnn.report import html
from raytpnn.report.names import TIMES, latent_unit, shorten
from raytpnn.report.pictures import picture
from raytpnn.report.plots.effects import plot_effect
from raytpnn.report.plots.heatmaps import plot_interaction
from raytpnn.report.plots.slices import plot_slices

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["effects_section", "leading_effects"]

# Pictures of each order at most, and the part of the largest importance below which an effect is not drawn.
MOST = {1: 10, 2: 6, 3: 2}
LEAST_PART = 0.05


def effects_section(post: Posterior) -> str:
    """Pictures of the leading effects, by order."""
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
            html.figures([main_effect(post, name) for name in chosen[1]]),
        ]
    if chosen[2]:
        parts += [
            html.heading("Pairs of features"),
            html.paragraph(
                "What two features do together beyond their single effects. Red raises f, blue lowers it."
            ),
            html.figures([pair(post, names) for names in chosen[2]]),
        ]
    if chosen[3]:
        parts += [
            html.heading("Three features"),
            html.paragraph(
                "Maps of two features, at some values of the third; colours mean the same in all maps."
            ),
            html.figures([triple(post, names) for names in chosen[3]]),
        ]
    if left:
        parts.append(
            html.note(
                f"{left:,} further effect{'s are' if left > 1 else ' is'} not drawn: weaker, of more than "
                "three features, or held by fewer than 5% of the draws. post.components() lists all."
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


def main_effect(post: Posterior, name: str) -> tuple[str, str, str]:
    """Picture of one feature or column."""
    address = picture(lambda f: plot_effect(post, name, f.subplots()), 2.9)
    return (
        address,
        f"Main effect of {shorten(name, 80)} with {PERCENT} bands",
        f"Main effect of {shorten(name, 120)}.",
    )


def pair(post: Posterior, names: tuple[str, ...]) -> tuple[str, str, str]:
    """Picture of two features."""
    label = TIMES.join(shorten(name, 60) for name in names)
    address = picture(lambda f: plot_interaction(post, names, f.subplots()), 3.3)
    caption = f"{label}. Posterior mean; dots where the {PERCENT} simultaneous band excludes 0."
    return address, f"Heat map of the interaction {label}", caption


def triple(post: Posterior, names: tuple[str, ...]) -> tuple[str, str, str]:
    """Picture of three features."""
    label = TIMES.join(shorten(name, 60) for name in names)
    fewest = min(len(post.encoder.representatives(name)) for name in names)
    height = 0.7 + 2.1 * (2 if fewest <= 2 else 3)
    caption = (
        f"{label}. Posterior mean; dots where the {PERCENT} simultaneous band, over all maps, excludes 0."
    )
    return (
        picture(lambda f: plot_slices(post, names, f), height),
        f"Heat maps of the interaction {label}",
        caption,
    )
