"""One worker: runs any block of any chain, from the state that the block before left."""

from __future__ import annotations

import time

import numpy as np

from raytpnn.chains.adaptive import round_of_weights
from raytpnn.chains.collect import draws_of_block
from raytpnn.chains.plan import Plan
from raytpnn.chains.replicas import ReplicaSet
from raytpnn.chains.report import BlockReport
from raytpnn.chains.store import BlockStore
from raytpnn.chains.watch import watch_block
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
    """

    def __init__(self, plan: Plan, store: BlockStore, threads: int = 1) -> None:
        self.plan = plan
        self.store = store
        self.chain = plan.new_chain(threads)
        self.blocks = plan.length.blocks()
        # States that this worker has seen last: they need not be read back.
        self.latest: dict[int, tuple[int, bytes]] = {}
        self.running: int | None = None
        self.weights_of: int | None = None

    def run_block(self, chain: int, block: int) -> BlockReport:
        """Run a block and store it. Run twice, it gives the same block."""
        begin = time.monotonic()
        plan, (first, sweeps) = self.plan, self.blocks[block]
        if not self.goes_on(chain, block):
            # A worker that died may have finished it without anyone hearing of it.
            found = self.store.finished(chain, block, (first, sweeps))
            if found is not None:
                return found
        if plan.adaptive:
            self.take_weights(round_of_weights(plan.length, block))
        self.chain.restore(self.state_before(chain, block))
        self.running = chain
        try:
            result = self.chain.run(first, sweeps, plan.length.warmup, plan.length.thin)
        finally:
            self.running = None
        if result.sweeps < sweeps:
            raise Stopped(f"block {block} of chain {chain} was stopped")
        state = self.chain.checkpoint()
        draws = watched = None
        if result.draws:
            draws = draws_of_block(plan, chain, plan.length.draws_before(first), result)
            watched = watch_block(plan, result, draws)
        report = BlockReport(
            chain=chain,
            block=block,
            sweeps=first + sweeps,
            terms=self.chain.progress[1],
            loglik=float("nan") if draws is None else float(draws.loglik[-1]),
            acceptance=self.chain.acceptance(),
            watched=watched,
            usage=self.usage() if plan.adaptive and first + sweeps <= plan.length.warmup else {},
            ladder=self.chain.status().as_dict() if isinstance(self.chain, ReplicaSet) else {},
            seconds=time.monotonic() - begin,
        )
        self.store.put(report, (first, sweeps), draws, state)
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

    def goes_on(self, chain: int, block: int) -> bool:
        """Whether this worker itself has run the block before."""
        return self.latest.get(chain, (-1, b""))[0] == block - 1 and block > 0

    def state_before(self, chain: int, block: int) -> bytes:
        """State from which a block starts."""
        if block == 0:
            return self.plan.start(chain)
        if self.goes_on(chain, block):
            return self.latest[chain][1]
        return self.store.state_after(chain, block - 1)

    def progress(self) -> tuple[int, int, int] | None:
        """Chain at work, its sweeps and its terms; None between blocks. Safe from another thread."""
        chain = self.running
        return None if chain is None else (chain, *self.chain.progress)

    def stop(self) -> None:
        """End the block at hand, and lose it. Safe from another thread."""
        self.chain.request_stop()
