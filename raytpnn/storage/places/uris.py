"""URIs as they may be printed and stored: without the user, the password and the query that may hold keys."""

from __future__ import annotations

import os
import re

__all__ = ["shown"]

# User and password end at the last @ before the first /. A secret may hold a / that should have been escaped:
# then a colon comes before that /.
URI = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?:[^\s/?#'\"<>]*@|[^\s/?#'\"<>@]*:[^\s?#'\"<>]*@)?"
    r"(?P<path>[^\s?#'\"<>]*)"
    r"(?:\?(?P<query>[^\s#'\"<>]*))?"
    r"(?:\#[^\s'\"<>]*)?"
)
# Parts of a query that say where something is, and are no secrets.
HARMLESS = ("region", "scheme", "endpoint_override")


def shown(text: str | os.PathLike[str], to_use: bool = False) -> str:
    """A URI, or a text with URIs in it, without credentials; paths of this machine stay as they are.

    Every place that prints or stores a URI has it from here.

    Parameters
    ----------
    text : str or path
    to_use : bool
        Keep what a query says of the place (region, endpoint), so that the URI can be used with credentials
        from the environment.
    """

    def replaced(found: re.Match[str]) -> str:
        kept = ""
        if to_use and found["query"]:
            parts = [part for part in found["query"].split("&") if part.partition("=")[0] in HARMLESS]
            kept = f"?{'&'.join(parts)}" if parts else ""
        return f"{found['scheme']}://{found['path']}{kept}"

    return URI.sub(replaced, os.fspath(text))
