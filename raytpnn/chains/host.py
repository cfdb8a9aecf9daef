"""One worker: runs any block of any chain, from the state that the block before left."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from raytpnn.chains.adaptive import round_of_weights
from raytpnn.chains.collect import draws_of_block
from raytpnn.chains.plan import Plan
from raytpnn.chains.replicas import ReplicaSet
from raytpnn.chains.report import BlockReport
from raytpnn.chains.spread import Drawn, Part, is_cold, join_parts, joined, run_part
from raytpnn.chains.store import BlockStore
from raytpnn.chains.watch import watch_block
from raytpnn.engine.chain import Block, Chain
from raytpnn.engine.setup import with_feature_weights

__all__ = ["ChainHost", "Stopped"]


class Stopped(Exception):
    """A block that was stopped half-way: nothing of it is kept."""


class ChainHost:
    """Room for one chain at a time; chains come and go, since a block needs nothing but the state before it.

    Parameters
    ----------
    plan : Plan
    store : BlockStore
    threads : int
        Replicas of an ensemble that sweep at a time.
    in_parts : bool
        Blocks of ensembles are run in parts, see `run_part` and `join_block`.
    """

    def __init__(self, plan: Plan, store: BlockStore, threads: int = 1, in_parts: bool = False) -> None:
        self.plan = plan
        self.store = store
        self.chain = plan.new_chain(threads, in_parts)
        self.blocks = plan.length.blocks()
        # States that this worker has seen last: they need not be read back.
        self.latest: dict[int, tuple[int, bytes]] = {}
        self.running: int | None = None
        self.weights_of: int | None = None

    def run_block(self, chain: int, block: int) -> BlockReport:
        """Run a block and store it. Run twice, it gives the same block."""
        begin = time.monotonic()
        plan, (first, sweeps) = self.plan, self.blocks[block]
        self.prepare(chain, block)
        self.running = chain
        try:
            result = self.chain.run(first, sweeps, plan.length.warmup, plan.length.thin)
        finally:
            self.running = None
        if result.sweeps < sweeps:
            raise Stopped(f"block {block} of chain {chain} was stopped")
        return self.keep(chain, block, self.drawn(chain, block, result), time.monotonic() - begin)

    def run_part(self, chain: int, block: int, replica: int) -> Part:
        """Run one replica's part of a block of an ensemble that swaps at ends of blocks; keeps nothing."""
        plan, (first, sweeps) = self.plan, self.blocks[block]
        ensemble = self.prepare(chain, block)
        assert isinstance(ensemble, ReplicaSet)
        cold = is_cold(ensemble, replica)
        # Others than the cold one have nothing to show.
        self.running = chain if cold else None
        try:
            part, result = run_part(ensemble, replica, first, sweeps, plan.length.warmup, plan.length.thin)
        finally:
            self.running = None
        if result.sweeps < sweeps:
            raise Stopped(f"block {block} of replica {replica} of chain {chain} was stopped")
        return replace(part, drawn=self.drawn(chain, block, result)) if cold else part

    def join_block(self, chain: int, block: int, parts: list[Part], seconds: float) -> BlockReport:
        """Make a block of its parts, swap, and store it; `seconds` is how long the parts took."""
        first, sweeps = self.blocks[block]
        ensemble = self.prepare(chain, block)
        assert isinstance(ensemble, ReplicaSet)
        levels = join_parts(ensemble, parts, first, sweeps, self.plan.length.warmup)
        return self.keep(chain, block, joined(parts, levels + self.plan.level_constant()), seconds)

    def prepare(self, chain: int, block: int) -> Chain | ReplicaSet:
        """Go back to where a block starts."""
        if self.plan.adaptive:
            self.take_weights(round_of_weights(self.plan.length, block))
        self.chain.restore(self.state_before(chain, block))
        return self.chain

    def drawn(self, chain: int, block: int, result: Block) -> Drawn | None:
        """Draws that a block kept, None if it kept none."""
        if not result.draws:
            return None
        first, _ = self.blocks[block]
        draws = draws_of_block(self.plan, chain, self.plan.length.draws_before(first), result)
        return Drawn(draws, watch_block(self.plan, result, draws))

    def keep(self, chain: int, block: int, drawn: Drawn | None, seconds: float) -> BlockReport:
        """Store a block that has just ended."""
        plan, (first, sweeps) = self.plan, self.blocks[block]
        report = BlockReport(
            chain=chain,
            block=block,
            sweeps=first + sweeps,
            terms=self.chain.progress[1],
            loglik=float("nan") if drawn is None else float(drawn.draws.loglik[-1]),
            acceptance=self.chain.acceptance(),
            watched=None if drawn is None else drawn.watched,
            usage=self.usage() if plan.adaptive and first + sweeps <= plan.length.warmup else {},
            ladder=self.chain.status().as_dict() if isinstance(self.chain, ReplicaSet) else {},
            seconds=seconds,
        )
        state = self.chain.checkpoint()
        self.store.put(report, (first, sweeps), None if drawn is None else drawn.draws, state)
        self.latest[chain] = block, state
        return report

    def take_weights(self, at: int | None) -> None:
        """Use the feature weights that hold from a round on; None for those of the start."""
        if at == self.weights_of:
            return
        problem = self.plan.problem
        self.chain.problem = problem if at is None else with_feature_weights(problem, self.store.weights(at))
        self.weights_of = at

    def usage(self) -> dict[int, int]:
        """How many terms of the chain hold each feature."""
        state = self.chain.state
        held = [state.features[k, : state.order[k]] for k in range(state.K)]
        features, terms = np.unique(np.concatenate([np.zeros(0, np.int32), *held]), return_counts=True)
        return dict(zip(features.tolist(), terms.tolist(), strict=True))

    def state_before(self, chain: int, block: int) -> bytes:
        """State from which a block starts."""
        if block == 0:
            return self.plan.start(chain)
        seen, state = self.latest.get(chain, (-1, b""))
        return state if seen == block - 1 else self.store.state_after(chain, block - 1)

    def progress(self) -> tuple[int, int, int] | None:
        """Chain at work, its sweeps and its terms; None between blocks. Safe from another thread."""
        chain = self.running
        return None if chain is None else (chain, *self.chain.progress)

    def stop(self) -> None:
        """End the block at hand, and lose it. Safe from another thread."""
        self.chain.request_stop()
