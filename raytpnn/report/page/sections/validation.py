"""What rows held out say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raytpnn.report import html
from raytpnn.validation.text import SCORE_COLUMNS, number, score_rows, sentences

if TYPE_CHECKING:
    from raytpnn.validation.summary import CrossValidation

__all__ = ["validation_section"]

SHOWN = 20


def validation_section(result: CrossValidation) -> str:
    """Scores of a cross-validation, and how steadily features are found."""
    rows = [
        [
            str(found["feature"]),
            *(
                number(found[name])
                for name in ("share_of_draws", "share_of_draws_low", "share_of_draws_high")
            ),
            *(f"{found[name]:.0%}" for name in ("confident", "leading")),
        ]
        for found in result.features().head(SHOWN).to_dict("records")
    ]
    parts = [
        html.paragraph(
            "The model was fitted again to parts of the rows, and the others predicted. This is how well it "
            "does on rows that it has not seen."
        ),
        html.table(list(SCORE_COLUMNS), score_rows(result), "Scores on rows held out"),
        html.bullets(sentences(result)),
        html.heading("Is the same found every time?"),
        html.table(
            [
                "Feature",
                "In draws, mean of fits",
                "least",
                "most",
                "fits above 0.5",
                "fits among the 20 first",
            ],
            rows,
            "Probability that a feature does more than noise, over the fits",
        ),
    ]
    return html.section("validation", "Does it hold on other rows?", parts)
