"""What was learned about single rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.numerics.level import CREDIBLE_LEVEL, PERCENT, TAILS
from raytpnn.posterior.effects.components import contributions
from raytpnn.posterior.evaluate.mixture import mixture_quantiles
from raytpnn.report import html
from raytpnn.report.names import TIMES, latent_unit, number, probability, shorten
from raytpnn.report.plots.shapley import shapley_by_column
from raytpnn.report.plots.waterfall import Explanation, explain
from raytpnn.report.rows import Rows, column_text, pick, thin_rows
from raytpnn.report.svg.bars import bar_drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raytpnn.posterior.posterior import Posterior

__all__ = ["rows_section"]

SHAPLEY_COLUMNS = 6
PICKED_ROWS, PICKED_EFFECTS = 200, 15


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
            f"Each bar is what one effect adds to f ({latent_unit(post)}) at the row, beyond the intercept "
            f"{number(post.intercept_mean)}; the line is its {PERCENT} posterior interval. An effect of "
            "which a feature is missing adds nothing. ≈ is the typical value of a group of close values. "
            "The tables give every column its fair share: its own effect and an equal part of each effect "
            "that it shares with others."
        ),
    ]
    drawn = []
    for number_of in wanted:
        one = pick(rows, [number_of])
        explanation = explain(post, one)
        if explanation.labels:
            drawn.append((explanation_drawing(post, one, explanation), prediction_text(post, one)))
        else:
            parts.append(html.paragraph(f"{prediction_text(post, one)} No effect adds anything."))
    parts.append(html.drawings(drawn))
    parts.append(
        html.side_by_side([part for row in wanted for part in shapley_parts(post, pick(rows, [row]))])
    )
    parts.append(row_picker(post, rows))
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
    return [html.table(["Column", "Shapley value", f"{PERCENT} interval"], lines, title)]


def explanation_drawing(post: Posterior, row: Rows, explanation: Explanation) -> str:
    """Draw what the effects of a row add."""
    labels, means = list(explanation.labels), explanation.mean.tolist()
    lows, highs = explanation.low.tolist(), explanation.high.tolist()
    if explanation.n_rest:
        labels.append(f"{explanation.n_rest} others together")
        for values in (means, lows, highs):
            values.append(explanation.rest)
    return bar_drawing(
        f"What effects add to f at row {row.number[0]}",
        labels,
        means,
        lows,
        highs,
        f"added ({latent_unit(post)})",
    )


def prediction_text(post: Posterior, row: Rows) -> str:
    """Give the prediction of a row, its interval, and the response if it is known."""
    f = post.predictor.latent(row.codes, row.offset)
    response = post.family.mean(f[:, 0])
    start = f"Row {row.number[0]}: "
    if post.family.binary:
        label = "a 1" if post.classes is None else shorten(str(post.classes[1]), 40)
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


def row_picker(post: Posterior, rows: Rows) -> str:
    """Give data of rows that the script of the page explains when one is picked."""
    some = thin_rows(rows, PICKED_ROWS)
    table = contributions(post.predictor, post.norms, some.codes, post.names, PICKED_EFFECTS)
    if not len(table.columns):
        return ""
    names = [
        TIMES.join(shorten(part, 40) for part in name) if isinstance(name, tuple) else "all others together"
        for name in table.columns
    ]
    mean = post.predictor.mean(post.family, some.codes, some.offset)
    entries = [
        {
            "row": int(some.number[i]),
            "mean": number(float(mean[i])),
            "was": "" if some.y is None else response_text(post, float(some.y[i])),
            "adds": [float(f"{value:.3g}") for value in values],
        }
        for i, values in enumerate(table.to_numpy())
    ]
    told = {
        "names": names,
        "rows": entries,
        "intercept": number(post.intercept_mean),
        "unit": latent_unit(post),
    }
    what = "rows" if some.n == rows.n else f"{some.n} of {rows.n:,} rows, evenly spaced"
    return (
        '<div id="picker" data-source="picker-data" hidden>'
        + html.heading("Pick a row")
        + '<p><label for="picked">Row: </label>'
        + '<select id="picked"></select> <span class="note">'
        + html.prose(f"({what}; posterior means)")
        + '</span></p><div id="picked-row" aria-live="polite"></div></div>'
        + '<noscript><p class="note">Picking a row needs scripts.</p></noscript>'
        + html.data("picker-data", told)
    )


def response_text(post: Posterior, value: float) -> str:
    """Response as the user gave it."""
    if post.family.binary and post.classes is not None:
        return shorten(str(post.classes[int(value)]), 40)
    return number(value)
