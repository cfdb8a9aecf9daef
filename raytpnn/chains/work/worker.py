"""One worker: runs any block of any chain, from the state that the block before left."""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Protocol

import numpy as np

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.monitoring.watched import Drawn, watch_block
from raytpnn.chains.plan import Plan
from raytpnn.chains.run.collect import draws_of_block
from raytpnn.chains.run.store import BlockStore
from raytpnn.chains.work.adaptive_weights import round_of_weights
from raytpnn.engine.chain import Block, Chain
from raytpnn.engine.older_records import state_of_today
from raytpnn.engine.problem import Problem, with_feature_weights
from raytpnn.engine.record_check import check_checkpoint, check_feature_weights
from raytpnn.engine.sharded_chain import ShardedChain
from raytpnn.engine.tempering.replicas import ReplicaSet
from raytpnn.storage.checks import named
from raytpnn.storage.formats.checkpoint import checkpoint_name, weights_name

__all__ = ["BlockHost", "ChainHost", "Ended", "Host", "Stopped", "ended_chain"]


class Stopped(Exception):
    """A block that was stopped half-way: nothing of it is kept."""


class Host(Protocol):
    """What executors ask of a worker."""

    @property
    def width(self) -> int:
        """Chains that it runs together."""

    def run_blocks(self, chains: list[int], blocks: list[int]) -> list[BlockReport]:
        """Run blocks, the same of every chain, and store them; fewer reports if it was stopped."""

    def progress(self) -> list[tuple[int, int, int]]:
        """Chains at work, their sweeps and their terms. Safe from another thread."""

    def stop(self) -> None:
        """End the blocks at hand, and lose them. Safe from another thread."""

    def close(self) -> None:
        """Give back what was taken; nothing is under way any more."""


class Ended(NamedTuple):
    """A chain at the end of a block."""

    result: Block | None  # None if what it drew is known already
    checkpoint: bytes
    state: np.record  # of an ensemble, that of the cold replica
    terms: int
    acceptance: dict[str, tuple[int, int]]
    ladder: dict[str, Any]
    screening: dict[str, Any] | None = None


class BlockHost:
    """What a worker knows of a run, whatever runs its blocks.

    Parameters
    ----------
    plan : Plan
    store : BlockStore
    """

    def __init__(self, plan: Plan, store: BlockStore) -> None:
        self.plan = plan
        self.store = store
        self.blocks = plan.length.blocks()
        # States that this worker has seen last: they need not be read back.
        self.latest: dict[int, tuple[int, bytes]] = {}
        self._weighted: tuple[int | None, Problem] = (None, plan.problem)

    def problem_of(self, block: int) -> Problem:
        """The problem with the feature weights that hold in a block."""
        at = round_of_weights(self.plan.length, block) if self.plan.adaptive else None
        if at != self._weighted[0]:
            problem = self.plan.problem
            changed = problem if at is None else with_feature_weights(problem, self.weights(at))
            self._weighted = at, changed
        return self._weighted[1]

    def weights(self, at: int) -> np.ndarray:
        """Feature weights that hold from a round on, checked: compiled code draws features by them."""
        weight = self.store.weights(at)
        with named(weights_name(at)):
            check_feature_weights(weight, len(self.plan.problem.codes))
        return weight

    def goes_on(self, chain: int, block: int) -> bool:
        """Whether this worker itself has run the block before."""
        return self.latest.get(chain, (-1, b""))[0] == block - 1 and block > 0

    def state_before(self, chain: int, block: int) -> bytes:
        """State from which a block starts."""
        if block == 0:
            return self.plan.start(chain)
        if self.goes_on(chain, block):
            return self.latest[chain][1]
        plan = self.plan
        replicas = None if plan.tempering is None else plan.tempering.replicas
        state = state_of_today(self.store.state_after(chain, block - 1), replicas)
        with named(checkpoint_name(chain, block - 1)):
            check_checkpoint(state, plan.settings, len(plan.problem.codes), replicas)
        return state

    def put(self, chain: int, block: int, ended: Ended, begin: float) -> BlockReport:
        """Store a block that began at a time; raises Stopped if it was stopped."""
        assert ended.result is not None
        drawn = self.drawn(chain, block, ended.result)
        return self.keep(chain, block, ended, drawn, time.monotonic() - begin)

    def drawn(self, chain: int, block: int, result: Block) -> Drawn | None:
        """Draws of a block, None if it kept none; raises Stopped if it was stopped."""
        plan, (_, sweeps) = self.plan, self.blocks[block]
        if result.sweeps < sweeps:
            raise Stopped(f"block {block} of chain {chain} was stopped")
        if not result.draws:
            return None
        draws = draws_of_block(plan, chain, plan.length.numbers_of(block), result)
        return Drawn(draws, watch_block(plan, result, draws))

    def keep(self, chain: int, block: int, ended: Ended, drawn: Drawn | None, seconds: float) -> BlockReport:
        """Store a block that took some seconds."""
        plan, (first, sweeps) = self.plan, self.blocks[block]
        draws, watched = drawn or (None, None)
        learning = plan.adaptive and first + sweeps <= plan.length.warmup
        report = BlockReport(
            chain=chain,
            block=block,
            sweeps=first + sweeps,
            terms=ended.terms,
            loglik=float("nan") if draws is None else float(draws.loglik[-1]),
            acceptance=ended.acceptance,
            watched=watched,
            usage=usage(ended.state) if learning else {},
            ladder=ended.ladder,
            screening=ended.screening or {},
            seconds=seconds,
        )
        self.store.put(report, (first, sweeps), draws, ended.checkpoint)
        self.latest[chain] = block, ended.checkpoint
        return report


