"""The Ray actor: a worker that may die at any moment."""

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
from raytpnn.chains.work.choose_worker import one_host
from raytpnn.chains.work.parts import Part
from raytpnn.chains.work.replica_worker import PartHost
from raytpnn.chains.work.worker import Host
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
    gpu_share : float
        Part of a GPU that it was given, for backend "cuda".
    fence : Fence, optional
        Whose run it is; when another owner has taken it over, nothing more is written.
    """

    def __init__(self, uri: str, threads: int, gpu_share: float = 0.0, fence: Fence | None = None) -> None:
        self.fence = fence
        self.threads = threads
        self.gpu_share = gpu_share
        os.environ["RAYTPNN_THREADS"] = str(threads)
        self.uri = uri
        self.host: Host | None = None

    def hello(self) -> dict[str, Any]:
        """Open the run; tells where this is."""
        self.opened()
        return self.where()

    def run_block(self, chain: int, block: int) -> BlockReport:
        """Run a block, write it and its checkpoint."""
        return self.run_blocks([chain], [block])[0]

    def run_blocks(self, chains: list[int], blocks: list[int]) -> list[BlockReport]:
        """Run blocks one after the other, the same of every chain, and write them with their checkpoints.

        A call costs more than a small block, so that there may be several. See `Host.run_blocks`.
        """
        with self.at_work(chains[0], blocks[0]) as host:
            reports = host.run_blocks(chains, blocks)
        where = self.where()
        return [replace(report, where=where) for report in reports]

    def run_part(self, chain: int, block: int, replica: int) -> tuple[Part, dict[str, Any]]:
        """Run one replica's part of a block; see `PartHost.run_part`. Tells where this is, too."""
        with self.at_work(chain, block) as host:
            assert isinstance(host, PartHost)
            return host.run_part(chain, block, replica), self.where()

    def join_block(
        self, chain: int, block: int, parts: list[Part], seconds: float
    ) -> tuple[BlockReport, dict[str, Any]]:
        """Join the parts of a block and write it; see `PartHost.join_block`. Tells where this is, too."""
        where = self.where()
        with self.at_work(chain, block) as host:
            assert isinstance(host, PartHost)
            return replace(host.join_block(chain, block, parts, seconds), where=where), where

    @contextmanager
    def at_work(self, chain: int, block: int) -> Iterator[Host]:
        """Host with threads limited; what goes wrong with files is told with block and node."""
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
        return [] if self.host is None else self.host.progress()

    def opened(self) -> Host:
        """Host of chains, made when it is first needed."""
        if self.host is None:
            place = Place(self.uri)
            try:
                run = Run.open(place, fence=self.fence)
            except (RunError, OSError) as problem:
                raise RunUnusable(
                    f"node {self.where()['ip']} cannot use the run: {problem}. All nodes must see the run's "
                    "folder: choose one on shared storage, such as s3:// or a network disk"
                ) from None
            try:
                self.host = one_host(run.plan(run.rows()), run.store, self.threads, self.gpu_share)
            except DeviceError as problem:
                raise DeviceError(f"node {self.where()['ip']}: {problem}") from None
            # Only libraries that are loaded can be limited, which by now they are.
            threadpool_limits(self.threads)
        return self.host

    def where(self) -> dict[str, Any]:
        """Node and process."""
        return whereabouts() | {"width": 1 if self.host is None else self.host.width}


def whereabouts() -> dict[str, Any]:
    """Node and process that this is."""
    from importlib.metadata import version

    return {
        "node": ray.get_runtime_context().get_node_id(),
        "ip": ray.util.get_node_ip_address(),
        "pid": os.getpid(),
        "raytpnn": version("raytpnn"),
    }


# One that dies is not restarted by Ray, so that whoever asked for it sees where workers die, and how often.
# Doing again is safe since a block run twice is the same block. `progress` has a thread of its own.
AS_ACTOR: Any = ray.remote
BlockActor = AS_ACTOR(max_restarts=0, max_task_retries=0, concurrency_groups={"watch": 1})(BlockWorker)
