"""Which effects are real: a table for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raytpnn.report import html
from raytpnn.report.names import latent_unit, number, percent, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from raytpnn.posterior.posterior import Posterior

__all__ = ["selection_table"]

LISTED = 20
# Probability below which a direction is not called one.
CLEAR = 0.75


def selection_table(post: Posterior, table: pd.DataFrame) -> str:
    """Effects that are real at a false discovery rate, by `select_genes`, with what the numbers are."""
    told = table.attrs
    lines: list[tuple[str, ...]] = [
        (
            shorten(row["gene"], 60),
            number(row["size"]),
            f"{number(row['size_low'])} to {number(row['size_high'])}",
            percent(row["share"]),
            direction(row),
            f"{row['q_value']:.2g}",
            shorten(row["group"], 60) if row["group"] else "–",
            percent(row["group_certainty"]) if row["group_certainty"] < 1.0 else "–",
        )
        for row in table.head(LISTED).to_dict("records")
    ]
    title = (
        f"{len(table):,} of {told['tested']:,} effects tested are real at a false discovery rate of "
        f"{told['fdr']:.0%}"
    )
    columns = ["Effect", "Size", "90% interval", "Share", "Direction", "q-value", "One of", "Certain"]
    shown = table.head(LISTED)
    if not (shown["group"] != "").any() and not (shown["group_certainty"] < 1.0).any():
        columns, lines = columns[:-2], [line[:-2] for line in lines]
    left_out = (
        f" Left out as controls of the assay: {', '.join(told['left_out'])}." if told["left_out"] else ""
    )
    near = (
        " One of: features that the data hardly tell apart. Certain: probability that the real one is among "
        "these, where other features do nearly as well."
        if columns[-1] == "Certain"
        else ""
    )
    words = (
        f"Size: root mean square over the training rows, in {latent_unit(post)}, given that the effect is "
        "real. Share: its square as a share of the variance of f. Direction: its probability given that the "
        f"effect is real; a dash where none has {percent(CLEAR)}.{near} {told['assumes']}{left_out}"
    )
    return (html.table(columns, lines, title) if lines else html.note(title)) + "\n" + html.note(words)


def direction(row: Mapping[Any, Any]) -> str:
    """Direction with its probability; a dash if there is none that is clear."""
    if not row["direction"] or row["direction_probability"] < CLEAR:
        return "–"
    return f"{row['direction']} ({percent(row['direction_probability'])})"
