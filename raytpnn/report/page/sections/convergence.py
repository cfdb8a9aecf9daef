"""Did it converge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raytpnn.convergence.advice import FAIR_RHAT, GOOD_ESS, GOOD_RHAT
from raytpnn.report import html
from raytpnn.report.names import number, shorten
from raytpnn.report.svg.traces import rank_drawing, trace_drawing

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.posterior.posterior import Posterior
    from raytpnn.report.verdict import Verdict

__all__ = ["convergence_section"]

WORST = 8


def convergence_section(post: Posterior, answer: Verdict) -> str:
    """Answer in words, figures and pictures."""
    table = post.diagnostics()
    parts = [html.verdict(answer.state, answer.headline, answer.reasons)]
    if answer.advice:
        parts += [html.heading("What to do"), html.bullets(answer.advice)]
    if post.config.get("tempering"):
        parts += [html.heading("Replicas"), html.bullets(post.tempering().sentences())]
    parts.append(
        html.note(
            "R-hat compares the spread between chains with the spread within them: 1 is agreement, below "
            f"{GOOD_RHAT} is good, above {FAIR_RHAT} is not. Draws resemble their neighbours; the effective "
            "number of draws says how many independent ones they are worth, for the middle (bulk) and the "
            f"ends (tail) of the distribution: {GOOD_ESS:.0f} in all is enough for bands."
        )
    )
    parts.append(diagnostics_table(table))
    parts.append(
        html.drawings(
            [
                (
                    trace_drawing(post),
                    "Traces: each line is a chain over its draws. Converged chains are level and lie on top "
                    "of each other.",
                ),
                (
                    rank_drawing(post),
                    "Ranks: how often each chain visits the low to high part of all draws. Converged chains "
                    "stay near the dashed line.",
                ),
            ]
        )
    )
    return html.section("convergence", "Did the chains agree?", parts)


def diagnostics_table(table: pd.DataFrame) -> str:
    """All scalars, and the worst of f and of the importances."""
    listed = table["quantity"].str.contains("[", regex=False)
    worst = table[listed].sort_values("rhat", ascending=False, kind="stable").head(WORST)
    rows: list[tuple[str, ...]] = [
        (
            shorten(r["quantity"], 40),
            number(r["rhat"], 4),
            number(r["ess_bulk"]),
            number(r["ess_tail"]),
            r["note"],
        )
        for part in (table[~listed], worst)
        for r in part.to_dict("records")
    ]
    columns = ["Quantity", "R-hat", "ESS bulk", "ESS tail", "Note"]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    caption = (
        f"Scalars, and the {len(worst)} worst of {int(listed.sum())} others (f[row]: f at that training row)"
    )
    return html.table(columns, rows, caption)
