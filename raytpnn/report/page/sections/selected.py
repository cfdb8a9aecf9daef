"""Effects that were selected as real."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raytpnn.report import html
from raytpnn.report.names import TIMES, number, shorten

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SELECTED", "selected_section"]

SELECTED = "Which effects are real?"


def selected_section(table: pd.DataFrame) -> str:
    """Give a table of selected effects; its columns are shown as they are, in words.

    Parameters
    ----------
    table : DataFrame
        One row per effect. A column "component" of tuples of names comes first.
    """
    if table.empty:
        return html.section("selected", SELECTED, [html.paragraph("None stands out from chance.")])
    names = sorted(map(str, table.columns), key=lambda name: name != "component")
    rows = [[cell_text(row[name]) for name in names] for row in table.to_dict("records")]
    columns = [name.replace("_", " ").capitalize() for name in names]
    caption = f"{len(table):,} effects selected as real"
    return html.section("selected", SELECTED, [html.long_table("real", columns, rows, caption)])


def cell_text(cell: Any) -> str:
    """Cell as text: names joined, numbers shortened."""
    if isinstance(cell, (tuple, list)):
        return TIMES.join(shorten(str(name), 40) for name in cell)
    if isinstance(cell, float):
        return number(cell)
    return str(cell)
