"""R-hat in a thread of its own: with many chains it takes long, and no worker should wait for it."""

from __future__ import annotations

import queue
import threading
import time
from typing import NamedTuple

from raytpnn.chains.monitoring.monitor import Convergence, Monitor
from raytpnn.chains.monitoring.watched import Watched

__all__ = ["Assessment", "Assessor"]

# What an assessment takes before one has been measured: at least, and more for every draw of every chain.
LEAST_SECONDS = 0.3
SECONDS_A_DRAW = 5e-5


class Assessment(NamedTuple):
    """What was found after so many rounds, and the seconds it took."""

    rounds: int
    convergence: Convergence
    seconds: float


class Assessor:
    """Assesses one round at a time.

    Parameters
    ----------
    monitor : Monitor
    """

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.results: queue.SimpleQueue[Assessment | BaseException] = queue.SimpleQueue()
        self.cancelled = threading.Event()
        self.busy = False
        self.begun = 0.0
        self.seconds = 0.0
        self.expected = 0.0

    def begin(self, rounds: int) -> None:
        """Look at the blocks of so many complete rounds."""
        assert not self.busy
        self.busy = True
        self.begun = time.monotonic()
        # Blocks that end in the meantime do not belong to it.
        parts = self.monitor.blocks_up_to(rounds - 1)
        threading.Thread(
            target=self._work, args=(rounds, parts), name="raytpnn-assessor", daemon=True
        ).start()

    def _work(self, rounds: int, parts: list[list[Watched]]) -> None:
        try:
            found = self.monitor.compare(parts, self.cancelled.is_set)
            self.results.put(Assessment(rounds, found, time.monotonic() - self.begun))
        except BaseException as problem:
            self.results.put(problem)

    def result(self, seconds: float) -> Assessment | None:
        """What was found; None if nothing is being looked at, or it takes longer than some seconds.

        Raises what went wrong.
        """
        if not self.busy:
            return None
        try:
            result = self.results.get(timeout=seconds)
        except queue.Empty:
            return None
        self.busy = False
        if isinstance(result, BaseException):
            raise result
        self.seconds += result.seconds
        self.expected += self._guess(result.convergence.draws)
        return result

    def cost(self, draws: int) -> float:
        """Seconds that it will take at so many draws of each chain, by what it took so far."""
        return self._guess(draws) * (self.seconds / self.expected if self.expected else 1.0)

    def _guess(self, draws: int) -> float:
        return LEAST_SECONDS + SECONDS_A_DRAW * self.monitor.chains * draws

    def cancel(self) -> None:
        """Give up what is being looked at."""
        self.cancelled.set()
