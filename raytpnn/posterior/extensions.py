"""What floors above add to a posterior: `plot`, registered by the package, made when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["add_extension", "extension"]

makers: dict[str, Callable[[Any], Any]] = {}


def add_extension(name: str, maker: Callable[[Any], Any]) -> None:
    """Have a function make what `extension` gives of a posterior under a name."""
    makers[name] = maker


def extension(name: str, post: Any) -> Any:
    """Give what was registered under a name, for a posterior."""
    return makers[name](post)
