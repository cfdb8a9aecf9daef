"""Which effects are real: a table for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raytpnn.report import html
from raytpnn.report.names import latent_unit, number, percent, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raytpnn.posterior.posterior import Posterior

__all__ = ["selection_table"]

LISTED = 20
# Probability below which a direction is not called one.
CLEAR = 0.75


def selection_table(post: Posterior, fdr: float = 0.1) -> str:
    """Effects that are real at a false discovery rate, with what the numbers are."""
    table = post.select_genes(fdr)
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
        )
        for row in table.head(LISTED).to_dict("records")
    ]
    title = (
        f"{len(table):,} of {told['tested']:,} effects tested are real at a false discovery rate of {fdr:.0%}"
    )
    columns = ["Effect", "Size", "90% interval", "Share", "Direction", "q-value", "One of"]
    if not any(row["group"] for row in table.head(LISTED).to_dict("records")):
        columns, lines = columns[:-1], [line[:-1] for line in lines]
    left_out = (
        f" Left out as controls of the assay: {', '.join(told['left_out'])}." if told["left_out"] else ""
    )
    near = " One of: features that the data hardly tell apart." if columns[-1] == "One of" else ""
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
