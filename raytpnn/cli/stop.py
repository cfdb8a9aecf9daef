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


class Interrupted(KeyboardInterrupt):
    """A KeyboardInterrupt that Python does not remember.

    One that was raised while an extension module ran code of its own, as pandas does when it is imported, has
    Python die of SIGINT at its end, though it was handled and another exit code asked for.
    """


@contextmanager
def stoppable(run: str) -> Iterator[None]:
    """While chains run their coordinator handles signals; before and after, both end the command at once."""

    def interrupt(number: int, frame: Any) -> None:
        raise Interrupted

    before = {}
    if threading.current_thread() is threading.main_thread():
        # SIGINT may be ignored on purpose, as that of background jobs is: that stays.
        ours = [one for one in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(one) != signal.SIG_IGN]
        before = {one: signal.signal(one, interrupt) for one in ours}
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted: {what_is_left(run)}")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def what_is_left(run: str) -> str:
    """What was saved before the first draw."""
    from raytpnn.storage.manifest import MANIFEST
    from raytpnn.storage.place import Place
    from raytpnn.tuning.kept import MARK

    place = Place(run)
    if place.holds(MANIFEST):
        return f"there is no draw yet; `raytpnn resume {run}` goes on"
    if place.holds(MARK):
        return "fits that were done are kept, the same command goes on"
    return "nothing was saved"
