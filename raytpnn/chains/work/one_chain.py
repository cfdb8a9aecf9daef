"""Strategies that run one chain at a time: on cores, on whole devices ("grid"), or with other shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from raytpnn.chains.plan import Plan
from raytpnn.chains.work.strategy import Ended, Extent, Strategy
from raytpnn.engine.backends import block_runner
from raytpnn.engine.chain import Block, Chain, ShardPlace
from raytpnn.engine.exchange.meeting import Meeting, MeetingBroken
from raytpnn.engine.gpu.device import Device, DeviceError
from raytpnn.engine.sharded_chain import ShardedChain, agree, room_width
from raytpnn.engine.tempering.replicas import ReplicaSet

__all__ = ["OneChain", "ShardOfChain", "end_of", "grid_pays_off", "grids", "shard_of_chain"]


def end_of(chain: Chain | ReplicaSet | ShardedChain, result: Block | None) -> Ended:
    """Where a chain stands that has just run a block."""
    ladder, screening = {}, {}
    if isinstance(chain, ReplicaSet):
        ladder = chain.status().as_dict()
    else:
        screening = chain.screening()
    return Ended(
        result,
        chain.checkpoint(),
        chain.state,
        chain.progress[1],
        chain.acceptance(),
        ladder,
        screening,
    )


class OneChain(Strategy):
    """Room for one chain at a time; chains come and go, since a block needs nothing but the state before it.

    Parameters
    ----------
    chain : Chain, ReplicaSet or ShardedChain
    """

    def __init__(self, chain: Chain | ReplicaSet | ShardedChain) -> None:
        self.chain = chain

    def run(self, states: list[bytes], extents: Sequence[Extent]) -> Iterator[list[Ended]]:
        """Run blocks of one chain."""
        (state,) = states
        for problem, *sweeps in extents:
            self.chain.problem = problem
            self.chain.restore(state)
            ended = end_of(self.chain, self.chain.run(*sweeps))
            yield [ended]
            state = ended.checkpoint

    def progress(self) -> list[tuple[int, int]]:
        """Sweeps and terms of the chain."""
        return [self.chain.progress]

    def stop(self) -> None:
        """End the block at hand."""
        self.chain.request_stop()

    def close(self) -> None:
        """Give back memory of devices, if the chain has any."""
        getattr(self.chain, "close", lambda: None)()


class ShardOfChain(OneChain):
    """One shard of the rows of a chain, which runs together with those that have the others.

    Parameters
    ----------
    chain : Chain
        Its problem is that of the shard's rows.
    meeting : Meeting
        Where it meets the others.
    """

    def __init__(self, chain: Chain, meeting: Meeting) -> None:
        super().__init__(chain)
        self.meeting = meeting
        self.leads = meeting.shard == 0

    def share(self, states: list[bytes]) -> list[bytes]:
        """Take the state of shard 0; none if there is nothing to run."""
        state = self.meeting.broadcast(b"".join(states))
        return [state] if state else []

    def run(self, states: list[bytes], extents: Sequence[Extent]) -> Iterator[list[Ended]]:
        """Run blocks with all shards, which must agree at each end."""
        for extent, (ended,) in zip(extents, super().run(states, extents), strict=True):
            assert ended.result is not None
            if ended.result.sweeps < extent.sweeps:
                raise MeetingBroken("a block was broken off: a shard is gone")
            agree(self.meeting, ended.checkpoint)
            yield [ended]

    def stop(self) -> None:
        """End the block at hand for all shards."""
        self.meeting.break_off()


def shard_of_chain(
    plan: Plan, shards: int, shard: int, mailbox: np.ndarray, devices: Sequence[Device] = ()
) -> ShardOfChain:
    """Shard of a chain, on a core of this process or on devices.

    Parameters
    ----------
    plan : Plan
        Its problem is that of the shard's rows.
    shards, shard : int
    mailbox : (words,) int64
    devices : sequence of Device
        For backend "cuda": the shard's rows lie on them.
    """
    place = ShardPlace(shards, shard, mailbox)
    seat = mailbox, room_width(plan.settings, plan.watched), shards, shard
    made_of = plan.problem, plan.settings, plan.first_state(0)
    if not devices:
        chain = Chain(*made_of, block_runner(plan.backend), plan.watched, place)
        return ShardOfChain(chain, Meeting(*seat, chain.work))
    from raytpnn.engine.gpu.grid.chain import GridChain
    from raytpnn.engine.gpu.grid.meeting import StripeExchange, seat_of, stripes_at

    meeting = Meeting(*seat, seat_of(place))
    grid = GridChain(*made_of, devices, plan.watched, stripes_at(place), StripeExchange(meeting))
    return ShardOfChain(grid, meeting)


def grid_pays_off(plan: Plan, devices: Sequence[Device]) -> bool:
    """Whether a plan's chains run one at a time on whole devices; replicas never do."""
    from raytpnn.engine.gpu.grid.choice import grid_pays

    if plan.tempering is not None:
        return False
    if plan.shards > 1:
        return True
    chains = -(-plan.length.chains // len(devices))
    rows = plan.subsets.rows if plan.subsets.approximate else len(plan.problem.y)
    return grid_pays(devices[0].limits(), rows, chains)


def grids(plan: Plan, devices: Sequence[Device]) -> list[OneChain]:
    """Strategies of a process: each has as many devices as a chain has shards."""
    from raytpnn.engine.gpu.grid.chain import GridChain

    shards = plan.shards
    if len(devices) < shards:
        raise DeviceError(
            f"shards={shards} with backend 'cuda' needs {shards} GPUs, this process sees {len(devices)}; use "
            "fewer shards, or look at CUDA_VISIBLE_DEVICES"
        )
    count = min(len(devices) // shards, plan.length.chains)
    groups = [devices[i * shards : (i + 1) * shards] for i in range(count)]
    return [
        OneChain(GridChain(plan.problem, plan.settings, plan.first_state(0), own, plan.watched))
        for own in groups
    ]
