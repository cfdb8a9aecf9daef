"""Ctrl-C and SIGTERM around a run: what was saved, and how to go on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from raytpnn.cli.group import INTERRUPTED, say

__all__ = ["stoppable"]


@contextmanager
def stoppable(run: str) -> Iterator[None]:
    """While chains run their coordinator handles signals; before and after, both end the command at once."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, interrupt) if main else None
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted: {what_is_left(run)}")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def what_is_left(run: str) -> str:
    """What was saved before the first draw."""
    from raytpnn.storage.manifest import MANIFEST
    from raytpnn.storage.place import Place

    if Place(run).holds(MANIFEST):
        return f"there is no draw yet; `raytpnn resume {run}` goes on"
    return "nothing was saved"
