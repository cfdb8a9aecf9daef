"""Pieces of HTML. Whatever is text is escaped here, and nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = [
    "bullets",
    "data",
    "drawings",
    "heading",
    "long_table",
    "note",
    "paragraph",
    "prose",
    "section",
    "side_by_side",
    "table",
    "verdict",
]


def prose(text: str) -> str:
    """Escape plain text; what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def data(anchor: str, content: Any) -> str:
    """Embed data for the script of the page."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Nothing in it can end the element or begin another one.
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json" id="{escape(anchor, quote=True)}">{text}</script>'


def paragraph(text: str) -> str:
    """Give a paragraph of plain text."""
    return f"<p>{prose(text)}</p>"


def note(text: str) -> str:
    """Give a paragraph of small print."""
    return f'<p class="note">{prose(text)}</p>'


def heading(text: str) -> str:
    """Give a heading within a section."""
    return f"<h3>{escape(text)}</h3>"


def bullets(items: Iterable[str]) -> str:
    """Give a list of plain texts; nothing without any."""
    rows = "\n".join(f"<li>{prose(item)}</li>" for item in items)
    return f"<ul>\n{rows}\n</ul>" if rows else ""


def section(anchor: str, title: str, parts: Iterable[str]) -> str:
    """Give a section with its heading."""
    body = "\n".join(part for part in parts if part)
    label = escape(anchor, quote=True)
    return (
        f'<section id="{label}" aria-labelledby="{label}-title">\n'
        f'<h2 id="{label}-title">{escape(title)}</h2>\n{body}\n</section>'
    )


def verdict(state: str, headline: str, reasons: Sequence[str]) -> str:
    """Give a coloured box with an answer in words."""
    rows = "\n".join(paragraph(reason) for reason in reasons)
    return (
        f'<div class="verdict {escape(state, quote=True)}" role="note">\n'
        f"<p><strong>{prose(headline)}</strong></p>\n{rows}\n</div>"
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str, words: bool = False) -> str:
    """Give a table; the first column names the rows, the others are figures and stand to the right.

    Parameters
    ----------
    columns : sequence of k str
    rows : iterable of k str each
    caption : str
    words : bool
        Whether the other columns are words, too: to the left, and broken into lines.
    """
    side = "" if words else ' class="number"'
    head = "".join(
        f'<th scope="col"{side if i else ""}>{escape(name)}</th>' for i, name in enumerate(columns)
    )
    body = []
    for row in rows:
        cells = [f'<th scope="row">{escape(row[0])}</th>']
        cells += [f"<td{side}>{escape(cell)}</td>" for cell in row[1:]]
        body.append(f"<tr>{''.join(cells)}</tr>")
    lines = "\n".join(body)
    label = escape(caption, quote=True)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">\n<table>\n'
        f"<caption><span>{escape(caption)}</span></caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n"
        "</table>\n</div>"
    )


def long_table(
    anchor: str, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str, shown: int = 12
) -> str:
    """Give a table that the script of the page can search, sort and show all of; without it, the first rows.

    Parameters
    ----------
    anchor : str
        What the id of its data begins with.
    columns : sequence of k str
    rows : sequence of k str each
    caption : str
    shown : int
        Rows that stand in the page itself.
    """
    label = escape(anchor, quote=True)
    first = table(columns, rows[:shown], caption)
    if len(rows) <= shown:
        return first
    everything = data(f"{anchor}-data", [list(row) for row in rows])
    return f'<div class="long" data-source="{label}-data">\n{first}\n</div>\n{everything}'


def side_by_side(parts: Iterable[str]) -> str:
    """Give parts side by side where there is room."""
    inner = "\n".join(parts)
    return f'<div class="columns">\n{inner}\n</div>' if inner else ""


def drawings(drawn: Iterable[tuple[str, str]], large: bool = False) -> str:
    """Give drawings side by side where there is room.

    Parameters
    ----------
    drawn : iterable of (SVG, caption)
    large : bool
        Whether they take all the width of a column of text.
    """
    parts = [
        f'<figure>\n<div class="drawing" tabindex="0">{picture}'
        '<output class="value" aria-live="polite"></output>'
        f"</div>\n<figcaption>{prose(caption)}</figcaption>\n</figure>"
        for picture, caption in drawn
    ]
    if not parts:
        return ""
    inner = "\n".join(parts)
    return f'<div class="figures{" large" if large else ""}">\n{inner}\n</div>'
