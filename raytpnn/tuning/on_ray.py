"""The race on Ray Tune: a setting is a trial, a step is what it reports, and a scheduler pauses and stops."""

from __future__ import annotations

import io
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from ray import tune
from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from raytpnn.chains.schedule.signals import Interrupts
from raytpnn.tuning.outcome import Outcome, Problem, take_step
from raytpnn.tuning.race import Race
from raytpnn.tuning.settings import Setting

__all__ = ["Stopped", "run_race"]

# Ray Tune's own loggers, signal handler and reports are not wanted: files, signals and words are ours.
SURROUNDINGS = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
}

# Workers of one trial that may die one after the other, without a step between, before it is given up.
MOST_DEATHS = 4


class Stopped(Exception):
    """A step that failed: what went wrong, as it was told there."""


class Runner(tune.Trainable):
    """Takes steps of a setting; a worker that has done with one goes on with another."""

    def setup(self, config: dict[str, Any], problem: Problem | None = None, settings: Any = None) -> None:
        """Take over what all settings share, and the first setting."""
        self.problem, self.settings = problem, settings
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Go on with another setting, or with the same at a later step."""
        at = new_config["at"]
        self.setting, self.next_step, self.replicas = at["setting"], at["step"], at["replicas"]
        self.cpus = new_config["cpus"]
        return True

    def step(self) -> dict[str, Any]:
        """Do one fit. An error is told, not raised: Ray Tune repeats what raises, for nodes that die."""
        from raytpnn.parallel.threads import at_most

        assert self.problem is not None
        own = self.settings[self.setting]
        os.environ["RAYTPNN_THREADS"] = str(self.cpus)
        try:
            with at_most(self.cpus):
                outcome = take_step(self.problem, own, self.next_step, self.replicas)
        except Exception as problem:
            return {"step": self.next_step, "error": f"{type(problem).__name__}: {problem}"}
        self.replicas = outcome.replicas
        self.next_step += 1
        return {"step": self.next_step - 1, "outcome": outcome.to_json()}


class NotKept:
    """Part of a search that Ray Tune must not keep in files of its own: ours say all that is needed."""

    def __reduce__(self) -> tuple[Any, ...]:
        return object, ()

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class Rungs(NotKept, FIFOScheduler):
    """Pauses a trial until all others have taken the same step; then the race says who goes on.

    Parameters
    ----------
    race : Race
    note : callable
        Given setting, step and Outcome of every step that is done.
    enough : callable
        Whether to begin nothing new.
    """

    _supports_buffered_results = False

    def __init__(
        self, race: Race, note: Callable[[int, int, Outcome], None], enough: Callable[[], bool]
    ) -> None:
        super().__init__()
        self.race, self.note, self.enough = race, note, enough
        self.problem: str | None = None
        # What went wrong here, and not at a step.
        self.failure: Exception | None = None
        self.replicas: dict[int, int] = {}
        self.seen: set[str] = set()
        self.deaths: dict[str, int] = {}

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """Have a trial wait that has taken the step at hand already, in a search that was interrupted."""
        # A trial whose node died is added again.
        new = trial.trial_id not in self.seen
        self.seen.add(trial.trial_id)
        # Ray Tune asks for the folder of every trial at its end, also of those that were never started.
        trial.init_local_path()
        if new and self.race.wants(trial.config["at"]["setting"]) is None:
            trial.set_status(Trial.PAUSED)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Have a trial whose worker died go on where it was; give up where none stays alive."""
        self.deaths[trial.trial_id] = self.deaths.get(trial.trial_id, 0) + 1
        if self.deaths[trial.trial_id] > MOST_DEATHS:
            self.problem = f"its workers died {MOST_DEATHS + 1} times in a row: {last_line(trial)}"
        self.set_step(trial, self.race.taken(trial.config["at"]["setting"]))

    def set_step(self, trial: Trial, step: int) -> None:
        """Say where a trial goes on."""
        setting = trial.config["at"]["setting"]
        at = {"setting": setting, "step": step, "replicas": self.replicas.get(setting, 0)}
        trial.set_config(trial.config | {"at": at})

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Take note of a step, and say what the trial does next."""
        if "error" in result:
            self.problem = self.problem or result["error"]
            return TrialScheduler.STOP
        self.deaths.pop(trial.trial_id, None)
        setting = trial.config["at"]["setting"]
        outcome = Outcome.from_json(result["outcome"])
        self.replicas[setting] = outcome.replicas
        try:
            self.note(setting, result["step"], outcome)
        except Exception as problem:
            # Ray Tune would take it for a fault of the worker, and repeat the step.
            self.failure, self.problem = problem, str(problem)
            return TrialScheduler.STOP
        if self.enough() or not self.race.waits(setting):
            return TrialScheduler.STOP
        if self.race.wants(setting) is not None:
            return TrialScheduler.CONTINUE
        # Nothing is saved for the pause: where it goes on stands in its config, see below.
        tune_controller.pause_trial(trial, should_checkpoint=False)
        return TrialScheduler.NOOP

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        """Clear away who dropped out, and wake up who has a step to take."""
        chosen = None
        for trial in list(tune_controller.get_trials()):
            if trial.status not in (Trial.PENDING, Trial.PAUSED):
                continue
            setting = trial.config["at"]["setting"]
            if self.problem is not None or self.enough() or not self.race.waits(setting):
                tune_controller.stop_trial(trial)
            elif chosen is None:
                step = self.race.wants(setting)
                if step is not None:
                    if trial.status == Trial.PAUSED:
                        self.set_step(trial, step)
                    chosen = trial
        return chosen


class Limits(NotKept, tune.Stopper):
    """Ends the whole search: at an error, at a second interrupt, or when nothing more shall begin.

    Parameters
    ----------
    scheduler : Rungs
    at_once : callable
        Whether not to wait for the steps at hand.
    """

    def __init__(self, scheduler: Rungs, at_once: Callable[[], bool]) -> None:
        self.scheduler, self.at_once = scheduler, at_once

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """Trials are stopped by the scheduler."""
        return False

    def stop_all(self) -> bool:
        """Whether to end it now."""
        return self.scheduler.problem is not None or self.at_once()


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
        Given setting, step and Outcome of every step; it tells the race.
    replicas : dict of int to int
        Of the last ensemble of settings that have one.
    cpus : int
        That a trial asks for.
    time_limit : float or None
        Seconds after which no step begins.
    say : callable

    Returns
    -------
    str
        Why it ended: "complete", "interrupt" or "time limit".

    Raises
    ------
    Stopped
        If a step failed.
    """
    begin = time.monotonic()
    told: list[str] = []
    note, say = aloud(note), aloud(say)
    folder = tempfile.TemporaryDirectory(prefix="raytpnn-tune-")
    with Interrupts() as interrupts, surroundings(), folder as path:

        def enough() -> bool:
            if interrupts.count and not told:
                told.append("interrupt")
                say("interrupt: finishing the fits at hand; once more to stop at once")
            late = time_limit is not None and time.monotonic() - begin > time_limit
            return bool(interrupts.count) or late

        scheduler = Rungs(race, note, enough)
        scheduler.replicas = dict(replicas)
        left = [
            {"setting": i, "step": race.taken(i), "replicas": replicas.get(i, 0)}
            for i in range(len(settings))
            if race.waits(i)
        ]
        trainable = tune.with_parameters(Runner, problem=problem, settings=settings)
        tuner = tuner_of(trainable, left, cpus, scheduler, lambda: interrupts.count > 1, path)
        # Ray Tune prints about trials whatever it is told; what we say passes.
        with redirect_stdout(io.StringIO()):
            tuner.fit()
        if scheduler.failure is not None:
            raise scheduler.failure
        if scheduler.problem is not None:
            raise Stopped(scheduler.problem)
        if race.finished:
            return "complete"
        return "interrupt" if interrupts.count else "time limit"


