"""The worker: runs blocks of any chain, from the states that the blocks before left, and stores them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import numpy as np

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.monitoring.watched import Drawn, watch_block
from raytpnn.chains.plan import Plan
from raytpnn.chains.run.collect import draws_of_block
from raytpnn.chains.run.store import BlockStore
from raytpnn.chains.work.adaptive_weights import round_of_weights
from raytpnn.chains.work.learned_sets import round_of_sets, with_proposals
from raytpnn.chains.work.replica_parts import Part, ReplicaParts, with_levels
from raytpnn.chains.work.strategy import Ended, Extent, Stopped, Strategy
from raytpnn.engine.chain import Block
from raytpnn.engine.older_records import state_of_today
from raytpnn.engine.problem import Problem, with_feature_weights
from raytpnn.engine.record_check import check_checkpoint, check_feature_weights
from raytpnn.storage.checks import named
from raytpnn.storage.formats.checkpoint import checkpoint_name, weights_name

__all__ = ["Worker"]


class Worker:
    """Runs blocks, and stores them. A block that is run twice is the same block.

    Parameters
    ----------
    plan : Plan
    store : BlockStore
    strategy : Strategy
        Runs the blocks.
    writers : int
        Threads that store blocks of chains that run together.
    """

    def __init__(self, plan: Plan, store: BlockStore, strategy: Strategy, writers: int = 1) -> None:
        self.plan = plan
        self.store = store
        self.strategy = strategy
        self.writers = writers
        self.blocks = plan.length.blocks()
        self.running: list[int] = []
        # States that this worker has seen last: they need not be read back.
        self.latest: dict[int, tuple[int, bytes]] = {}
        self._weighted: tuple[int | None, Problem] = (None, plan.problem)

    @property
    def width(self) -> int:
        """Chains that it runs together."""
        return self.strategy.width

    def run_blocks(self, chains: list[int], blocks: list[int]) -> list[BlockReport]:
        """Run blocks, the same of every chain, and store them; fewer reports if it was stopped."""
        # Chains that run together take several blocks at once: one is stored while the next one runs.
        steps = [(chains, blocks)]
        if self.width == 1:
            steps = [([chain], [block]) for chain in chains for block in blocks]
        reports: list[BlockReport] = []
        with suppress(Stopped), ThreadPoolExecutor(self.writers) as pool:
            for together, these in steps:
                begin = time.monotonic()
                found, states = [], []
                if self.strategy.leads:
                    found = self.found(together, these)
                    states = [] if found else [self.state_before(chain, these[0]) for chain in together]
                states = self.strategy.share(states)
                if not states:
                    reports += found
                    continue
                self.running = together
                try:
                    ends = self.strategy.run(states, [self.extent(block) for block in these])
                    for block, ended in zip(these, ends, strict=True):
                        if self.strategy.leads:
                            count = len(together)
                            put = map if count == 1 else pool.map
                            stored = put(self.put, together, [block] * count, ended, [begin] * count)
                            # One by one: what was stored before another was stopped counts.
                            for report in stored:
                                reports.append(report)
                        begin = time.monotonic()
                finally:
                    self.running = []
        return reports

    def found(self, chains: list[int], blocks: list[int]) -> list[BlockReport]:
        """Reports on blocks that are all finished: a worker that died may have reported none. Else []."""
        reports = []
        for chain in chains:
            for block in blocks:
                if self.goes_on(chain, block):
                    return []
                report = self.store.finished(chain, block, self.blocks[block])
                if report is None:
                    return []
                reports.append(report)
        return reports

    def run_part(self, chain: int, block: int, replica: int) -> Part:
        """Run one replica's part of a block; stores nothing. A part that is run twice is the same part."""
        assert isinstance(self.strategy, ReplicaParts)
        self.running = [chain]
        try:
            part, result = self.strategy.run_part(
                self.state_before(chain, block), self.extent(block), replica
            )
        finally:
            self.running = []
        if part.cold:
            return replace(part, drawn=self.drawn(chain, block, result))
        if result.sweeps < self.blocks[block][1]:
            raise Stopped(f"block {block} of replica {replica} of chain {chain} was stopped")
        return part

    def join_block(self, chain: int, block: int, parts: list[Part], seconds: float) -> BlockReport:
        """Make a block of its parts, swap, and store it; `seconds` is how long the parts took."""
        assert isinstance(self.strategy, ReplicaParts)
        ended, levels = self.strategy.join(self.state_before(chain, block), self.extent(block), parts)
        drawn = with_levels(parts, levels + self.plan.level_constant())
        return self.keep(chain, block, ended, drawn, seconds)

    def progress(self) -> list[tuple[int, int, int]]:
        """Chains at work, their sweeps and their terms; none between blocks. Safe from another thread."""
        running = self.running
        if not running:
            return []
        return [(chain, *done) for chain, done in zip(running, self.strategy.progress(), strict=False)]

    def stop(self) -> None:
        """End the blocks at hand, and lose them. Safe from another thread."""
        self.strategy.stop()

    def close(self) -> None:
        """Give back what was taken; nothing is under way any more."""
        self.strategy.close()

    def extent(self, block: int) -> Extent:
        """Sweeps of a block, and the problem that holds in it."""
        length = self.plan.length
        return Extent(self.problem_of(block), *self.blocks[block], length.warmup, length.thin_of(block))

    def problem_of(self, block: int) -> Problem:
        """The problem with the feature weights that hold in a block."""
        length = self.plan.length
        at = None
        if self.plan.screened:
            at = round_of_sets(length, block)
        elif self.plan.adaptive:
            at = round_of_weights(length, block)
        if at != self._weighted[0]:
            problem = self.plan.problem
            if at is not None and self.plan.screened:
                problem = with_proposals(problem, self.store, at, int(self.plan.settings.max_order))
            elif at is not None:
                problem = with_feature_weights(problem, self.weights(at))
            self._weighted = at, problem
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
            draws=0 if draws is None else draws.n_draws,
            usage=usage(ended.state) if learning else {},
            ladder=ended.ladder,
            screening=ended.screening,
            seconds=seconds,
        )
        report = self.store.put(report, (first, sweeps), draws, ended.checkpoint)
        self.latest[chain] = block, ended.checkpoint
        return report


def usage(state: np.record) -> dict[int, int]:
    """How many terms of a chain hold each feature."""
    held = [state.features[k, : state.order[k]] for k in range(state.K)]
    features, terms = np.unique(np.concatenate([np.zeros(0, np.int32), *held]), return_counts=True)
    return dict(zip(features.tolist(), terms.tolist(), strict=True))
