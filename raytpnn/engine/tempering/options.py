"""How an ensemble of replicas is tempered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from raytpnn.engine.ladder_records import MOST_LEVELS

__all__ = ["Tempering"]


@dataclass(frozen=True)
class Tempering:
    """Parallel tempering: every chain becomes an ensemble of replicas, of which the cold one is kept.

    A replica at inverse temperature T samples prior * likelihood^T. Replicas at neighbouring temperatures
    trade places now and then, so that the cold one is fed with states that crossed where hills are low.

    Attributes
    ----------
    replicas : int
        Inverse temperatures from `t_min` to 1. Twice the communication barrier that a run reports is plenty.
    swap_every : int
        Sweeps between two rounds of swaps; blocks of sweeps if `spread`.
    t_min : float or None
        Inverse temperature of the hottest replica. 0 is the prior, drawn independently at every sweep; the
        log evidence needs it. None: 0 if so many replicas can travel there and back, which warm-up finds
        out; otherwise as hot as they can.
    adapt : bool
        Move the temperatures in warm-up until all neighbours swap equally often; fixed after. Without it
        they are geometric, and None for `t_min` means 0.
    spread : bool
        Swap at ends of blocks only, so that on Ray the replicas of one ensemble run on different workers: for
        long ladders and slow sweeps. An ensemble then takes as long as its slowest replica, not as all of
        them, but swaps a hundred times less often. The draws do not depend on where replicas ran.
    """

    replicas: int = 8
    swap_every: int = 1
    t_min: float | None = None
    adapt: bool = True
    spread: bool = False

    def __post_init__(self) -> None:
        for name, least, most in (("replicas", 2, MOST_LEVELS), ("swap_every", 1, 1_000_000)):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or not least <= value <= most:
                raise ValueError(
                    f"Tempering.{name} must be a whole number from {least} to {most:,}, got {value!r}"
                )
        number = isinstance(self.t_min, (int, float, np.number)) and not isinstance(self.t_min, bool)
        if self.t_min is not None and not (number and 0 <= self.t_min < 1):
            raise ValueError(f"Tempering.t_min must be None or lie in [0, 1), got {self.t_min!r}")
        for name in ("adapt", "spread"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise ValueError(f"Tempering.{name} must be True or False, got {value!r}")

    def in_sweeps(self, block_sweeps: int) -> Tempering:
        """The same with `swap_every` in sweeps, for one worker that has all replicas."""
        if not self.spread:
            return self
        return replace(self, swap_every=self.swap_every * block_sweeps, spread=False)
