"""`raytpnn.tune`: a search over settings of the prior."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from raytpnn.chains.executors.ray_session import RaySession
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.observe.progress import Reporter, make_reporter
from raytpnn.chains.run.ownership import kept_work
from raytpnn.engine.moves.options import Moves
from raytpnn.families import get_family
from raytpnn.model.prior import Prior
from raytpnn.options.definition import OF_SEARCH, SHORTER, TUNE, TuneOptions
from raytpnn.storage.places.place import Place
from raytpnn.tuning.outcome import DEFAULT_METRIC, EVIDENCE, Outcome, Problem
from raytpnn.tuning.presets import preset_of
from raytpnn.tuning.progress import SearchProgress
from raytpnn.tuning.race import Race
from raytpnn.tuning.result import Tuning
from raytpnn.tuning.saved_steps import SavedSteps
from raytpnn.tuning.settings import Setting, expand, settings_of
from raytpnn.validation.cases import Cases
from raytpnn.validation.cross_validate import cases_of, feature_weights_by_row, tasks_of
from raytpnn.validation.results import fingerprint
from raytpnn.validation.splits import Scheme

__all__ = ["Space", "tune", "tune_cases"]

Space = str | Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]]


@TUNE.describe
def tune(X: Any, y: Any, **options: Unpack[TuneOptions]) -> Tuning:
    """Search for the prior that predicts rows held out best, or has the largest evidence, on Ray.

    All settings take the first fold; the better half of them takes the second, and so on (`keep`). Folds are
    stratified for two classes and everything, encoding included, is learned in their training parts. What is
    found depends on the seed, not on how many workers there are or who is done first. `prior` and `moves` are
    the base, which the space changes; it is setting 0, and never stopped early. By evidence, there are
    `chains` steps of one ensemble each.

    Parameters
    ----------
    X, y
        As for `raytpnn.sample`; X may be an Expression.
    **options
        Those of `raytpnn.options.definition.TuneOptions`.

    Returns
    -------
    Tuning

    Raises
    ------
    ValueError
        If an option or a value cannot be used, or `out` holds another search.
    RunError
        If somebody else works on `out`; the message says who.
    """
    asked = TUNE.filled(options, "tune")
    given = {name: value for name, value in {**SHORTER, **options}.items() if name in OF_SEARCH}
    return tune_cases(
        cases_of(X, y, get_family(asked["family"]), asked),
        asked["space"],
        asked["trials"],
        Setting(asked["prior"] or Prior(), asked["moves"] or Moves()),
        given,
        asked["seed"],
        None if asked["out"] is None else Place(asked["out"]),
        asked["address"],
        asked["time_limit"],
        make_reporter(asked["progress"]),
        criterion=asked["criterion"],
        metric=asked["metric"],
        folds=asked["folds"],
        keep=asked["keep"],
        replicas=asked["replicas"],
        wait=asked["wait"],
    )


def tune_cases(
    cases: Cases,
    space: Space,
    trials: int | None,
    base: Setting,
    options: dict[str, Any],
    seed: int,
    place: Place | None,
    address: str | None,
    time_limit: float | None,
    reporter: Reporter,
    criterion: str = "cv",
    metric: str | None = None,
    folds: int = 5,
    keep: float = 0.5,
    replicas: int | None = None,
    wait: bool = False,
) -> Tuning:
    """`tune` of checked data."""
    metric = check(cases.family, criterion, metric, keep, options)
    changes, trials = changes_of(space, base, cases, trials, options)
    settings = settings_of(base, changes, trials, seed)
    if len(settings) < 2:
        raise ValueError("there is nothing to choose from: the space has no setting but the base")
    steps = folds if criterion == "cv" else int(options["chains"])
    # Of ensembles only the seeds are used.
    scheme = Scheme(folds, 1) if criterion == "cv" else Scheme(0, steps)
    problem = Problem(cases, tasks_of(cases, scheme, 0, seed), criterion, options, seed, replicas)
    counted = options | {"criterion": criterion, "replicas": replicas}
    if criterion == EVIDENCE:
        # More ensembles are an addition, not another search.
        counted, scheme = {name: counted[name] for name in counted if name != "chains"}, Scheme(0, 1)
    mark = {
        "fingerprint": fingerprint(cases, scheme, counted, seed),
        "criterion": criterion,
        "steps": steps,
        "seed": seed,
        "family": cases.family,
        "rows": cases.table.n_rows,
    }
    if place is not None:
        # What is no folder of this search gets no owner.
        SavedSteps.check(place, mark)
    with kept_work(place, reporter.say) as lease:
        saved = SavedSteps(place, settings, mark, lease)
        race = Race(len(settings), steps, keep)
        printed = SearchProgress(reporter.say, race, criterion, metric)
        printed.begin(settings)
        done = sorted(saved.outcomes.items(), key=lambda item: (item[0][1], item[0][0]))
        for (setting, step), outcome in done:
            race.add(setting, step, outcome.loss(metric))
        printed.resume(len(saved.outcomes))
        stopped = "complete"
        if not race.finished:
            there = RaySession(address, Resources(wait=wait), reporter)
            stopped = run(race, problem, settings, saved, printed, metric, there, time_limit)
    return Tuning(settings, race, saved.outcomes, criterion, metric, stopped)


def run(
    race: Race,
    problem: Problem,
    settings: list[Setting],
    saved: SavedSteps,
    printed: SearchProgress,
    metric: str,
    session: RaySession,
    time_limit: float | None,
) -> str:
    """Do the steps that are left on Ray; why it ended."""
    from raytpnn.engine.precompile import compile_all
    from raytpnn.parallel.ray_tasks import cpus_per_task
    from raytpnn.tuning.on_ray import FitError, run_race

    replicas = {setting: outcome.replicas for (setting, _), outcome in sorted(saved.outcomes.items())}

    def note(setting: int, step: int, outcome: Outcome) -> None:
        saved.add(setting, step, outcome)
        race.add(setting, step, outcome.loss(metric))
        printed.note(outcome)

    with session:
        # Else every worker would compile for itself.
        compile_all()
        chains = 1 if problem.criterion == EVIDENCE else int(problem.options["chains"])
        printed.start = time.monotonic()
        cpus = cpus_per_task(len(race.alive), chains)
        try:
            return run_race(race, problem, settings, note, replicas, cpus, time_limit, session.reporter.say)
        except FitError as failure:
            raise ValueError(f"a fit of the search failed: {failure}") from None


def changes_of(
    space: Space, base: Setting, cases: Cases, trials: int | None, options: dict[str, Any]
) -> tuple[list[dict[str, Any]], int | None]:
    """Changes that a space makes to the base, and how many of them to try."""
    if not isinstance(space, str):
        return expand(space), trials
    preset = preset_of(space)
    from raytpnn.data.encoding.encoder import Encoder

    # The presets go by the rule of the prior, which knows the number of features. Fits encode for themselves.
    rows = np.arange(cases.table.n_rows)
    given = {name: options[name] for name in ("max_bins", "missing_indicators") if name in options}
    _, bins = Encoder.fit(cases.training(rows, cases.y.values)["X"], **given)
    resolved = base.prior.resolved(len(rows), bins.n_features, cases.family)
    changes = expand(preset.space(replace(base.prior), resolved, cases.family))
    return changes, preset.trials if trials is None else trials


def check(family: str, criterion: str, metric: str | None, keep: float, options: dict[str, Any]) -> str:
    """Raise for what cannot be used; the metric that is meant."""
    if criterion == EVIDENCE:
        if metric not in (None, EVIDENCE):
            raise ValueError(f"metric={metric!r} is one of cross-validation; the evidence is its own")
        metric = EVIDENCE
    elif metric is None:
        metric = DEFAULT_METRIC
    elif metric not in get_family(family).scores:
        listed = sorted(get_family(family).scores, key=lambda name: name != DEFAULT_METRIC)
        raise ValueError(f"family {family} has no metric {metric!r}; choose one of {', '.join(listed)}")
    if not 0.0 < keep <= 1.0:
        raise ValueError(f"keep must be above 0 and at most 1, got {keep!r}")
    wrong = feature_weights_by_row(options.get("feature_weights"))
    if wrong:
        raise ValueError(wrong)
    return metric
