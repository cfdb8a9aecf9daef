"""Fits of a cross-validation, done one after the other here, or as tasks on Ray: with the same results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from raytpnn.chains.executors.ray_session import RaySession
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.observe.progress import Reporter
from raytpnn.parallel.ray_tasks import cpus_per_task, result_of, task_starter
from raytpnn.validation.cases import Cases
from raytpnn.validation.task import Fit, Task, fit_one

__all__ = ["fits_on_ray", "fits_on_threads"]


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
        cpus = cpus_per_task(len(tasks), int(options.get("chains", 4)))
        # A fit that dies with its node is done again, as often as it takes.
        start = task_starter(partial(fit_there, options=options, seed=seed), cases, cpus, retries=-1)
        waiting = {start(task): task for task in tasks}
        try:
            while waiting:
                (done,), _ = ray.wait(list(waiting), num_returns=1)
                yield waiting.pop(done), Fit.from_json(result_of(done))
        finally:
            for unfinished in waiting:
                ray.cancel(unfinished)


def fit_there(cases: Cases, task: Task, options: dict[str, Any], seed: int) -> str:
    """Do one fit in a worker of Ray."""
    return fit_one(cases, task, options, seed).to_json()
