"""The strategy of replicas that are spread over workers, and joined when a block ends.

An ensemble that swaps at ends of blocks only is nothing but replicas that do not know of each other in
between. The parts joined are, bit by bit, the block that one worker would have run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from raytpnn.chains.monitoring.watched import Drawn
from raytpnn.chains.plan import Plan
from raytpnn.chains.work.one_chain import OneChain, end_of
from raytpnn.chains.work.strategy import Ended, Extent
from raytpnn.engine.chain import Block, new_record
from raytpnn.engine.records import STATE
from raytpnn.engine.tempering.replicas import ReplicaSet

__all__ = ["Part", "ReplicaParts", "with_levels"]


@dataclass(frozen=True)
class Part:
    """What one replica did in a block.

    Attributes
    ----------
    replica : int
    state : bytes
        Its state after the block, before swaps; compressed.
    loglik : (draws,) float64
        Its log-likelihood at every kept draw, internal scale.
    cold : bool
        Whether it is the one whose draws are kept.
    drawn : Drawn or None
        Its draws, if it is cold and the block kept any.
    """

    replica: int
    state: bytes
    loglik: np.ndarray
    cold: bool = False
    drawn: Drawn | None = None


class ReplicaParts(OneChain):
    """Room for one replica at a time of ensembles that swap at ends of blocks.

    Parameters
    ----------
    plan : Plan
        Of a tempered run that is spread.
    """

    chain: ReplicaSet

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.new_chain(in_parts=True))
        self.shown = True

    def run_part(self, state: bytes, extent: Extent, replica: int) -> tuple[Part, Block]:
        """Run a block of one replica; its draws are in the block if it is the cold one."""
        import pyarrow as pa

        own = self._restored(state, extent)
        _, first, sweeps, warmup, thin = extent
        kept = max(0, first + sweeps - warmup) // thin - max(0, first - warmup) // thin
        record = new_record(own.settings, max(kept, 1), own.watched)
        trace = np.zeros((max(kept, 1), own.tempering.replicas))
        level = level_of(own, replica)
        cold = level == own.tempering.replicas - 1
        # Replicas other than the cold one have nothing to show.
        self.shown = cold
        try:
            done, draws = own.runner.replica(
                own.problem.record,
                own.settings,
                own.states,
                own.works,
                own.ladder,
                record,
                trace,
                replica,
                first,
                sweeps,
                warmup,
                thin,
            )
        finally:
            self.shown = True
        packed = pa.compress(own.states[replica].tobytes(), codec="zstd", asbytes=True)
        part = Part(replica, packed, trace[:draws, level], cold)
        return part, own.block(record, trace, int(done), int(draws))

    def join(self, state: bytes, extent: Extent, parts: list[Part]) -> tuple[Ended, np.ndarray]:
        """Bring the replicas of a block together, swap them, and adapt the ladder if it is time.

        Gives the ensemble, and (draws, levels): the log-likelihood of every level at every kept draw, hottest
        first.
        """
        import pyarrow as pa

        own = self._restored(state, extent)
        warmup, last = extent.warmup, extent.first + extent.sweeps
        trace = np.zeros((len(parts[0].loglik), own.tempering.replicas))
        for part in parts:
            unpacked = pa.decompress(part.state, STATE.itemsize, codec="zstd", asbytes=True)
            own.states[part.replica] = np.frombuffer(unpacked, STATE)[0]
            trace[:, level_of(own, part.replica)] = part.loglik
        # Adaptations come right after swaps; the end of warm-up may lie within the block, where none happen.
        if extent.first < warmup < last:
            own.change_ladder(False)
        own.runner.end(
            own.problem.record,
            own.settings,
            own.states,
            own.works,
            own.ladder,
            new_record(own.settings, 1, own.watched),
            trace,
            0,
            last - 1,
            False,
        )
        if last in own.stops(warmup):
            own.change_ladder(last < warmup)
        return end_of(own, None), trace

    def progress(self) -> list[tuple[int, int]]:
        """Sweeps and terms of the cold replica, if that is at work."""
        return super().progress() if self.shown else []

    def _restored(self, state: bytes, extent: Extent) -> ReplicaSet:
        self.chain.problem = extent.problem
        self.chain.restore(state)
        return self.chain


def level_of(ensemble: ReplicaSet, replica: int) -> int:
    """Where on the ladder a replica stands, 0 for the hottest."""
    return int(np.flatnonzero(ensemble.ladder.replica_at[: ensemble.tempering.replicas] == replica)[0])


def with_levels(parts: list[Part], levels: np.ndarray) -> Drawn | None:
    """Draws of a block, with the log-likelihoods of all levels on the user's scale."""
    drawn = next((part.drawn for part in parts if part.drawn is not None), None)
    return None if drawn is None else Drawn(drawn.draws, replace(drawn.watched, levels=levels))
