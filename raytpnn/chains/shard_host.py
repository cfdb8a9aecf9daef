"""A worker that has one shard of the rows, and runs every chain together with those that have the others."""

from __future__ import annotations

import hashlib
import time

import numpy as np

from raytpnn.chains.host import BlockHost, ended_chain
from raytpnn.chains.plan import Plan
from raytpnn.chains.report import BlockReport
from raytpnn.chains.store import BlockStore
from raytpnn.engine.chain import Chain, Place
from raytpnn.engine.execution import block_runner
from raytpnn.engine.meeting import Meeting, MeetingBroken
from raytpnn.engine.shards import ShardError, room_width

__all__ = ["ShardHost"]


class ShardHost(BlockHost):
    """One shard's part in chains that come and go.

    Shard 0 alone reads and writes states and blocks; it tells the others where a block starts.

    Parameters
    ----------
    plan : Plan
        Its problem is that of the shard's rows.
    store : BlockStore
    shards, shard : int
    mailbox : (words,) int64
    """

    width = 1

    def __init__(self, plan: Plan, store: BlockStore, shards: int, shard: int, mailbox: np.ndarray) -> None:
        super().__init__(plan, store)
        self.chain = Chain(
            plan.problem,
            plan.settings,
            plan.first_state(0),
            block_runner(plan.backend),
            plan.watched,
            Place(shards, shard, mailbox),
        )
        room = room_width(plan.settings, plan.watched)
        self.meeting = Meeting(mailbox, room, shards, shard, self.chain.work)
        self.leads = shard == 0
        self.running: int | None = None

    def run_blocks(self, chains: list[int], blocks: list[int]) -> list[BlockReport]:
        """Run blocks of one chain after the other, with all shards; the reports are those of shard 0."""
        reports = []
        for chain in chains:
            for block in blocks:
                report = self.run_block(chain, block)
                if report is not None:
                    reports.append(report)
        return reports

    def run_block(self, chain: int, block: int) -> BlockReport | None:
        """Run a block; shard 0 stores it. Run twice, it gives the same block."""
        begin = time.monotonic()
        length, (first, sweeps) = self.plan.length, self.blocks[block]
        found, before = None, b""
        if self.leads:
            if not self.goes_on(chain, block):
                found = self.store.finished(chain, block, (first, sweeps))
            before = b"" if found is not None else self.state_before(chain, block)
        before = self.meeting.broadcast(before)
        if not before:
            return found
        own = self.chain
        own.problem = self.problem_of(block)
        own.restore(before)
        self.running = chain
        try:
            result = own.run(first, sweeps, length.warmup, length.thin)
        finally:
            self.running = None
        if result.sweeps < sweeps:
            raise MeetingBroken(f"block {block} of chain {chain} was broken off: a shard is gone")
        self.agree(chain, block)
        return self.put(chain, block, ended_chain(own, result), begin) if self.leads else None

    def agree(self, chain: int, block: int) -> None:
        """Raise ShardError unless all shards came to the same state."""
        digest = hashlib.sha256(self.chain.checkpoint()).digest()
        digests = self.meeting.exchange(np.frombuffer(digest, np.int64))
        if (digests != digests[0]).any():
            raise ShardError(
                f"block {block} of chain {chain}: the shards came to different states, which must not "
                "happen; nothing of the block is kept"
            )

    def progress(self) -> list[tuple[int, int, int]]:
        """Chain at work, its sweeps and its terms; nothing between blocks. Safe from another thread."""
        chain = self.running
        return [] if chain is None else [(chain, *self.chain.progress)]

    def stop(self) -> None:
        """End the block at hand, and lose it. Safe from another thread."""
        self.meeting.break_off()

    def close(self) -> None:
        """Nothing was taken."""
