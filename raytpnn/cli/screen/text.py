"""Text and figures on standard output."""

from __future__ import annotations

from typing import Any

__all__ = ["figure", "new_console", "new_table", "tell"]


def new_console() -> Any:
    """Console for standard output."""
    from rich.console import Console

    return Console(highlight=False)


def tell(console: Any, text: str = "") -> None:
    """Print a paragraph: wrapped on a terminal, whole lines in a file or a pipe. Brackets are no markup.

    Of URIs credentials are left out.
    """
    from raytpnn.storage.places.uris import shown

    console.print(shown(text), markup=False, soft_wrap=not console.is_terminal)


def new_table(left: str, *right: str) -> Any:
    """Table with a first column set left and others set right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(left, justify="left")
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def figure(value: float, digits: int = 3) -> str:
    """Give a number to some significant digits in plain characters; a dash for one that is not known."""
    from raytpnn.report.names import number

    return number(value, digits).replace("−", "-").replace("–", "-").replace("∞", "inf")
