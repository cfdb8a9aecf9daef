"""What matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raytpnn.data.encoding.encoder import LEVEL
from raytpnn.numerics.level import PERCENT
from raytpnn.posterior.effects.genes import BETWEEN
from raytpnn.report import html
from raytpnn.report.names import TIMES, latent_unit, number, percent, shorten
from raytpnn.report.svg.bars import bar_drawing

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.posterior.posterior import Posterior

__all__ = ["importance_section"]

BARS = 12
IMPORTANCE = (
    f"Importance: bars are posterior means, lines {PERCENT} posterior intervals (equal tails). A line that "
    "starts at 0 belongs to an effect that may be absent."
)


def importance_section(post: Posterior) -> str:
    """Table and plot of importance, and Shapley values."""
    table, paired = without_own_pairs(post, post.components())
    if table.empty:
        text = (
            "Nothing: no draw holds any effect. The data give no reason to prefer a model with features "
            "over the intercept alone (or the prior makes every term too dear: look at C0)."
        )
        return html.section("importance", "What matters?", [html.paragraph(text)])
    parts = [
        html.paragraph(
            "The importance of an effect is its typical size over the training rows: the root of its mean "
            f'square, in {latent_unit(post)}. "In draws" is the share of draws in which it is larger '
            f"than {number(post.negligible)}, four standard errors; it is no error rate, and an effect that "
            "is in many draws need not be real. Names joined by × act together, beyond what each does alone."
        ),
    ]
    by_level = any(
        (post.encoder.kind[j] == LEVEL) and len(post.encoder.levels[int(post.encoder.column[j])]) > 2
        for j in post.ensemble.used
    )
    first = post.components(by="column") if by_level else table
    parts.append(html.drawings([(importance_drawing(first.head(BARS)), IMPORTANCE)], large=True))
    parts.append(effects_table(first, "effects"))
    if by_level:
        parts.append(
            html.note(
                "All levels of a column are taken together here. The next table has them one by one (written "
                "column=level). They can stand in for each other: one draw may say “Bonn is high”, another "
                "“all others are low”; single importances are then uncertain, their joint effect is not."
            )
        )
        if paired:
            parts.append(
                html.note(
                    f"{paired:,} effect{'s' if paired > 1 else ''} among levels of one column only: not "
                    "listed, since they are part of that column's effect."
                )
            )
        parts.append(effects_table(table, "effects of single levels"))
    if post.encoder.annotation is not None or post.encoder.preparation is not None:
        parts.append(genes_table(post))
    return html.section("importance", "What matters?", parts)


def without_own_pairs(post: Posterior, table: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Effects of which no two features are levels of one column, and how many others there are.

    Levels of one column exclude each other: what two of them do together is part of the column's own effect.
    """
    encoder = post.encoder
    apart = [
        len({int(encoder.column[encoder.index(name)]) for name in names}) == len(names)
        for names in table["component"]
    ]
    kept = table[apart] if len(table) else table
    return kept, len(table) - len(kept)


def genes_table(post: Posterior) -> str:
    """Leading rows of the table of genes."""
    table = post.genes()
    lines = [
        (
            TIMES.join(shorten(gene, 40) for gene in row["gene"].split(BETWEEN)),
            number(row["importance"]),
            f"{number(row['importance_low'])} to {number(row['importance_high'])}",
            percent(row["share_of_draws"]),
            f"{row['direction']} ({percent(row['direction_probability'])})" if row["direction"] else "–",
            first_of(row["probes"]),
            first_of(row["accession"]),
        )
        for row in table.to_dict("records")
    ]
    title = f"{len(table):,} genes and combinations by importance, probes of a gene together"
    columns = ["Gene", "Importance", f"{PERCENT} interval", "In draws", "Direction", "Probes", "Accession"]
    explanation = (
        "Direction: up, the response (of two classes, the probability of the second) rises with expression; "
        "down, it falls; together, it is higher where both genes are high or both low; opposite, where one "
        "is high and the other low. In brackets: the probability of that direction, if the effect is there."
    )
    return html.long_table("genes", columns, lines, title) + "\n" + html.note(explanation)


def first_of(texts: str) -> str:
    """First of several texts with semicolons between them, and how many others there are."""
    first, *others = texts.split("; ")
    return (shorten(first, 30) if first else "–") + (f" +{len(others)}" if others else "")


def effects_table(table: pd.DataFrame, what: str) -> str:
    """Leading rows of a table of components."""
    lines = [
        (
            TIMES.join(shorten(name, 40) for name in row["component"]),
            number(row["importance"]),
            f"{number(row['importance_low'])} to {number(row['importance_high'])}",
            percent(row["share_of_draws"]),
        )
        for row in table.to_dict("records")
    ]
    title = f"{len(table):,} {what} that some draw holds, by importance"
    return html.long_table(
        what.replace(" ", "-"), ["Effect", "Importance", f"{PERCENT} interval", "In draws"], lines, title
    )


def importance_drawing(table: pd.DataFrame) -> str:
    """Draw the leading effects."""
    return bar_drawing(
        f"Importance of the {len(table)} leading effects with {PERCENT} posterior intervals, as bars",
        [TIMES.join(shorten(name, 40) for name in names) for names in table["component"]],
        table["importance"].tolist(),
        table["importance_low"].tolist(),
        table["importance_high"].tolist(),
        "importance",
        sizes=True,
    )
