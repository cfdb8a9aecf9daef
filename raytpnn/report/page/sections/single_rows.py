"""What was learned about single rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.numerics.level import CREDIBLE_LEVEL, PERCENT, TAILS
from raytpnn.posterior.evaluate.mixture import mixture_quantiles
from raytpnn.report import html
from raytpnn.report.names import latent_unit, number, probability, shorten
from raytpnn.report.pictures import picture
from raytpnn.report.plots.shapley import shapley_by_column
from raytpnn.report.plots.waterfall import Explanation, draw_explanation, explain, waterfall_height
from raytpnn.report.rows import Rows, column_text, pick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from raytpnn.posterior.posterior import Posterior

__all__ = ["rows_section"]

SHAPLEY_COLUMNS = 6


def rows_section(post: Posterior, rows: Rows, wanted: Sequence[int] | None) -> str:
    """Explain chosen rows; by default those with the lowest, the middle and the highest prediction."""
    whose = "training data" if rows.training else "table given to this report"
    if wanted is None:
        mean = post.predictor.mean(post.family, rows.codes, rows.offset)
        order = np.argsort(mean, kind="stable")
        places = dict.fromkeys(int(order[i]) for i in (0, len(order) // 2, len(order) - 1))
        wanted = list(places)
        how = (
            f"No rows were picked, so these are the ones of the {whose} with the lowest, the middle and the "
            "highest prediction."
        )
    else:
        how = f"The rows that were picked, numbered from 0 in the {whose}."
    parts = [
        html.paragraph(how),
        html.paragraph(
            "Each picture starts at the intercept and adds the row's effects, the largest first, until it "
            f"ends at f ({latent_unit(post)}). A black line is the {PERCENT} posterior interval of a bar "
            "alone. An effect of which a feature is missing adds nothing. ≈ is the typical value of a group "
            "of close values. The tables give every column its fair share: its own effect and an equal part "
            "of each effect that it shares with others."
        ),
    ]
    drawn = []
    for number_of in wanted:
        one = pick(rows, [number_of])
        explanation = explain(post, one)
        draw = partial(draw_on, post, one, explanation)
        alt = f"How effects add up to f at row {one.number[0]}"
        drawn.append((picture(draw, waterfall_height(explanation)), alt, prediction_text(post, one)))
    parts.append(html.figures(drawn))
    parts += [part for row in wanted for part in shapley_parts(post, pick(rows, [row]))]
    return html.section("rows", "Single rows", parts)


def shapley_parts(post: Posterior, row: Rows) -> list[str]:
    """Table of the Shapley values of a row's columns; none if no column adds anything."""
    found = shapley_by_column(post, row, SHAPLEY_COLUMNS, CREDIBLE_LEVEL)
    if not found:
        return []
    names = post.encoder.column_labels
    lines = [
        (
            f"{shorten(names[column], 40)} {shorten(column_text(post, column, row), 24)}",
            number(mean),
            f"{number(low)} to {number(high)}",
        )
        for column, mean, low, high in found
    ]
    title = f"Row {row.number[0]}: Shapley values, what each column adds to f ({latent_unit(post)})"
    return [html.table(["Column", "Shapley value", f"{PERCENT} posterior interval"], lines, title)]


def draw_on(post: Posterior, row: Rows, explanation: Explanation, figure: Figure) -> None:
    """Draw an explanation on an empty figure."""
    draw_explanation(post, row, explanation, figure.subplots())


def prediction_text(post: Posterior, row: Rows) -> str:
    """Give the prediction of a row, its interval, and the response if it is known."""
    f = post.predictor.latent(row.codes, row.offset)
    response = post.family.mean(f[:, 0])
    start = f"Row {row.number[0]}: "
    if post.family.binary:
        label = "1" if post.classes is None else shorten(str(post.classes[1]), 40)
        low, high = np.quantile(response, TAILS)
        text = (
            f"{start}probability of {label} {probability(float(response.mean()))}, {PERCENT} posterior "
            f"interval {probability(low)} to {probability(high)}."
        )
        if row.y is not None:
            seen = row.y[0] if post.classes is None else shorten(str(post.classes[int(row.y[0])]), 40)
            text += f" It was {number(seen) if isinstance(seen, float) else seen}."
        return text
    low, high = mixture_quantiles(post.family, np.array(TAILS), f, post.draws.nuisance)[0]
    text = (
        f"{start}predicted {number(float(response.mean()))}, {PERCENT} predictive interval of the response "
        f"{number(low)} to {number(high)}."
    )
    return text if row.y is None else f"{text} It was {number(float(row.y[0]))}."
