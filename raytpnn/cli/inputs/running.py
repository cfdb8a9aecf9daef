"""Where the chains of `fit` and `resume` run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from raytpnn.cli.inputs.options import WorkerFlags

if TYPE_CHECKING:
    from raytpnn.chains.executors.resources import Resources

__all__ = ["resources_of"]


def resources_of(executor: str, options: WorkerFlags) -> Resources | None:
    """What workers ask for; None for threads, of which there are then `workers`.

    Raises
    ------
    ValueError
        If something is asked for that the executor does not have.
    """
    from raytpnn.chains.executors.resources import Resources

    workers, cpus, gpus, wait = options["workers"], options["cpus"], options["gpus"], options["wait"]
    if executor == "threads":
        for flag, value in (("--cpus", cpus), ("--gpus", gpus)):
            if value is not None:
                raise ValueError(f"{flag} {value:g} is asked of Ray; with --executor threads leave it out")
        if wait:
            raise ValueError("--wait waits for nodes of Ray; with --executor threads leave it out")
        if workers is not None:
            os.environ["RAYTPNN_THREADS"] = str(workers)
        return None
    return Resources(
        workers=workers,
        cpus=1.0 if cpus is None else cpus,
        gpus=0.0 if gpus is None else gpus,
        wait=wait,
    )
