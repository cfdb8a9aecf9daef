"""The Ray actor that has one shard of the rows. If one of a team dies, the team is made anew."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from threadpoolctl import threadpool_limits

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.executors.ray_actor import whereabouts
from raytpnn.chains.run.run import Run
from raytpnn.chains.shards.carrier import Carrier
from raytpnn.chains.shards.transport import has_nccl, new_group
from raytpnn.chains.work.shard_worker import ShardHost
from raytpnn.engine.exchange.mailbox import new_mailbox
from raytpnn.engine.exchange.meeting import map_mailbox, sweep_mailboxes
from raytpnn.engine.gpu.device import Device, DeviceError
from raytpnn.engine.sharded_chain import room_width
from raytpnn.storage.errors import NodeTrouble, RunError, RunUnusable
from raytpnn.storage.lease import Fence
from raytpnn.storage.places.place import Place

__all__ = ["MAILBOX", "ShardActor", "ShardWorker"]

# How names of files begin through which shards of a node share memory.
MAILBOX = "raytpnn-"


def shared_folder() -> Path:
    """Folder of files that stay in memory, where there is one."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


def own_devices(count: int) -> Sequence[Device]:
    """GPUs that Ray gave this process, as many as it asked for."""
    if not count:
        return ()
    from raytpnn.engine.gpu.device import find_devices

    where = f"node {whereabouts()['ip']}"
    try:
        devices = find_devices()
    except DeviceError as problem:
        raise DeviceError(f"{where}: {problem}") from None
    if len(devices) < count:
        raise DeviceError(
            f"{where}: a worker was to have {count} GPUs and sees {len(devices)}; look at "
            "CUDA_VISIBLE_DEVICES there"
        )
    return devices[:count]


class ShardWorker:
    """One of a team.

    Parameters
    ----------
    uri : str
        Folder of the run.
    threads : int
        Threads that BLAS may use.
    shards, shard : int
        Workers of the team, and which of them this is.
    gpus : int
        For backend "cuda": GPUs that its rows lie on.
    fence : Fence, optional
        Whose run it is; when another owner has taken it over, nothing more is written.
    """

    def __init__(
        self, uri: str, threads: int, shards: int, shard: int, gpus: int = 0, fence: Fence | None = None
    ) -> None:
        self.fence = fence
        os.environ["RAYTPNN_THREADS"] = str(threads)
        self.uri, self.threads = uri, threads
        self.shards, self.shard, self.gpus = shards, shard, gpus
        self.host: ShardHost | None = None
        self.carrier: Carrier | None = None

    def hello(self) -> dict[str, Any]:
        """Tell where this is."""
        return whereabouts()

    def has_nccl(self) -> bool:
        """Tell whether sums can go by NCCL here."""
        return has_nccl()

    def join(self, name: str, transport: str) -> int:
        """Read the shard's rows, and take a seat; returns how many rows.

        Parameters
        ----------
        name : str
            Of the meeting; no other has it.
        transport : str
            "memory" if all shards are on this node and share some; else what carries their messages.
        """
        place = Place(self.uri)
        try:
            run = Run.open(place, fence=self.fence)
            plan = run.shard_plan(self.shards, self.shard)
        except (RunError, OSError) as problem:
            raise RunUnusable(
                f"node {whereabouts()['ip']} cannot use the run: {problem}. All nodes must see the run's "
                "folder: choose one on shared storage, such as s3:// or a network disk"
            ) from None
        width = room_width(plan.settings, plan.watched)
        shared = transport == "memory"
        if shared:
            sweep_mailboxes(shared_folder(), MAILBOX)
        mailbox = map_mailbox(str(shared_folder() / name), width) if shared else new_mailbox(width)
        devices = own_devices(self.gpus)
        self.host = ShardHost(plan, run.store, self.shards, self.shard, mailbox, devices)
        if not shared:
            group = new_group(transport, self.shards, self.shard, name)
            self.carrier = Carrier(self.host.meeting, group)
        threadpool_limits(self.threads)
        return len(plan.problem.y)

    @ray.method(concurrency_group="watch")
    def tidy(self, name: str) -> None:
        """Remove the name of the shared memory, which stays as long as somebody maps it."""
        with contextlib.suppress(FileNotFoundError):
            (shared_folder() / name).unlink()

    def run_blocks(self, chains: list[int], blocks: list[int]) -> list[BlockReport]:
        """Run blocks one after the other with the other shards; shard 0 writes and reports them."""
        assert self.host is not None
        where = whereabouts()
        try:
            reports = self.host.run_blocks(chains, blocks)
        except OSError as problem:
            raise NodeTrouble(
                f"a block of chain {chains[0]} could not be written on node {where['ip']}: {problem}"
            ) from None
        return [replace(report, where=where) for report in reports]

    @ray.method(concurrency_group="watch")
    def progress(self) -> list[tuple[int, int, int]]:
        """Chain at work, its sweeps and its terms."""
        return [] if self.host is None else self.host.progress()


AS_ACTOR: Any = ray.remote
ShardActor = AS_ACTOR(max_restarts=0, max_task_retries=0, concurrency_groups={"watch": 1})(ShardWorker)
