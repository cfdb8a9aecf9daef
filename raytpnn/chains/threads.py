"""Chains in threads of this process: the compiled sweep lets go of the interpreter lock."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from raytpnn.chains.collect import draws_of_block
from raytpnn.chains.plan import Plan
from raytpnn.chains.progress import ChainStatus, Reporter
from raytpnn.engine.chain import Chain
from raytpnn.posterior.draws import Draws

__all__ = ["ThreadRun", "available_cores", "run_in_threads"]

POLL_SECONDS = 0.1


def available_cores() -> int:
    """Cores this process may use; the environment variable RAYTPNN_THREADS overrides."""
    wish = os.environ.get("RAYTPNN_THREADS")
    if wish is not None:
        if not wish.isdigit() or int(wish) < 1:
            raise ValueError(f"RAYTPNN_THREADS must be a whole number from 1 on, got {wish!r}")
        return int(wish)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class ThreadRun:
    """What the chains gave.

    Attributes
    ----------
    draws : list of Draws
        One a block that kept any, sorted by chain and draw.
    acceptance : list of dict
        Proposals and acceptances of every move, one a chain.
    seconds : float
    stopped : str or None
        "interrupt" or "time limit" if the run ended before its time.
    """

    draws: list[Draws] = field(default_factory=list)
    acceptance: list[dict[str, tuple[int, int]]] = field(default_factory=list)
    seconds: float = 0.0
    stopped: str | None = None


class _Worker:
    """Runs one chain, block after block, and keeps what it drew."""

    def __init__(self, plan: Plan, index: int, halt: threading.Event) -> None:
        self.plan = plan
        self.index = index
        self.halt = halt
        self.chain: Chain | None = None
        self.parts: list[Draws] = []
        self.sweeps_done = 0
        self.loglik = float("nan")

    def run(self) -> None:
        self.chain = self.plan.start_chain(self.index)
        drawn = 0
        for first, sweeps in self.plan.blocks():
            if self.halt.is_set():
                return
            block = self.chain.run(first, sweeps, self.plan.warmup, self.plan.thin)
            if block.draws:
                part = draws_of_block(self.plan, self.index, drawn, block)
                self.parts.append(part)
                self.loglik = float(part.loglik[-1])
                drawn += block.draws
            self.sweeps_done = first + block.sweeps
            if block.sweeps < sweeps:
                return

    def stop(self) -> None:
        if self.chain is not None:
            self.chain.request_stop()

    def status(self) -> ChainStatus:
        sweeps, terms = self.chain.progress if self.chain is not None else (0, 0)
        return ChainStatus(self.index, sweeps, terms, self.loglik)


def run_in_threads(
    plan: Plan, reporter: Reporter, workers: int | None = None, time_limit: float | None = None
) -> ThreadRun:
    """Run all chains of a plan, at most `workers` at a time.

    An interrupt (Ctrl-C) or the time limit stops all chains after the term at hand; what was drawn is kept.
    """
    begin = time.monotonic()
    halt = threading.Event()
    crew = [_Worker(plan, index, halt) for index in range(plan.chains)]
    run = ThreadRun()
    pool = ThreadPoolExecutor(min(workers or available_cores(), plan.chains))
    with reporter:
        futures = [pool.submit(worker.run) for worker in crew]
        try:
            pending = set(futures)
            while pending:
                _, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_EXCEPTION)
                reporter.update([worker.status() for worker in crew])
                if any(f.done() and f.exception() is not None for f in futures):
                    run.stopped = "failure"
                elif pending and time_limit is not None and time.monotonic() - begin > time_limit:
                    run.stopped = "time limit"
                if run.stopped is not None:
                    break
        except KeyboardInterrupt:
            run.stopped = "interrupt"
        finally:
            halt.set()
            if run.stopped is not None:
                # A chain made just now may not have seen the first request.
                while not all(future.done() for future in futures):
                    for worker in crew:
                        worker.stop()
                    wait(futures, timeout=0.01)
            pool.shutdown(wait=True)
    for future in futures:
        future.result()
    run.seconds = time.monotonic() - begin
    run.draws = [part for worker in crew for part in worker.parts]
    run.acceptance = [worker.chain.acceptance() if worker.chain else {} for worker in crew]
    return run
