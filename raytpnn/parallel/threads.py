"""Tasks over the cores of this machine, in threads: compiled code and NumPy release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TypeVar

__all__ = ["at_most", "core_limit", "even_ranges", "run_all", "usable_cores"]

Task = TypeVar("Task")
Result = TypeVar("Result")

core_limit: ContextVar[int | None] = ContextVar("core_limit", default=None)


@contextmanager
def at_most(cores: int) -> Iterator[None]:
    """Let `run_all` use no more than this many cores within the block."""
    token = core_limit.set(cores)
    try:
        yield
    finally:
        core_limit.reset(token)


def usable_cores() -> int:
    """Cores that may be used here."""
    limit = core_limit.get()
    if limit is not None:
        return limit
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """Results of all tasks, in the order of the tasks whatever the number of cores."""
    tasks = list(tasks)
    workers = min(usable_cores(), len(tasks))
    if workers <= 1:
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, tasks))


def even_ranges(size: int, parts: int) -> list[range]:
    """Cut 0 ... size - 1 into at most `parts` ranges of nearly equal length, none empty."""
    parts = min(parts, size)
    edges = [size * i // parts for i in range(parts + 1)] if parts else [0]
    return [range(a, b) for a, b in pairwise(edges)]
