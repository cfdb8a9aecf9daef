"""What the sampler does in a sweep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from raytpnn.model.limits import LONGEST_PERIOD, MOST_ATTEMPTS, MOST_FACTOR_STEPS

__all__ = ["Moves"]


@dataclass(frozen=True)
class Moves:
    """Proposals of the sampler. None of these changes the posterior, only how fast it is explored.

    Attributes
    ----------
    M : float
        A birth takes its set from the prior with probability M / (M + K), else extends one of the K sets.
    q_add, q_delete, q_change : float
        Probabilities of the three changes of a term's set; they are normalised to sum to 1.
    q_keep : float
        Share of the changes of a variable that keep its location and scale, from 0 to 1: the way between
        features that go together.
    q_copy : float
        Share of the births that take the set of a term that is there; below 1. For priors with sharing.
    q_join : float
        Share of the changes of a term's set that take the set of another term; below 1. For such priors.
    component_changes : int
        Attempts in a sweep to exchange one feature in all terms of a component at once, at most 65,536; 0
        switches the move off. For such priors.
    output_changes : int
        Attempts in a sweep to move a term to another output, at most 65,536; 0 switches the move off. For
        families of several outputs.
    step_size : float
        Langevin step, where adaptation starts.
    factor_steps : int
        Steps in which location and scale of one factor of a term are drawn in a sweep, at most 64, with the
        coefficient integrated out; 0: one Langevin step of all numbers of the term instead. Chains with
        `delayed_acceptance` and priors with unbounded factors take Langevin steps.
    birth_death_attempts : int
        Births or deaths tried in a sweep, at most 65,536; 0 switches the move off.
    conditional_beta : bool
        Propose the coefficient of a new or changed term given the data, not from its prior.
    log_gamma : bool
        Langevin on log gamma instead of gamma.
    preconditioned : bool
        Scale every Langevin coordinate by its curvature.
    adapt : bool
        Adapt step sizes in warm-up towards `target_acceptance`.
    target_acceptance : float
        Acceptance rate the Langevin steps are adapted to.
    joint_beta_every : int
        Sweeps between two joint draws of all coefficients; 0 switches the move off.
    restructure, langevin, intercept, nuisance, scales : bool
        Switch a move off (False): for the paper's sampler and for tests of single moves. `langevin` switches
        the steps of `factor_steps` too, which take its place.
    """

    M: float = 5.0
    q_add: float = 0.28
    q_delete: float = 0.28
    q_change: float = 0.44
    q_keep: float = 0.5
    q_copy: float = 0.5
    q_join: float = 0.5
    component_changes: int = 4
    output_changes: int = 10
    step_size: float = 0.8
    factor_steps: int = 8
    birth_death_attempts: int = 40
    conditional_beta: bool = True
    log_gamma: bool = True
    preconditioned: bool = True
    adapt: bool = True
    target_acceptance: float = 0.574
    joint_beta_every: int = 6
    restructure: bool = True
    langevin: bool = True
    intercept: bool = True
    nuisance: bool = True
    scales: bool = True

    def __post_init__(self) -> None:
        for name in ("M", "q_add", "q_delete", "q_change", "step_size"):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not np.isfinite(value) or value <= 0:
                raise ValueError(f"Moves.{name} must be a positive number, got {value!r}")
        most = {
            "component_changes": MOST_ATTEMPTS,
            "output_changes": MOST_ATTEMPTS,
            "birth_death_attempts": MOST_ATTEMPTS,
            "factor_steps": MOST_FACTOR_STEPS,
        }
        for name in (*most, "joint_beta_every"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
                raise ValueError(f"Moves.{name} must be a whole number from 0 on, got {value!r}")
            if value > most.get(name, LONGEST_PERIOD):
                raise ValueError(
                    f"Moves.{name} must be at most {most.get(name, LONGEST_PERIOD)}, got {value}"
                )
        if not 0 <= self.q_keep <= 1:
            raise ValueError(f"Moves.q_keep must lie in [0, 1], got {self.q_keep!r}")
        for name in ("q_copy", "q_join"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"Moves.{name} must lie in [0, 1), got {getattr(self, name)!r}")
        if not 0 < self.target_acceptance < 1:
            raise ValueError(f"Moves.target_acceptance must lie in (0, 1), got {self.target_acceptance!r}")

    @classmethod
    def paper(cls) -> Moves:
        """The published proposals, with the errata applied."""
        return cls(
            q_keep=0.0,
            q_copy=0.0,
            q_join=0.0,
            component_changes=0,
            step_size=0.01,
            factor_steps=0,
            birth_death_attempts=1,
            conditional_beta=False,
            log_gamma=False,
            preconditioned=False,
            adapt=False,
            joint_beta_every=0,
            scales=False,
        )
