"""Functions that open special files and objects, registered by the floor that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # The package imports this module when it is imported itself: nothing more is loaded by it.
    from collections.abc import Callable
    from pathlib import Path

    from raytpnn.data.tables.tables import Table

    Opener = Callable[[Path], Table | None]
    Converter = Callable[[Any], Any | None]

__all__ = ["add_converter", "add_opener", "converted", "open_special"]

openers: list[Opener] = []
converters: list[Converter] = []


def add_opener(opener: Opener) -> None:
    """Have a function asked first for the table of a file; it returns None for files that are not its own."""
    openers.append(opener)


def open_special(path: Path) -> Table | None:
    """Table of a file by the first opener that knows it; None if none does."""
    return next((table for opener in openers if (table := opener(path)) is not None), None)


def add_converter(converter: Converter) -> None:
    """Have a function asked for what an object stands for; it returns None for those that are not its own."""
    converters.append(converter)


def converted(X: Any) -> Any:
    """What an object stands for, by the first converter that knows it; itself if none does."""
    return next((other for converter in converters if (other := converter(X)) is not None), X)
