"""Ctrl-C and SIGTERM around a run: what was saved, and how to go on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from raytpnn.cli.group import INTERRUPTED, say
from raytpnn.storage.places.uris import shown

__all__ = ["stoppable"]


class Interrupted(KeyboardInterrupt):
    """A KeyboardInterrupt that Python does not remember.

    One that was raised while an extension module ran code of its own, as pandas does when it is imported, has
    Python die of SIGINT at its end, though it was handled and another exit code asked for.
    """


@contextmanager
def stoppable(run: str) -> Iterator[None]:
    """While chains run their scheduler handles signals; before and after, both end the command at once."""
    from raytpnn.chains.schedule.signals import take_signal

    def interrupt(number: int, frame: Any) -> None:
        raise Interrupted

    before = {one: take_signal(one, interrupt) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted: {what_is_left(run)}")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        for one, handler in before.items():
            if handler is not None:
                signal.signal(one, handler)


def what_is_left(run: str) -> str:
    """What was saved before the first draw."""
    from raytpnn.storage.formats.manifest import MANIFEST
    from raytpnn.storage.places.place import Place
    from raytpnn.tuning.saved_steps import MARK
    from raytpnn.validation.results import MARK as MARK_OF_VALIDATION

    place = Place(run)
    if place.holds(MARK) or place.holds(MARK_OF_VALIDATION):
        return "fits that were done are kept, the same command goes on"
    if place.holds(MANIFEST):
        return f"there is no draw yet; `raytpnn resume {shown(run)}` goes on"
    return "nothing was saved"
