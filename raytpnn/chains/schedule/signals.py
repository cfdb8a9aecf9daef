"""Ctrl-C and SIGTERM counted, not raised: the scheduler decides what they mean."""

from __future__ import annotations

import signal
from typing import Any

__all__ = ["Interrupts", "take_signal"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def take_signal(number: signal.Signals, handler: Any) -> Any:
    """Handle a signal from now on; the handler before, or None if the signal is left alone.

    A signal that is ignored stays ignored, as that of background jobs is. One whose handler is not Python's
    (that of a program which embeds it) is left alone too: Python could not put it back. Outside the main
    thread, no handler can be set.
    """
    before = signal.getsignal(number)
    if before is None or before == signal.SIG_IGN:
        return None
    try:
        signal.signal(number, handler)
    except ValueError:
        return None
    return before


class Interrupts:
    """Counts requests to stop while it is entered. Outside the main thread there are none to count."""

    def __init__(self) -> None:
        self.count = 0
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in SIGNALS:
            before = take_signal(number, self._note)
            if before is not None:
                self.before[number] = before
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.count += 1

    def __exit__(self, *exception: Any) -> None:
        for number, handler in self.before.items():
            # Somebody else may have set one of his own since.
            if signal.getsignal(number) == self._note:
                signal.signal(number, handler)
