"""A worker that has one shard of the rows, and runs every chain together with those that have the others."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.plan import Plan
from raytpnn.chains.run.store import BlockStore
from raytpnn.chains.work.worker import BlockHost, ended_chain
from raytpnn.engine.backends import block_runner
from raytpnn.engine.chain import Chain, Place
from raytpnn.engine.exchange.meeting import Meeting, MeetingBroken
from raytpnn.engine.gpu.device import Device
from raytpnn.engine.sharded_chain import agree, room_width

__all__ = ["ShardHost"]


def chain_and_seat(plan: Plan, place: Place, devices: Sequence[Device]) -> tuple[Chain, Meeting]:
    """Shard of a chain, on this process's core or on devices, and where it meets the others."""
    assert place.mailbox is not None
    seat = place.mailbox, room_width(plan.settings, plan.watched), place.shards, place.shard
    made_of = plan.problem, plan.settings, plan.first_state(0)
    if not devices:
        own = Chain(*made_of, block_runner(plan.backend), plan.watched, place)
        return own, Meeting(*seat, own.work)
    from raytpnn.engine.gpu.grid.chain import GridChain
    from raytpnn.engine.gpu.grid.meeting import StripeExchange, seat_of, stripes_at

    meeting = Meeting(*seat, seat_of(place))
    exchange = StripeExchange(meeting)
    return GridChain(*made_of, devices, plan.watched, stripes_at(place), exchange), meeting


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
    devices : sequence of Device
        For backend "cuda": the shard's rows lie on them.
    """

    width = 1

    def __init__(
        self,
        plan: Plan,
        store: BlockStore,
        shards: int,
        shard: int,
        mailbox: np.ndarray,
        devices: Sequence[Device] = (),
    ) -> None:
        super().__init__(plan, store)
        self.chain, self.meeting = chain_and_seat(plan, Place(shards, shard, mailbox), devices)
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
            result = own.run(first, sweeps, length.warmup, length.thin_of(block))
        finally:
            self.running = None
        if result.sweeps < sweeps:
            raise MeetingBroken(f"block {block} of chain {chain} was broken off: a shard is gone")
        agree(self.meeting, own.checkpoint())
        return self.put(chain, block, ended_chain(own, result), begin) if self.leads else None

    def progress(self) -> list[tuple[int, int, int]]:
        """Chain at work, its sweeps and its terms; nothing between blocks. Safe from another thread."""
        chain = self.running
        return [] if chain is None else [(chain, *self.chain.progress)]

    def stop(self) -> None:
        """End the block at hand, and lose it. Safe from another thread."""
        self.meeting.break_off()

    def close(self) -> None:
        """Nothing was taken."""
