"""Functions that open special files, registered by the floor that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The package imports this module when it is imported itself: nothing more is loaded by it.
    from collections.abc import Callable
    from pathlib import Path

    from raytpnn.data.tables.tables import Table

    Opener = Callable[[Path], Table | None]

__all__ = ["add_opener", "open_special"]

openers: list[Opener] = []


def add_opener(opener: Opener) -> None:
    """Have a function asked first for the table of a file; it returns None for files that are not its own."""
    openers.append(opener)


def open_special(path: Path) -> Table | None:
    """Table of a file by the first opener that knows it; None if none does."""
    return next((table for opener in openers if (table := opener(path)) is not None), None)
