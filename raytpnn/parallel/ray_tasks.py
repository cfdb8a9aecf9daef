"""Ray tasks that share something large, each held to the CPUs it asks for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from raytpnn.parallel.threads import at_most

__all__ = ["cluster_cores", "cpus_per_task", "node_address", "ray_is_connected", "result_of", "task_starter"]

# What this worker process was given last to share, by the reference it came by.
used_last: dict[str, Any] = {}

Task = TypeVar("Task")
Result = TypeVar("Result")


def ray_is_connected() -> bool:
    """Whether this process is connected to Ray; Ray is not imported to find out."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()


def task_starter(
    work: Callable[[Any, Task], Result], shared: Any, cpus: int = 1, retries: int = 3
) -> Callable[[Task], Any]:
    """Function that starts work(shared, task) as a Ray task, and returns the reference of its result.

    What is shared is put into the object store once, and fetched once by every worker process.

    Parameters
    ----------
    work : callable
        Picklable, as the tasks are.
    shared : object
    cpus : int
        That a task asks for, and that the threads it starts share.
    retries : int
        Times a task is done again whose worker died; -1 is as often as it takes.
    """
    import ray

    # In a list, so that Ray hands on the reference and not what it stands for.
    reference = [ray.put(shared)]
    remote: Any = ray.remote(num_cpus=cpus, max_retries=retries)(run_task)
    return lambda task: remote.remote(work, reference, task, cpus)


def run_task(work: Callable[[Any, Task], Result], reference: list[Any], task: Task, cpus: int) -> Result:
    """What a Ray task does."""
    import ray

    key = reference[0].hex()
    if key not in used_last:
        used_last.clear()
        used_last[key] = ray.get(reference[0])
    before = os.environ.get("RAYTPNN_THREADS")
    os.environ["RAYTPNN_THREADS"] = str(cpus)
    try:
        with at_most(cpus):
            return work(used_last[key], task)
    finally:
        if before is None:
            del os.environ["RAYTPNN_THREADS"]
        else:
            os.environ["RAYTPNN_THREADS"] = before


def result_of(reference: Any) -> Any:
    """Result of a Ray task; an error in it is raised as if it had happened here."""
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as problem:
        raise (problem.cause if isinstance(problem.cause, Exception) else problem) from None


def cluster_cores() -> int:
    """CPUs of the cluster, at least 1."""
    import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def cpus_per_task(tasks: int, most: int) -> int:
    """CPUs for each of so many tasks: all are shared out, at most `most`, and no more than a node has."""
    import ray

    nodes = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    return max(1, min(sum(nodes) // max(tasks, 1), most, max(nodes, default=1)))


def node_address() -> str:
    """Address of the node of the cluster that this process is on."""
    import ray

    return ray.util.get_node_ip_address()
