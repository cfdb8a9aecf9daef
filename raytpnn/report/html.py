"""Pieces of HTML. Whatever is text is escaped here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["bullets", "figures", "heading", "note", "paragraph", "section", "table", "verdict"]


def paragraph(text: str) -> str:
    """Give a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def note(text: str) -> str:
    """Give a paragraph of small print."""
    return f'<p class="note">{escape(text)}</p>'


def heading(text: str) -> str:
    """Give a heading within a section."""
    return f"<h3>{escape(text)}</h3>"


def bullets(items: Iterable[str]) -> str:
    """Give a list of plain texts; nothing without any."""
    rows = "\n".join(f"<li>{escape(item)}</li>" for item in items)
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
        f"<p><strong>{escape(headline)}</strong></p>\n{rows}\n</div>"
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
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n"
        "</table>\n</div>"
    )


def figures(drawn: Iterable[tuple[str, str, str]]) -> str:
    """Give pictures side by side where there is room.

    Parameters
    ----------
    drawn : iterable of (address, alternative text, caption)
        The address is a data: URI.
    """
    parts = [
        f'<figure>\n<img src="{escape(address, quote=True)}" alt="{escape(alt, quote=True)}">\n'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>"
        for address, alt, caption in drawn
    ]
    if not parts:
        return ""
    inner = "\n".join(parts)
    return f'<div class="figures">\n{inner}\n</div>'
