"""Everything that defines a run's chains: from it any block can be computed, anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from raytpnn.engine.chain import Chain, new_state
from raytpnn.engine.execution import block_runner
from raytpnn.engine.settings import Moves
from raytpnn.engine.setup import Problem, Scaling
from raytpnn.model.families import Family
from raytpnn.model.prior import Prior

__all__ = ["BLOCK_SWEEPS", "Plan"]

# Sweeps between two checkpoints. Part of what a draw depends on: the fit is recomputed at every block.
BLOCK_SWEEPS = 100


@dataclass(frozen=True)
class Plan:
    """A run's chains.

    Attributes
    ----------
    problem, settings, scaling
        Data and numbers the chains run on, and the way back to the user's scale.
    family, prior, moves
        What they were made from.
    noise_variance : float
        Residual variance of a linear fit, internal scale: where the noise variance starts.
    seed, chains, warmup, draws, thin : int
        Sweeps are `warmup + draws * thin`.
    backend : str
    block_sweeps : int
    """

    problem: Problem
    settings: np.record
    scaling: Scaling
    family: Family
    prior: Prior
    moves: Moves
    noise_variance: float
    seed: int
    chains: int
    warmup: int
    draws: int
    thin: int
    backend: str
    block_sweeps: int = BLOCK_SWEEPS

    @property
    def sweeps(self) -> int:
        """Sweeps of one chain."""
        return self.warmup + self.draws * self.thin

    def blocks(self) -> list[tuple[int, int]]:
        """First sweep and number of sweeps of every block of a chain."""
        step = self.block_sweeps
        return [(first, min(step, self.sweeps - first)) for first in range(0, self.sweeps, step)]

    def start_chain(self, index: int) -> Chain:
        """Chain number `index` before its first sweep."""
        state = new_state(
            self.settings,
            self.seed,
            index,
            self.moves.step_size,
            self.noise_variance if self.family.has_nuisance else 1.0,
            self.prior.fixed_b_gamma(),
            self.prior.fixed_sigma_beta2(self.family.name),
        )
        return Chain(self.problem, self.settings, state, block_runner(self.backend))
