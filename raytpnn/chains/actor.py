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

from raytpnn.chains.host import ChainHost
from raytpnn.chains.report import BlockReport
from raytpnn.chains.run import Run
from raytpnn.chains.spread import Part
from raytpnn.storage.errors import RunError
from raytpnn.storage.place import Place

__all__ = ["BlockActor", "BlockWorker"]


class BlockWorker:
    """Runs blocks of the run at a place that it can see.

    Everything it needs is read from there, so that a restarted one is as good as new.

    Parameters
    ----------
    uri : str
        Folder of the run.
    threads : int
        Threads that Numba and BLAS may use.
    """

    def __init__(self, uri: str, threads: int) -> None:
        self.threads = threads
        os.environ["RAYTPNN_THREADS"] = str(threads)
        self.uri = uri
        self.host: ChainHost | None = None

    def hello(self) -> dict[str, Any]:
        """Open the run; tells where this is."""
        self.opened()
        return self.where()

    def run_block(self, chain: int, block: int) -> BlockReport:
        """Run a block, write it and its checkpoint; see `ChainHost.run_block`."""
        with self.at_work(chain, block) as host:
            report = host.run_block(chain, block)
        return replace(report, where=self.where())

    @contextmanager
    def at_work(self, chain: int, block: int) -> Iterator[ChainHost]:
        """Host with threads limited; what goes wrong with files is told with block and node."""
        # Numba's limit is that of the thread that sets it, and Ray runs methods in threads of its own.
        numba.set_num_threads(min(self.threads, numba.get_num_threads()))
        try:
            yield self.opened()
        except OSError as problem:
            raise RunError(
                f"block {block} of chain {chain} could not be written on node {self.where()['ip']}: {problem}"
            ) from None

    def run_blocks(self, chain: int, blocks: list[int]) -> list[BlockReport]:
        """Run blocks of a chain, one after the other: a call costs more than a small block."""
        return [self.run_block(chain, block) for block in blocks]

    def run_part(self, chain: int, block: int, replica: int) -> tuple[Part, dict[str, Any]]:
        """Run one replica's part of a block; see `ChainHost.run_part`. Tells where this is, too."""
        with self.at_work(chain, block) as host:
            return host.run_part(chain, block, replica), self.where()

    def join_block(
        self, chain: int, block: int, parts: list[Part], seconds: float
    ) -> tuple[BlockReport, dict[str, Any]]:
        """Join the parts of a block and write it; see `ChainHost.join_block`. Tells where this is, too."""
        where = self.where()
        with self.at_work(chain, block) as host:
            return replace(host.join_block(chain, block, parts, seconds), where=where), where

    @ray.method(concurrency_group="watch")
    def progress(self) -> tuple[int, int, int] | None:
        """Chain at work, its sweeps and its terms."""
        return None if self.host is None else self.host.progress()

    def opened(self) -> ChainHost:
        """Host of chains, made when it is first needed."""
        if self.host is None:
            place = Place(self.uri)
            try:
                run = Run.open(place)
            except RunError as problem:
                raise RunError(
                    f"node {self.where()['ip']} cannot use the run: {problem}. All nodes must see the run's "
                    "folder: choose one on shared storage, such as s3:// or a network disk"
                ) from None
            plan = run.plan(run.rows())
            self.host = ChainHost(plan, run.store, self.threads, in_parts=plan.spread)
            # Only libraries that are loaded can be limited, which by now they are.
            threadpool_limits(self.threads)
        return self.host

    def where(self) -> dict[str, Any]:
        """Node and process."""
        from importlib.metadata import version

        context = ray.get_runtime_context()
        return {
            "node": context.get_node_id(),
            "ip": ray.util.get_node_ip_address(),
            "pid": os.getpid(),
            "raytpnn": version("raytpnn"),
        }


# Retries are safe since a block run twice is the same block. `progress` has a thread of its own.
AS_ACTOR: Any = ray.remote
BlockActor = AS_ACTOR(max_restarts=-1, max_task_retries=-1, concurrency_groups={"watch": 1})(BlockWorker)
