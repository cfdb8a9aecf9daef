"""Ctrl-C and SIGTERM counted, not raised: the coordinator decides what they mean."""

from __future__ import annotations

import signal
import threading
from typing import Any

__all__ = ["Interrupts"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Counts requests to stop while it is entered. Outside the main thread there are none to count."""

    def __init__(self) -> None:
        self.count = 0
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self.before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.count += 1

    def __exit__(self, *exception: Any) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
