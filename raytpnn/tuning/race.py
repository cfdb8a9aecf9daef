"""A race of settings: which go on after each step depends on complete steps alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

__all__ = ["Race"]

# At least this many settings go on, so that there is something to compare.
LEAST = 2


class Race:
    """Settings that take step after step (folds, or ensembles), of which the worst drop out after each.

    When all that are left have taken a step, the better share of them by their mean loss so far goes on.
    Who goes on depends on losses only, never on when they came in.

    Parameters
    ----------
    settings : int
        How many there are; number 0, the base, never drops out.
    steps : int
    keep : float
        Share that goes on after a step; 1 is all.
    """

    def __init__(self, settings: int, steps: int, keep: float) -> None:
        self.settings, self.steps, self.keep = settings, steps, keep
        self.losses: dict[tuple[int, int], float] = {}
        self.alive = list(range(settings))
        self.complete = 0
        # After how many steps a setting dropped out.
        self.dropped: dict[int, int] = {}
        # Called with the number of complete steps, those that ran and those that go on.
        self.when_complete: Callable[[int, list[int], list[int]], None] | None = None

    @property
    def finished(self) -> bool:
        """Whether all steps are complete."""
        return self.complete == self.steps

    def add(self, setting: int, step: int, loss: float) -> None:
        """Take note of a loss; one that is known already changes nothing."""
        # A loss that could not be computed is worse than any.
        self.losses.setdefault((setting, step), math.inf if math.isnan(loss) else loss)
        while not self.finished and all((i, self.complete) in self.losses for i in self.alive):
            ran = self.alive
            self.complete += 1
            if not self.finished:
                self.alive = self.survivors()
                self.dropped |= {i: self.complete for i in ran if i not in self.alive}
            if self.when_complete is not None:
                self.when_complete(self.complete, ran, self.alive)

    def wants(self, setting: int) -> int | None:
        """Step that a setting is to take now; None if it must wait, dropped out or is done."""
        if self.finished or setting not in self.alive:
            return None
        step = self.taken(setting)
        # If no setting drops out, none has to wait for the others.
        return step if step == self.complete or (self.keep >= 1.0 and step < self.steps) else None

    def waits(self, setting: int) -> bool:
        """Whether a setting may yet have a step to take."""
        return not self.finished and setting in self.alive and self.taken(setting) < self.steps

    def mean(self, setting: int, steps: int) -> float:
        """Mean loss over the first steps."""
        return float(np.mean([self.losses[setting, step] for step in range(steps)]))

    def ranked(self) -> list[int]:
        """Settings left, the best first by the complete steps; in their order if no step is complete."""
        if not self.complete:
            return list(self.alive)
        return sorted(self.alive, key=lambda i: (self.mean(i, self.complete), i))

    def survivors(self) -> list[int]:
        """Settings that take the next step."""
        ranked = self.ranked()
        return sorted({*ranked[: self.share(len(ranked))], 0})

    def share(self, count: int) -> int:
        """How many of `count` settings go on, not counting the base."""
        return max(math.ceil(self.keep * count - 1e-9), LEAST)

    def most_after(self, count: int) -> int:
        """Most of `count` settings that can go on: the base is added if it is not among the better."""
        return min(self.share(count) + 1, count)

    def taken(self, setting: int) -> int:
        """Steps of a setting that count: from the first on, until it dropped out."""
        if setting in self.dropped:
            return self.dropped[setting]
        step = self.complete
        while (setting, step) in self.losses:
            step += 1
        return step
