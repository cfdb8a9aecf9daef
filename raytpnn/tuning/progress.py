"""Lines that say how far a search is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from raytpnn.chains.observe.progress import duration
from raytpnn.tuning.outcome import EVIDENCE, ORIENTATION, Outcome
from raytpnn.tuning.race import Race
from raytpnn.tuning.settings import Setting, varied

__all__ = ["SearchProgress"]

SECONDS = 2.0
# The first fits take longer, as workers start.
FEW = 4


class SearchProgress:
    """Prints what begins, how many fits are done, and which settings go on.

    Parameters
    ----------
    say : callable
    race : Race
        Its `when_complete` is taken.
    criterion, metric : str
    """

    def __init__(self, say: Callable[[str], None], race: Race, criterion: str, metric: str) -> None:
        self.say, self.race, self.metric = say, race, metric
        self.step = "ensemble" if criterion == EVIDENCE else "fold"
        self.start = self.printed_at = time.monotonic()
        self.done = 0
        self.quiet = True
        race.when_complete = self.complete

    def begin(self, settings: Sequence[Setting]) -> None:
        """Print what is searched."""
        names = ", ".join(varied(settings))
        self.say(
            f"tune: {len(settings)} settings of {names}; {self.race.steps} {self.step}s, by {self.metric}; "
            f"at most {self.left()} fits"
        )

    def resume(self, known: int) -> None:
        """Print steps from now on: those known already have been taken over."""
        if known:
            self.say(f"tune: {known} fits are there already, {self.left()} are left at most")
        self.quiet = False
        self.start = self.printed_at = time.monotonic()

    def left(self) -> int:
        """Fits that are still to do, if as many go on as may."""
        race = self.race
        if race.finished:
            return 0
        if race.keep >= 1.0:
            return sum(race.steps - race.taken(i) for i in race.alive)
        now = sum(race.wants(i) is not None for i in race.alive)
        alive = len(race.alive)
        for _ in range(race.complete + 1, race.steps):
            alive = race.most_after(alive)
            now += alive
        return now

    def note(self, outcome: Outcome) -> None:
        """Print how far it is, at most every two seconds."""
        self.done += 1
        now = time.monotonic()
        if now - self.printed_at < SECONDS:
            return
        self.printed_at = now
        left = self.left()
        at = min(self.race.complete + 1, self.race.steps)
        words = f"tune: {self.step} {at} of {self.race.steps}, {self.done} fits done, {left} left at most"
        if self.done >= FEW:
            words += f", about {duration((now - self.start) / self.done * left)}"
        self.say(words)

    def complete(self, steps: int, ran: list[int], alive: list[int]) -> None:
        """Print which settings go on."""
        if self.quiet:
            return
        first = self.race.ranked()[0]
        value = ORIENTATION.get(self.metric, 1.0) * self.race.mean(first, steps)
        words = f"tune: {self.step} {steps} of {self.race.steps} complete, "
        words += f"setting {first} leads ({self.metric} {value:.4g})"
        if len(alive) < len(ran):
            words += f"; {len(ran) - len(alive)} of {len(ran)} settings stop here"
        self.say(words)
