"""How long chains are, and which of their sweeps count: functions of numbers of sweeps alone."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from raytpnn.storage.formats.checkpoint import block_extents

__all__ = [
    "BLOCK_SWEEPS",
    "GROWTH",
    "LEAST_LIMIT",
    "MOST_DRAWS",
    "MOST_LIMIT",
    "ROW_SWEEPS",
    "Counted",
    "Length",
    "length_of",
]

# Sweeps between two checkpoints. Part of what a draw depends on: the fit is recomputed at every block.
BLOCK_SWEEPS = 100
# Sweeps of a chain after which a run that goes on until it has converged gives up: so many rows times sweeps,
# but within these bounds.
ROW_SWEEPS, LEAST_LIMIT, MOST_LIMIT = 10**8, 20_000, 100_000
# Draws of a chain that such a run keeps at most.
MOST_DRAWS = 1000
# One part in so many of the sweeps, from the first on, is warm-up at least in such a run.
WARMUP_PART = 4
# Convergence is looked at when draws or sweeps have grown by this factor since the last look.
GROWTH = 1.25


@dataclass(frozen=True)
class Counted:
    """Which draws of a chain count after so many sweeps.

    Attributes
    ----------
    sweeps : int
        Of the chain, warm-up included.
    warmup : int
        Sweeps thrown away at the start.
    thin : int
        Sweeps per draw.
    first, step : int
        The same by the numbers that draws have in the run's files: those from `first` on count whose number
        plus one is a multiple of `step`.
    draws : int
        How many they are.
    """

    sweeps: int
    warmup: int
    thin: int
    first: int
    step: int
    draws: int

    def among(self, numbers: np.ndarray) -> np.ndarray:
        """Whether draws with these numbers count, (D,) bool."""
        return (numbers >= self.first) & ((numbers + 1) % self.step == 0)


@dataclass(frozen=True)
class Length:
    """How many chains there are and how long they are.

    Attributes
    ----------
    chains, warmup : int
        Adaptation ends with the warm-up.
    draws : int or None
        Kept of each chain, after `warmup + draws * thin` sweeps. None: as many as it takes to converge, see
        `counted`.
    thin : int
        Sweeps per draw; without `draws`, at least.
    block_sweeps : int
    max_sweeps : int or None
        Most sweeps of a chain, if `draws` is None.
    """

    chains: int
    warmup: int
    draws: int | None
    thin: int = 1
    block_sweeps: int = BLOCK_SWEEPS
    max_sweeps: int | None = None

    @property
    def until(self) -> bool:
        """Whether chains go on until they have converged."""
        return self.draws is None

    @property
    def sweeps(self) -> int:
        """Sweeps of one chain, or the most that it may have."""
        if self.draws is not None:
            return self.warmup + self.draws * self.thin
        assert self.max_sweeps is not None
        return self.max_sweeps

    def blocks(self) -> list[tuple[int, int]]:
        """First sweep and number of sweeps of every block of a chain."""
        return block_extents(self.sweeps, self.block_sweeps)

    def sweeps_of(self, rounds: int) -> int:
        """Sweeps of a chain after so many blocks."""
        return min(rounds * self.block_sweeps, self.sweeps)

    def counted(self, sweeps: int) -> Counted:
        """Which draws count after so many sweeps.

        All after warm-up if the number of draws is given. Otherwise warm-up grows with the run: at least a
        quarter of it. Of what is left every t-th sweep is a draw, with t the smallest power of 2 times `thin`
        that leaves at most 1,000.
        """
        if self.draws is not None:
            return Counted(sweeps, self.warmup, self.thin, 0, 1, max(0, sweeps - self.warmup) // self.thin)
        dropped = max(self.warmup, sweeps // WARMUP_PART)
        step = 1
        while sweeps - dropped > MOST_DRAWS * self.thin * step:
            step *= 2
        # Up to a multiple of the step, so that draws that are thinned again are evenly spaced.
        first = -(-(dropped - self.warmup) // (self.thin * step)) * step
        warmup, thin = self.warmup + first * self.thin, self.thin * step
        return Counted(sweeps, warmup, thin, first, step, max(0, sweeps - warmup) // thin)

    def thin_of(self, block: int) -> int:
        """Sweeps per draw in a block: what holds at its end. Later it can only be a multiple of that."""
        return self.counted(self.sweeps_of(block + 1)).thin

    def numbers_of(self, block: int) -> np.ndarray:
        """Numbers of the draws that a block keeps: number d is drawn after warmup + (d + 1) thin sweeps."""
        thin = self.thin_of(block)
        begin, end = (max(0, self.sweeps_of(rounds) - self.warmup) // thin for rounds in (block, block + 1))
        return np.arange(begin + 1, end + 1, dtype=np.int32) * (thin // self.thin) - 1

    def draws_after(self, rounds: int) -> int:
        """Draws of a chain that count after so many rounds."""
        return self.counted(self.sweeps_of(rounds)).draws

    def looks(self, least_draws: float = 1.0) -> list[int]:
        """Rounds after which convergence is looked at in a run without a number of draws.

        The first has at least `least_draws` of each chain, every next one 1.25 times as many sweeps as the
        one before; the last round is always one.
        """
        rounds = range(1, len(self.blocks()) + 1)
        looks: list[int] = []
        for at in rounds:
            grown = not looks or self.sweeps_of(at) >= GROWTH * self.sweeps_of(looks[-1])
            if at == rounds[-1] or (grown and self.draws_after(at) >= max(least_draws, 1.0)):
                looks.append(at)
        return looks


def length_of(plan: dict[str, Any]) -> Length:
    """Length of a run's chains, by the plan in its manifest."""
    return Length(**{field.name: plan[field.name] for field in fields(Length) if field.name in plan})
