"""One function over many tasks, results in the order of the tasks: in threads here, or on Ray."""

from __future__ import annotations

import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = [
    "EXECUTORS",
    "in_order",
    "node_address",
    "on_ray",
    "ray_is_connected",
    "result_of",
    "shared_in_order",
]

EXECUTORS = ("auto", "ray", "threads")
# Tasks under way a core of a cluster: one that runs and one that waits, so that no core is idle.
TASKS_A_CORE = 2
# Results that may wait on Ray: they are some megabytes each.
MOST_AHEAD = 64

# What this worker process was given last by `shared_in_order`, by the reference it came by.
used_last: dict[str, Any] = {}

Task = TypeVar("Task")
Result = TypeVar("Result")


def ray_is_connected() -> bool:
    """Whether this process is connected to Ray; Ray is not imported to find out."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()


def on_ray(executor: str) -> bool:
    """Whether tasks go to Ray: asked for, or ("auto") a cluster is connected.

    Raises
    ------
    ValueError
        If there is no such executor, or Ray is asked for and not connected.
    """
    if executor not in EXECUTORS:
        raise ValueError(f"unknown executor {executor!r}; choose one of {', '.join(EXECUTORS)}")
    if executor == "ray" and not ray_is_connected():
        raise ValueError("executor='ray' needs a connection to Ray: call ray.init() first")
    return executor != "threads" and ray_is_connected()


def in_order(
    work: Callable[[Task], Result], tasks: Sequence[Task], executor: str = "auto", workers: int | None = None
) -> Iterator[Result]:
    """Results of all tasks, in order; only a few are under way or wait at a time.

    Parameters
    ----------
    work : callable
        For Ray, it and the tasks must be picklable.
    tasks : sequence
    executor : {"auto", "ray", "threads"}
    workers : int, optional
        Threads, or tasks at a time on Ray; as many as there are cores if not given.
    """
    if on_ray(executor):
        yield from _on_ray(work, tasks, workers)
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(workers or cores, len(tasks))
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


def _on_ray(work: Callable[[Task], Result], tasks: Sequence[Task], workers: int | None) -> Iterator[Result]:
    """`in_order` on the Ray that is connected."""
    import ray

    # Put once: it may hold an encoder.
    shared = ray.put(work)
    remote: Any = ray.remote(num_cpus=1)(_run)
    cores = int(ray.cluster_resources().get("CPU", 1))
    ahead = workers or min(max(2, TASKS_A_CORE * cores), MOST_AHEAD)
    waiting: deque[tuple[Task, Any]] = deque()
    try:
        for task in tasks:
            waiting.append((task, remote.remote(shared, task)))
            if len(waiting) >= ahead:
                yield result_or_run_here(work, *waiting.popleft())
        while waiting:
            yield result_or_run_here(work, *waiting.popleft())
    finally:
        for _, unfinished in waiting:
            ray.cancel(unfinished)


def _run(work: Callable[[Task], Result], task: Task) -> Result:
    """What a Ray task does."""
    return work(task)


def result_or_run_here(work: Callable[[Task], Result], task: Task, reference: Any) -> Result:
    """Result of a Ray task, worked out here if the node it ran on does not see the files."""
    try:
        return result_of(reference)
    except FileNotFoundError as problem:
        result = work(task)
        # One warning, not one a task: Python shows the same text from the same line once.
        warnings.warn(
            f"a node of the cluster does not see the data ({problem}); what it should have done is done in "
            "this process. Put the files where all nodes see them",
            stacklevel=2,
        )
        return result


def result_of(reference: Any) -> Any:
    """Result of a Ray task; an error in it is raised as if it had happened here."""
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as problem:
        raise (problem.cause if isinstance(problem.cause, Exception) else problem) from None


def shared_in_order(
    work: Callable[[Any, Task], Result], shared: Any, tasks: Sequence[Task], tasks_a_core: int = TASKS_A_CORE
) -> Iterator[Result]:
    """Results of work(shared, task) as Ray tasks, in order.

    What is shared is put into the object store once. Only a few results wait there at a time: a task starts
    when an earlier result has been taken.

    Parameters
    ----------
    work : callable
        Picklable, as the tasks are.
    shared : object
    tasks : sequence
    tasks_a_core : int
        Tasks under way at a time, for every core of the cluster.
    """
    import ray

    # In a list, so that Ray hands on the reference and a worker fetches what is shared once, not once a task.
    reference = [ray.put(shared)]
    remote: Any = ray.remote(num_cpus=1)(_run_shared)
    at_a_time = max(2, tasks_a_core * int(ray.cluster_resources().get("CPU", 1)))
    waiting: deque[Any] = deque()
    try:
        for task in tasks:
            waiting.append(remote.remote(work, reference, task))
            if len(waiting) >= at_a_time:
                yield result_of(waiting.popleft())
        while waiting:
            yield result_of(waiting.popleft())
    finally:
        for unfinished in waiting:
            ray.cancel(unfinished)


def _run_shared(work: Callable[[Any, Task], Result], reference: list[Any], task: Task) -> Result:
    """What a Ray task of `shared_in_order` does."""
    import ray

    key = reference[0].hex()
    if key not in used_last:
        used_last.clear()
        used_last[key] = ray.get(reference[0])
    return work(used_last[key], task)


def node_address() -> str:
    """Address of the node of the cluster that this process is on."""
    import ray

    return ray.util.get_node_ip_address()
