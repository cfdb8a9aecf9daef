"""Blocks in threads of this process: the compiled sweep lets go of the interpreter lock."""

from __future__ import annotations

import os
import queue
import threading
import time

from raytpnn.chains.executors.base import Completed
from raytpnn.chains.plan import Plan
from raytpnn.chains.run.store import BlockStore
from raytpnn.chains.work.choose_worker import local_workers
from raytpnn.parallel.threads import core_limit, usable_cores
from raytpnn.storage.errors import NodeTrouble

__all__ = ["ThreadExecutor", "available_cores"]

STOP_SECONDS = 0.01
# How long the end of a run waits for threads: storage errors are borne for a while, see `storage.retry`.
CLOSE_SECONDS = 30.0
# A thread whose chain has not moved for so long hangs, most likely in storage that does not answer.
HUNG_SECONDS = 1800.0


def available_cores() -> int:
    """Cores this process may use: a limit that was set by `at_most`, or the variable RAYTPNN_THREADS."""
    wish = os.environ.get("RAYTPNN_THREADS")
    if wish is not None and core_limit.get() is None:
        if not wish.isdigit() or int(wish) < 1:
            raise ValueError(f"RAYTPNN_THREADS must be a whole number from 1 on, got {wish!r}")
        return int(wish)
    return usable_cores()


class ThreadExecutor:
    """One thread per worker; a worker is one chain at a time, or a GPU with many.

    Parameters
    ----------
    plan : Plan
    store : BlockStore
    workers : int, optional
        As many as there are cores, or chains if these are fewer.
    """

    def __init__(self, plan: Plan, store: BlockStore, workers: int | None = None) -> None:
        cores = available_cores()
        self.workers = local_workers(plan, store, workers or cores, cores)
        self.on_gpu = plan.backend == "cuda"
        self.shards = plan.shards
        self.tasks: list[queue.SimpleQueue[tuple[list[int], list[int]] | None]] = [
            queue.SimpleQueue() for _ in self.workers
        ]
        self.results: queue.SimpleQueue[Completed | BaseException] = queue.SimpleQueue()
        self.busy: set[int] = set()
        # Where the chains of a worker were when they last moved, and when that was.
        self.moved: dict[int, tuple[object, float]] = {}
        self.threads = [
            threading.Thread(target=self._work, args=(i,), name=f"raytpnn-{i}", daemon=True)
            for i in range(len(self.workers))
        ]
        for thread in self.threads:
            thread.start()

    def _work(self, worker: int) -> None:
        while (task := self.tasks[worker].get()) is not None:
            try:
                reports = self.workers[worker].run_blocks(*task)
            except BaseException as problem:
                self.results.put(problem)
                continue
            self.results.put(Completed(worker, reports))

    def idle(self) -> list[int]:
        """Workers with nothing to do."""
        return [i for i in range(len(self.workers)) if i not in self.busy]

    def width(self, worker: int) -> int:
        """Chains that a worker runs together."""
        return self.workers[worker].width

    def submit(self, worker: int, chains: list[int], blocks: list[int]) -> None:
        """Have a worker run blocks, the same of every chain."""
        self.busy.add(worker)
        self.moved[worker] = None, time.monotonic()
        self.tasks[worker].put((chains, blocks))

    def wait(self, seconds: float) -> list[Completed]:
        """Work that ended within some seconds."""
        completed = []
        try:
            result = self.results.get(timeout=seconds)
            while True:
                if isinstance(result, BaseException):
                    raise result
                self.busy.discard(result.worker)
                completed.append(result)
                result = self.results.get_nowait()
        except queue.Empty:
            self.check()
            return completed

    def check(self) -> None:
        """Raise RunError if a worker has not moved for far too long."""
        now = time.monotonic()
        for worker in self.busy:
            place, since = self.moved[worker]
            current = self.workers[worker].progress()
            if current != place:
                self.moved[worker] = current, now
            elif now - since > HUNG_SECONDS:
                raise NodeTrouble(
                    f"a thread has not moved for {HUNG_SECONDS:.0f} s: the storage does not answer, or the "
                    "machine is overloaded"
                )

    def progress(self) -> dict[int, tuple[int, int]]:
        """Sweeps and terms of the chains at work."""
        found = (one for worker in self.workers for one in worker.progress())
        return {chain: (sweeps, terms) for chain, sweeps, terms in found}

    def lost(self) -> set[int]:
        """Nothing gets lost within a process."""
        return set()

    def describe(self) -> str:
        """Where the blocks run."""
        kind = "GPU" if self.on_gpu else "thread"
        count = len(self.workers) * self.shards
        return f"{count} {kind}{'s' * (count > 1 or not self.on_gpu)}"

    def stop(self) -> None:
        """End blocks at hand."""
        for worker in self.workers:
            worker.stop()

    def close(self) -> None:
        """End the threads."""
        for tasks in self.tasks:
            tasks.put(None)
        end = time.monotonic() + CLOSE_SECONDS
        while any(thread.is_alive() for thread in self.threads):
            # A block that began just now may not have seen the first request.
            self.stop()
            for thread in self.threads:
                thread.join(STOP_SECONDS)
            if time.monotonic() > end:
                # It hangs where nothing can end it; as a daemon it does not keep the program.
                return
        for worker in self.workers:
            worker.close()
