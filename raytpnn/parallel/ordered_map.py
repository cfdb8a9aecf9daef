"""One function over many tasks, results in the order of the tasks: in threads here, or on Ray."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from raytpnn.parallel import ray_tasks
from raytpnn.parallel.threads import usable_cores

__all__ = ["EXECUTORS", "TASKS_PER_CORE", "in_order", "on_ray"]

EXECUTORS = ("auto", "ray", "threads")
# Tasks under way for each core of a cluster: one that runs and one that waits, so that no core is idle.
TASKS_PER_CORE = 2
# Results that may wait on Ray, unless more are asked for: they are some megabytes each.
MOST_AHEAD = 64

Task = TypeVar("Task")
Result = TypeVar("Result")


def on_ray(executor: str) -> bool:
    """Whether tasks go to Ray: asked for, or ("auto") a cluster is connected.

    Raises
    ------
    ValueError
        If there is no such executor, or Ray is asked for and not connected.
    """
    if executor not in EXECUTORS:
        raise ValueError(f"unknown executor {executor!r}; choose one of {', '.join(EXECUTORS)}")
    connected = ray_tasks.ray_is_connected()
    if executor == "ray" and not connected:
        raise ValueError("executor='ray' needs a connection to Ray: call ray.init() first")
    return executor != "threads" and connected


def in_order(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    executor: str = "auto",
    workers: int | None = None,
    or_here: bool = False,
) -> Iterator[Result]:
    """Results of all tasks, in order; only a few are under way or wait at a time.

    Parameters
    ----------
    work : callable
        For Ray, it and the tasks must be picklable. It is put into the object store once.
    tasks : sequence
    executor : {"auto", "ray", "threads"}
    workers : int, optional
        Threads, or tasks at a time on Ray; by the number of cores if not given.
    or_here : bool
        Do a task in this process, with a warning, if the node of Ray it ran on does not see its files.
    """
    if on_ray(executor):
        yield from _on_ray(work, tasks, workers, or_here)
        return
    workers = min(workers or usable_cores(), len(tasks))
    if workers <= 1:
        yield from map(work, tasks)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="raytpnn-pieces")
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _on_ray(
    work: Callable[[Task], Result], tasks: Sequence[Task], workers: int | None, or_here: bool
) -> Iterator[Result]:
    """`in_order` on the Ray that is connected."""
    import ray

    start = ray_tasks.task_starter(_call, work)
    ahead = workers or min(max(2, TASKS_PER_CORE * ray_tasks.cluster_cores()), MOST_AHEAD)
    result = result_or_run_here if or_here else _there
    waiting: deque[tuple[Task, Any]] = deque()
    try:
        for task in tasks:
            waiting.append((task, start(task)))
            if len(waiting) >= ahead:
                yield result(work, *waiting.popleft())
        while waiting:
            yield result(work, *waiting.popleft())
    finally:
        for _, unfinished in waiting:
            ray.cancel(unfinished)


def _call(work: Callable[[Task], Result], task: Task) -> Result:
    return work(task)


def _there(work: Callable[[Task], Result], task: Task, reference: Any) -> Result:
    return ray_tasks.result_of(reference)


def result_or_run_here(work: Callable[[Task], Result], task: Task, reference: Any) -> Result:
    """Result of a Ray task, worked out here if the node it ran on does not see the files."""
    try:
        return ray_tasks.result_of(reference)
    except FileNotFoundError as problem:
        result = work(task)
        # One warning, not one per task: Python shows the same text from the same line once.
        warnings.warn(
            f"a node of the cluster does not see the data ({problem}); what it should have done is done in "
            "this process. Put the files where all nodes see them",
            stacklevel=2,
        )
        return result
