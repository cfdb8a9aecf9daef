"""The race on Ray: each step of a setting is a task."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from raytpnn.chains.schedule.signals import Interrupts
from raytpnn.parallel.ordered_map import TASKS_PER_CORE
from raytpnn.parallel.ray_tasks import cluster_cores, result_of, task_starter
from raytpnn.tuning.outcome import Outcome, Problem, take_step
from raytpnn.tuning.race import Race
from raytpnn.tuning.settings import Setting

__all__ = ["FitError", "run_race"]

# Workers that may die at one step before the search is given up.
MOST_DEATHS = 4
# Seconds between two looks at interrupts and the time limit.
LOOK_EVERY = 0.5


class FitError(Exception):
    """A fit of the search failed; the message is the fit's own."""


def run_race(
    race: Race,
    problem: Problem,
    settings: list[Setting],
    note: Callable[[int, int, Outcome], None],
    replicas: dict[int, int],
    cpus: int,
    time_limit: float | None,
    say: Callable[[str], None],
) -> str:
    """Run what is left of a race, on the Ray that is connected.

    Parameters
    ----------
    race : Race
        It knows what is done already.
    problem : Problem
    settings : list of Setting
    note : callable
        Given setting, step and Outcome of every step; it adds the loss to the race.
    replicas : dict of int to int
        Size of the last ensemble, for settings that have one.
    cpus : int
        That a task asks for.
    time_limit : float or None
        Seconds after which no step begins.
    say : callable

    Returns
    -------
    str
        Why it ended: "complete", "interrupt" or "time limit".

    Raises
    ------
    FitError
        If a step failed.
    """
    import ray

    begin = time.monotonic()
    replicas = dict(replicas)
    start = task_starter(step_there, (problem, settings), cpus, MOST_DEATHS)
    # Setting and step by the reference of the task, in the order in which they were begun.
    waiting: dict[Any, tuple[int, int]] = {}
    stopped = ""
    with Interrupts() as interrupts:
        try:
            while True:
                room = max(1, cluster_cores() // cpus)
                late = time_limit is not None and time.monotonic() - begin > time_limit
                if not stopped and (interrupts.count or late):
                    stopped = "interrupt" if interrupts.count else "time limit"
                    if interrupts.count:
                        say("interrupt: finishing the fits at hand; once more to stop at once")
                    # Those that wait for a core.
                    for reference in list(waiting)[room:]:
                        del waiting[reference]
                        ray.cancel(reference)
                if not stopped:
                    free = max(0, TASKS_PER_CORE * room - len(waiting))
                    for setting, step in wanted(race, waiting.values())[:free]:
                        waiting[start((setting, step, replicas.get(setting, 0)))] = setting, step
                if not waiting or interrupts.count > 1:
                    break
                done, _ = ray.wait(list(waiting), timeout=LOOK_EVERY)
                for reference in done:
                    setting, step = waiting.pop(reference)
                    outcome = outcome_of(reference)
                    replicas[setting] = outcome.replicas
                    note(setting, step, outcome)
        finally:
            for reference in waiting:
                ray.cancel(reference)
    return "complete" if race.finished else stopped


def wanted(race: Race, busy: Any) -> list[tuple[int, int]]:
    """Settings that may take a step now and take none, each with the step; early steps first."""
    taking = {setting for setting, _ in busy}
    steps = [(step, i) for i in race.alive if i not in taking and (step := race.wants(i)) is not None]
    return [(i, step) for step, i in sorted(steps)]


def step_there(shared: tuple[Problem, list[Setting]], task: tuple[int, int, int]) -> str:
    """Do one fit in a worker of Ray."""
    problem, settings = shared
    setting, step, replicas = task
    return take_step(problem, settings[setting], step, replicas).to_json()


def outcome_of(reference: Any) -> Outcome:
    """Outcome of a step that was done; FitError if it failed."""
    import ray

    try:
        return Outcome.from_json(result_of(reference))
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as death:
        reason = " ".join(str(death).split())
        raise FitError(f"its workers died {MOST_DEATHS + 1} times in a row: {reason}") from None
    except Exception as failure:
        raise FitError(f"{type(failure).__name__}: {failure}") from None
