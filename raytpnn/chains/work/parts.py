"""A block of an ensemble in parts: one replica here, another there, joined where all have met.

An ensemble that swaps at ends of blocks only is nothing but replicas that do not know of each other in
between. The parts joined are, bit by bit, the block that one worker would have run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from raytpnn.chains.monitoring.watched import Drawn
from raytpnn.engine.chain import Block, new_record
from raytpnn.engine.records import STATE
from raytpnn.engine.tempering.replicas import ReplicaSet

__all__ = ["Part", "is_cold", "join_parts", "joined", "run_part"]


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
    drawn : Drawn or None
        The draws, of the cold replica if the block kept any.
    """

    replica: int
    state: bytes
    loglik: np.ndarray
    drawn: Drawn | None = None


def level_of(ensemble: ReplicaSet, replica: int) -> int:
    """Where on the ladder a replica stands, 0 for the hottest."""
    return int(np.flatnonzero(ensemble.ladder.replica_at[: ensemble.tempering.replicas] == replica)[0])


def is_cold(ensemble: ReplicaSet, replica: int) -> bool:
    """Whether a replica is the one whose draws are kept."""
    return level_of(ensemble, replica) == ensemble.tempering.replicas - 1


def run_part(
    ensemble: ReplicaSet, replica: int, first: int, sweeps: int, warmup: int, thin: int
) -> tuple[Part, Block]:
    """Run a block of one replica; its draws are in the block if it is the cold one."""
    import pyarrow as pa

    kept = max(0, first + sweeps - warmup) // thin - max(0, first - warmup) // thin
    record = new_record(ensemble.settings, max(kept, 1), ensemble.watched)
    trace = np.zeros((max(kept, 1), ensemble.tempering.replicas))
    done, draws = ensemble.runner.replica(
        ensemble.problem.record,
        ensemble.settings,
        ensemble.states,
        ensemble.works,
        ensemble.ladder,
        record,
        trace,
        replica,
        first,
        sweeps,
        warmup,
        thin,
    )
    state = pa.compress(ensemble.states[replica].tobytes(), codec="zstd", asbytes=True)
    part = Part(replica, state, trace[:draws, level_of(ensemble, replica)])
    return part, ensemble.block(record, trace, int(done), int(draws))


def join_parts(ensemble: ReplicaSet, parts: list[Part], first: int, sweeps: int, warmup: int) -> np.ndarray:
    """Bring the replicas of a block together, swap them, and adapt the ladder if it is time.

    Returns
    -------
    (draws, levels)
        Log-likelihood of every level at every kept draw, hottest first.
    """
    import pyarrow as pa

    trace = np.zeros((len(parts[0].loglik), ensemble.tempering.replicas))
    for part in parts:
        state = pa.decompress(part.state, STATE.itemsize, codec="zstd", asbytes=True)
        ensemble.states[part.replica] = np.frombuffer(state, STATE)[0]
        trace[:, level_of(ensemble, part.replica)] = part.loglik
    last = first + sweeps
    # Adaptations come right after swaps; the end of warm-up may lie within the block, where none happen.
    if first < warmup < last:
        ensemble.change_ladder(False)
    ensemble.runner.end(
        ensemble.problem.record,
        ensemble.settings,
        ensemble.states,
        ensemble.works,
        ensemble.ladder,
        new_record(ensemble.settings, 1, ensemble.watched),
        trace,
        0,
        last - 1,
        False,
    )
    if last in ensemble.stops(warmup):
        ensemble.change_ladder(last < warmup)
    return trace


def joined(parts: list[Part], levels: np.ndarray) -> Drawn | None:
    """Draws of a block, with the log-likelihoods of all levels on the user's scale."""
    drawn = next((part.drawn for part in parts if part.drawn is not None), None)
    return None if drawn is None else Drawn(drawn.draws, replace(drawn.watched, levels=levels))
