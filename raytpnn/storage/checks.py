"""Values that a file claims to hold, checked before anything relies on them.

A run may come from a stranger. Every check raises ValueError with the name of the value; who reads the file
adds the name of the file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from raytpnn.storage.errors import RunError

__all__ = [
    "checksum",
    "flag",
    "item",
    "list_of",
    "mapping",
    "named",
    "number",
    "parsed_json",
    "text",
    "whole",
]

SHA256 = re.compile(r"[0-9a-f]{64}")
# What errors of object stores have in them, and errors about the content of a file have not.
STORE_WORDS = ("aws error", "google::cloud", "curl", "hdfs", "http")


@contextmanager
def named(file: str) -> Iterator[None]:
    """Turn whatever is wrong with the content of a file into a RunError that names it."""
    try:
        yield
    except RunError:
        raise
    except MemoryError:
        raise RunError(f"{file} cannot be read: it asks for more memory than there is") from None
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as problem:
        raise RunError(f"{file} is damaged: {in_words(problem)}") from None
    except FileNotFoundError:
        raise
    except (OSError, NotImplementedError) as problem:
        if isinstance(problem, OSError) and is_of_storage(problem):
            raise
        raise RunError(f"{file} is damaged: {in_words(problem)}") from None


def is_of_storage(problem: OSError) -> bool:
    """Whether a file could not be read; otherwise it was, and Arrow did not like what it holds."""
    # Errors of the system have a number.
    return problem.errno is not None or any(word in str(problem).lower() for word in STORE_WORDS)


def in_words(problem: BaseException) -> str:
    """Message of an error, in one line."""
    words = " ".join(str(problem).split())[:300]
    if isinstance(problem, KeyError):
        return f"it lacks {words}"
    return words or type(problem).__name__


def parsed_json(data: bytes | str) -> Any:
    """Value of a JSON text; ValueError if it is none, or too deep."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("its lists or objects are nested too deeply") from None


def wrong(what: str, value: Any, wish: str) -> ValueError:
    """Error about a value."""
    return ValueError(f"{what} is {value!r:.60}, but must be {wish}")


def mapping(value: Any, what: str) -> dict[str, Any]:
    """An object of JSON."""
    if not isinstance(value, dict):
        raise wrong(what, value, "an object")
    return value


def item(held: dict[str, Any], name: str) -> Any:
    """Item of an object that must be there."""
    if name not in held:
        raise ValueError(f"{name!r} is missing")
    return held[name]


def whole(value: Any, what: str, least: int, most: int) -> int:
    """A whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise wrong(what, value, f"a whole number from {least} to {most}")
    return value


def number(value: Any, what: str, least: float = -math.inf, above: float = -math.inf) -> float:
    """A finite number, at least `least` and above `above`."""
    good = not isinstance(value, bool) and isinstance(value, int | float)
    if not good or abs(value) > 1e308 or not math.isfinite(value) or value < least or value <= above:
        limit = f", above {above:g}" if above > -math.inf else f", {least:g} or more" * (least > -math.inf)
        raise wrong(what, value, f"a finite number{limit}")
    return float(value)


def text(value: Any, what: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise wrong(what, value, "a text")
    return value


def flag(value: Any, what: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise wrong(what, value, "true or false")
    return value


def checksum(value: Any, what: str) -> str:
    """A SHA-256 in hexadecimal digits."""
    if not isinstance(value, str) or not SHA256.fullmatch(value):
        raise wrong(what, value, "a SHA-256 of 64 hexadecimal digits")
    return value


def list_of(value: Any, what: str, check: Callable[[Any, str], Any], most: int) -> list[Any]:
    """A list of at most so many checked items."""
    if not isinstance(value, list) or len(value) > most:
        raise wrong(what, value, f"a list of at most {most}")
    for i, one in enumerate(value):
        check(one, f"{what}[{i}]")
    return value
