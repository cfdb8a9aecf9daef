"""Everything that defines a run's chains: from it any block can be computed, anywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.data.rows.rows_io import TrainingRows
from raytpnn.engine.backends import block_runner, ensemble_runner
from raytpnn.engine.chain import Chain, new_state
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.problem import (
    Problem,
    Scaling,
    build_problem,
    build_settings,
    residual_variance,
    scale_response,
    with_weighted_births,
)
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.engine.sharded_chain import ShardedChain
from raytpnn.engine.tempering.options import Tempering
from raytpnn.engine.tempering.replicas import ReplicaSet
from raytpnn.families import Family
from raytpnn.forward.probe import probe_of, probe_rows
from raytpnn.model.prior import Prior
from raytpnn.storage.formats.length import BLOCK_SWEEPS, Length

__all__ = ["BLOCK_SWEEPS", "Length", "Plan", "make_plan"]


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
    log_constant : float
        Part of the log-likelihood that no parameter changes.
    seed : int
    length : Length
    backend : str
    adaptive : bool
        Whether feature weights are learned in warm-up.
    screened : bool
        Whether feature weights and a table of sets are learned in warm-up by screens.
    weighted_births : bool
        Whether births draw features by weight, too; they did not in earlier versions.
    tempering : Tempering or None
        If given, every chain is an ensemble of replicas.
    shards : int
        Parts of the rows that one chain runs on at a time; it changes no draw.
    watched_offset : (W,) float64 or None
        Offset of the watched rows, internal scale, for one who has a shard of the rows; None if all are here.
    probe : Bins or None
        The watched rows, at which components are compared; None if they are not.
    """

    problem: Problem
    settings: np.record
    scaling: Scaling
    family: Family
    prior: Prior
    moves: Moves
    noise_variance: float
    log_constant: float
    seed: int
    length: Length
    backend: str
    adaptive: bool = False
    tempering: Tempering | None = None
    shards: int = 1
    screened: bool = False
    weighted_births: bool = False
    watched_offset: np.ndarray | None = None
    probe: Bins | None = None

    @property
    def watched(self) -> np.ndarray:
        """Rows at which f is watched, evenly spaced."""
        return probe_rows(self.problem.n_all)

    @property
    def subsets(self) -> SubsetUse:
        """How its chains use subsets of the rows."""
        settings = self.settings
        return SubsetUse(int(settings.batch), int(settings.delayed), int(settings.screened_attempts))

    @property
    def spread(self) -> bool:
        """Whether replicas of one ensemble may run on different workers."""
        # A GPU has room for all of them.
        return self.tempering is not None and self.tempering.spread and self.backend != "cuda"

    def new_chain(self, threads: int = 1, in_parts: bool = False) -> Chain | ReplicaSet | ShardedChain:
        """Room for one chain to run in, without terms.

        Replicas of an ensemble may have several threads, or run one at a time in parts of blocks.
        """
        if self.tempering is not None:
            return ReplicaSet(
                self.problem,
                self.settings,
                self.first_state(0),
                self.tempering.in_sweeps(self.length.block_sweeps),
                ensemble_runner(self.backend),
                threads,
                self.watched,
                in_parts,
            )
        made_of = self.problem, self.settings, self.first_state(0), block_runner(self.backend)
        if self.shards > 1:
            return ShardedChain(*made_of, self.shards, self.watched)
        return Chain(*made_of, self.watched)

    def level_constant(self) -> float:
        """What a `ReplicaBlock.level_loglik` lacks to the log-likelihood on the user's scale."""
        return self.log_constant - float(self.settings.weight_sum) * math.log(self.scaling.scale)

    def start(self, index: int) -> bytes:
        """State of chain number `index` before its first sweep."""
        return self.first_state(index).tobytes()

    def first_state(self, index: int) -> np.record:
        """Record of that state."""
        return new_state(
            self.settings,
            self.seed,
            index,
            self.moves.step_size,
            self.noise_variance,
            self.prior.start("b_gamma"),
            self.prior.start("sigma_beta2"),
        )


def make_plan(
    rows: TrainingRows,
    family: Family,
    prior: Prior,
    moves: Moves,
    seed: int,
    length: Length,
    backend: str,
    adaptive: bool = False,
    tempering: Tempering | None = None,
    subsets: SubsetUse | None = None,
    shards: int = 1,
    screened: bool = False,
) -> Plan:
    """Standardise the response, and resolve prior and moves into numbers."""
    assert rows.proposal is not None
    scaling, y, offset = scale_response(family, rows.y, rows.offset)
    noise = 1.0
    if family.dispersion:
        noise = family.dispersion_start(residual_variance(rows.bins, family.pilot(y, offset)))
    # The numbers that hold, not the rule, are what a run's manifest keeps.
    prior = prior.resolved(rows.bins.n_rows, rows.bins.n_features, family.name)
    problem = build_problem(rows.bins, y, rows.weight, offset, rows.proposal)
    weighted = adaptive or screened or bool(np.ptp(rows.proposal) > 0.0)
    if weighted:
        problem = with_weighted_births(problem)
    settings = build_settings(problem, family, prior, moves, noise, subsets)
    constant = float(family.log_constant(problem.y, problem.w))
    made_from = family, prior, moves, noise, constant
    how = backend, adaptive, tempering, shards
    probe = probe_of(rows.bins)
    plan = Plan(problem, settings, scaling, *made_from, seed, length, *how, probe=probe)
    return replace(plan, screened=screened, weighted_births=weighted)