def tuner_of(
    trainable: Any,
    left: list[dict[str, int]],
    cpus: int,
    scheduler: Rungs,
    at_once: Callable[[], bool],
    folder: str,
) -> tune.Tuner:
    """Tuner of the settings that are left, whose own files go to a folder."""
    return tune.Tuner(
        tune.with_resources(trainable, {"cpu": cpus}),
        param_space={"at": tune.grid_search(left), "cpus": cpus},
        tune_config=tune.TuneConfig(
            scheduler=scheduler,
            reuse_actors=True,
            trial_name_creator=lambda trial: trial.trial_id,
            trial_dirname_creator=lambda trial: trial.trial_id,
        ),
        run_config=tune.RunConfig(
            name="search",
            storage_path=folder,
            stop=Limits(scheduler, at_once),
            checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
            # Workers that die are counted by the scheduler.
            failure_config=tune.FailureConfig(max_failures=-1),
            verbose=0,
        ),
    )


def aloud(function: Callable[..., None]) -> Callable[..., None]:
    """Function that prints where one prints now, whatever happens to standard output later."""
    console = sys.stdout

    def call(*args: Any) -> None:
        with redirect_stdout(console):
            function(*args)

    return call


def last_line(trial: Trial) -> str:
    """What was said of the error that a trial had last."""
    try:
        with open(str(trial.error_file)) as file:
            lines = [line.strip() for line in file if line.strip()]
    except OSError:
        lines = []
    return lines[-1] if lines else "no more is known"


@contextmanager
def surroundings() -> Iterator[None]:
    """Environment variables and a quiet log of Ray Tune, for a while; what the user set stays."""
    ours = {name: value for name, value in SURROUNDINGS.items() if name not in os.environ}
    os.environ.update(ours)
    logger = logging.getLogger("ray.tune")
    level = logger.level
    # It tells of files that we neither want nor write.
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        for name in ours:
            os.environ.pop(name, None)
