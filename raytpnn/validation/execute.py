"""Fits of a cross-validation, done one after the other here, or as tasks on Ray: with the same results."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from raytpnn.chains.executors.ray_session import RaySession
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.observe.progress import Reporter
from raytpnn.validation.cases import Cases
from raytpnn.validation.task import Fit, Task, fit_one

__all__ = ["fits_on_ray", "fits_on_threads"]

# The cases that this worker process used last, by the reference they came by.
used_last: dict[str, Cases] = {}


def fits_on_threads(
    cases: Cases, tasks: Sequence[Task], options: dict[str, Any], seed: int
) -> Iterator[tuple[Task, Fit]]:
    """Do fits one after the other; the chains of each are spread over the cores."""
    for task in tasks:
        yield task, fit_one(cases, task, options, seed)


def fits_on_ray(
    cases: Cases,
    tasks: Sequence[Task],
    options: dict[str, Any],
    seed: int,
    address: str | None,
    reporter: Reporter,
) -> Iterator[tuple[Task, Fit]]:
    """Do fits as Ray tasks, in the order in which they end.

    The data are put into the object store once. A task asks for one CPU, or, if there are more CPUs than
    fits, for several, on which its chains run side by side.
    """
    from raytpnn.engine.precompile import compile_all

    with RaySession(address, Resources(), reporter):
        import ray

        # Else every worker would compile for itself.
        compile_all()
        cpus = cpus_a_task(ray, len(tasks), int(options.get("chains", 4)))
        reference = [ray.put(cases)]
        # A fit that dies with its node is done again, as often as it takes.
        remote = ray.remote(num_cpus=cpus, max_retries=-1)(fit_there)
        waiting = {remote.remote(reference, task, options, seed, cpus): task for task in tasks}
        try:
            while waiting:
                (done,), _ = ray.wait(list(waiting), num_returns=1)
                task = waiting.pop(done)
                yield task, result_of(ray, done)
        finally:
            for unfinished in waiting:
                ray.cancel(unfinished)


def cpus_a_task(ray: Any, tasks: int, chains: int) -> int:
    """CPUs for each task: all of them shared out, at most one a chain, and no more than a node has."""
    nodes = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    return max(1, min(sum(nodes) // max(tasks, 1), chains, max(nodes, default=1)))


def result_of(ray: Any, reference: Any) -> Fit:
    """Result of a task; an error in it is raised as if it had happened here."""
    try:
        return Fit.from_json(ray.get(reference))
    except ray.exceptions.RayTaskError as problem:
        raise (problem.cause if isinstance(problem.cause, Exception) else problem) from None


def fit_there(reference: list[Any], task: Task, options: dict[str, Any], seed: int, cpus: int) -> str:
    """Do one fit in a worker of Ray."""
    import ray

    from raytpnn.parallel.threads import at_most

    key = reference[0].hex()
    if key not in used_last:
        used_last.clear()
        used_last[key] = ray.get(reference[0])
    before = os.environ.get("RAYTPNN_THREADS")
    os.environ["RAYTPNN_THREADS"] = str(cpus)
    try:
        with at_most(cpus):
            return fit_one(used_last[key], task, options, seed).to_json()
    finally:
        if before is None:
            del os.environ["RAYTPNN_THREADS"]
        else:
            os.environ["RAYTPNN_THREADS"] = before
