"""The Ray actor: a worker, or one of a gang of workers, that may die at any moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numba
import ray
from threadpoolctl import threadpool_limits

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.run.run import Run
from raytpnn.chains.shards.seat import remove_mailbox, take_seat
from raytpnn.chains.work.choose_worker import one_worker
from raytpnn.chains.work.replica_parts import Part
from raytpnn.chains.work.worker import Worker
from raytpnn.engine.gpu.device import DeviceError
from raytpnn.storage.errors import NodeTrouble, RunError, RunUnusable
from raytpnn.storage.lease import Fence
from raytpnn.storage.places.place import Place

__all__ = ["BlockActor", "BlockWorker", "whereabouts"]


class BlockWorker:
    """Runs blocks of the run at a place that it can see.

    Everything it needs is read from there, so that a restarted one is as good as new.

    Parameters
    ----------
    uri : str
        Folder of the run.
    threads : int
        Threads that Numba and BLAS may use.
    gpus : float
        GPUs that it was given, or part of one, for backend "cuda".
    fence : Fence, optional
        Whose run it is; when another owner has taken it over, nothing more is written.
    size, rank : int
        Actors of its gang, and which of them this is: it has that shard of the rows.
    """

    def __init__(
        self,
        uri: str,
        threads: int,
        gpus: float = 0.0,
        fence: Fence | None = None,
        size: int = 1,
        rank: int = 0,
    ) -> None:
        os.environ["RAYTPNN_THREADS"] = str(threads)
        self.uri, self.threads, self.gpus, self.fence = uri, threads, gpus, fence
        self.size, self.rank = size, rank
        self.worker: Worker | None = None

    def open_run(self, meeting: str = "", transport: str = "") -> dict[str, Any]:
        """Open the run; tells where this is.

        Parameters
        ----------
        meeting : str
            Where the gang meets; no other gang has the name.
        transport : str
            "memory" if all of the gang are on this node and share some; else what carries their messages.
        """
        self.opened(meeting, transport)
        return self.where()

    def run_blocks(self, chains: list[int], blocks: list[int]) -> list[BlockReport]:
        """Run blocks one after the other, the same of every chain, and write them with their checkpoints.

        A call costs more than a small block, so that there may be several. See `Worker.run_blocks`.
        """
        with self.at_work(chains[0], blocks[0]) as worker:
            reports = worker.run_blocks(chains, blocks)
        where = self.where()
        return [replace(report, where=where) for report in reports]

    def run_part(self, chain: int, block: int, replica: int) -> Part:
        """Run one replica's part of a block; see `Worker.run_part`."""
        with self.at_work(chain, block) as worker:
            return worker.run_part(chain, block, replica)

    def join_block(self, chain: int, block: int, parts: list[Part], seconds: float) -> BlockReport:
        """Join the parts of a block and write it; see `Worker.join_block`."""
        with self.at_work(chain, block) as worker:
            return replace(worker.join_block(chain, block, parts, seconds), where=self.where())

    @contextmanager
    def at_work(self, chain: int, block: int) -> Iterator[Worker]:
        """Worker with its threads limited; an error of files names block and node."""
        # Numba's limit is that of the thread that sets it, and Ray runs methods in threads of its own.
        numba.set_num_threads(min(self.threads, numba.get_num_threads()))
        try:
            yield self.opened()
        except OSError as problem:
            raise NodeTrouble(
                f"block {block} of chain {chain}, or one with or after it, could not be written on node "
                f"{self.where()['ip']}: {problem}"
            ) from None

    @ray.method(concurrency_group="watch")
    def progress(self) -> list[tuple[int, int, int]]:
        """Chains at work, their sweeps and their terms."""
        return [] if self.worker is None else self.worker.progress()

    @ray.method(concurrency_group="watch")
    def tidy(self, meeting: str) -> None:
        """Remove the name of the shared memory, which stays as long as somebody maps it."""
        remove_mailbox(meeting)

    def opened(self, meeting: str = "", transport: str = "") -> Worker:
        """Worker, made when it is first needed."""
        if self.worker is not None:
            return self.worker
        try:
            run = Run.open(Place(self.uri), fence=self.fence)
            plan = run.plan(run.rows()) if self.size == 1 else run.shard_plan(self.size, self.rank)
        except (RunError, OSError) as problem:
            raise RunUnusable(
                f"node {self.where()['ip']} cannot use the run: {problem}. All nodes must see the run's "
                "folder: choose one on shared storage, such as s3:// or a network disk"
            ) from None
        try:
            if self.size == 1:
                self.worker = one_worker(plan, run.store, self.threads, self.gpus)
            else:
                seat = take_seat(plan, self.size, self.rank, int(self.gpus), meeting, transport)
                self.worker = Worker(plan, run.store, seat)
        except DeviceError as problem:
            raise DeviceError(f"node {self.where()['ip']}: {problem}") from None
        # Only libraries that are loaded can be limited, which by now they are.
        threadpool_limits(self.threads)
        return self.worker

    def where(self) -> dict[str, Any]:
        """Node and process."""
        return whereabouts() | {"width": 1 if self.worker is None else self.worker.width}


def whereabouts() -> dict[str, Any]:
    """Node and process that this is."""
    from importlib.metadata import version

    return {
        "node": ray.get_runtime_context().get_node_id(),
        "ip": ray.util.get_node_ip_address(),
        "pid": os.getpid(),
        "raytpnn": version("raytpnn"),
    }


# An actor that dies is not restarted by Ray, so that whoever asked for it sees where workers die, and how
# often. Doing again is safe since a block run twice is the same block. `progress` has a thread of its own.
AS_ACTOR: Any = ray.remote
BlockActor = AS_ACTOR(max_restarts=0, max_task_retries=0, concurrency_groups={"watch": 1})(BlockWorker)