def usage(state: np.record) -> dict[int, int]:
    """How many terms of a chain hold each feature."""
    held = [state.features[k, : state.order[k]] for k in range(state.K)]
    features, terms = np.unique(np.concatenate([np.zeros(0, np.int32), *held]), return_counts=True)
    return dict(zip(features.tolist(), terms.tolist(), strict=True))


def ended_chain(own: Chain | ReplicaSet | ShardedChain, result: Block | None) -> Ended:
    """Where a chain stands that has just run a block."""
    told = own.checkpoint(), own.state, own.progress[1], own.acceptance()
    if isinstance(own, ReplicaSet):
        return Ended(result, *told, own.status().as_dict())
    return Ended(result, *told, {}, own.screening())


class ChainHost(BlockHost):
    """Room for one chain at a time; chains come and go, since a block needs nothing but the state before it.

    Parameters
    ----------
    plan : Plan
    store : BlockStore
    threads : int
        Replicas of an ensemble that sweep at a time.
    in_parts : bool
        Replicas of an ensemble run one at a time, see `PartHost`.
    """

    width = 1

    def __init__(self, plan: Plan, store: BlockStore, threads: int = 1, in_parts: bool = False) -> None:
        super().__init__(plan, store)
        self.chain = plan.new_chain(threads, in_parts)
        self.running: int | None = None

    def run_block(self, chain: int, block: int) -> BlockReport:
        """Run a block and store it. Run twice, it gives the same block."""
        begin = time.monotonic()
        length, (first, sweeps) = self.plan.length, self.blocks[block]
        if not self.goes_on(chain, block):
            # A worker that died may have finished it without anyone hearing of it.
            found = self.store.finished(chain, block, (first, sweeps))
            if found is not None:
                return found
        own = self.chain
        own.problem = self.problem_of(block)
        own.restore(self.state_before(chain, block))
        self.running = chain
        try:
            result = own.run(first, sweeps, length.warmup, length.thin_of(block))
        finally:
            self.running = None
        return self.put(chain, block, ended_chain(own, result), begin)

    def run_blocks(self, chains: list[int], blocks: list[int]) -> list[BlockReport]:
        """Run blocks of one chain after the other."""
        reports: list[BlockReport] = []
        try:
            for chain in chains:
                for block in blocks:
                    reports.append(self.run_block(chain, block))
        except Stopped:
            pass
        return reports

    def progress(self) -> list[tuple[int, int, int]]:
        """Chain at work, its sweeps and its terms; nothing between blocks. Safe from another thread."""
        chain = self.running
        return [] if chain is None else [(chain, *self.chain.progress)]

    def stop(self) -> None:
        """End the block at hand, and lose it. Safe from another thread."""
        self.chain.request_stop()

    def close(self) -> None:
        """Nothing was taken."""
