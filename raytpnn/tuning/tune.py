"""`raytpnn.tune`: a search over settings of the prior."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.chains.executors.ray_session import RaySession
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.observe.progress import Reporter, make_reporter
from raytpnn.chains.run.ownership import kept_work
from raytpnn.data.response import as_offset, as_response, as_weights
from raytpnn.data.tables.tables import as_table
from raytpnn.engine.moves.options import Moves
from raytpnn.families import get_family
from raytpnn.model.prior import Prior
from raytpnn.storage.places.place import Place
from raytpnn.tuning.outcome import EVIDENCE, METRICS, Outcome, Problem
from raytpnn.tuning.presets import preset_of
from raytpnn.tuning.progress import SearchProgress
from raytpnn.tuning.race import Race
from raytpnn.tuning.result import Tuning
from raytpnn.tuning.saved_steps import SavedSteps
from raytpnn.tuning.settings import Setting, expand, settings_of
from raytpnn.validation.cases import Cases
from raytpnn.validation.cross_validate import feature_weights_by_row, tasks_of
from raytpnn.validation.results import fingerprint
from raytpnn.validation.splits import Scheme

if TYPE_CHECKING:
    from raytpnn.data.gene_symbols import Annotation

__all__ = ["Space", "tune", "tune_cases"]

Space = str | Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]]
# Options of `raytpnn.sample` that every fit is given.
PASSED_ON = ("thin", "feature_weights", "max_bins", "backend", "missing_indicators")
CRITERIA = ("cv", EVIDENCE)


def tune(
    X: Any,
    y: Any,
    family: str = "gaussian",
    space: Space = "default",
    trials: int | None = None,
    criterion: str = "cv",
    metric: str | None = None,
    folds: int = 5,
    keep: float = 0.5,
    chains: int = 2,
    warmup: int = 500,
    draws: int = 500,
    seed: int = 0,
    prior: Prior | None = None,
    moves: Moves | None = None,
    replicas: int | None = None,
    sample_weight: Any = None,
    offset: Any = None,
    preparation: dict[str, Any] | None = None,
    annotation: Annotation | None = None,
    out: str | os.PathLike[str] | None = None,
    address: str | None = None,
    time_limit: float | None = None,
    progress: bool | Reporter = False,
    wait: bool = False,
    **options: Any,
) -> Tuning:
    """Search for the prior that predicts rows held out best, or has the largest evidence, on Ray.

    All settings take the first fold; the better half of them takes the second, and so on (`keep`). Folds are
    stratified for two classes and everything, encoding included, is learned in their training parts. What is
    found depends on the seed, not on how many workers there are or who is done first.

    Parameters
    ----------
    X, y, family, sample_weight, offset
        As for `raytpnn.sample`; X may be an Expression.
    space : str, mapping or list of mappings
        A preset ("default", "scales", "paper", "paper-full"); values by field of `Prior` or `Moves`, all
        combined, as {"C0": [0.001, 0.01], "K_max": [50, 100]}; or settings one by one.
    trials : int, optional
        Of a larger space, sample so many settings by the seed. The base is tried in addition.
    criterion : {"cv", "evidence"}
        Score of rows held out; or the log evidence of all rows, by ensembles of replicas from the prior to
        the posterior. Of two priors for the same rows and response, evidences can be compared.
    metric : str, optional
        Of cross-validation: "nll" (minus the log predictive density per row, the default), "rmse" or "crps"
        for gaussian; "nll", "auroc", "ece" or "error" for bernoulli; "nll", "deviance" or "crps" for poisson.
    folds : int
        Of cross-validation.
    keep : float
        Share of the settings that goes on after a step; 1 stops nothing early.
    chains, warmup, draws : int
        Of every fit. By evidence, there are `chains` steps of one ensemble each.
    seed : int
        Of the sample of settings, the folds and the chains.
    prior, moves : optional
        The base, which the space changes; it is setting 0, and never stopped early.
    replicas : int, optional
        By evidence: replicas of an ensemble. As many as the barrier wants, if not given.
    preparation, annotation
        As for `raytpnn.cross_validate`.
    out : path or URI, optional
        Folder; finished steps are saved there and not done again. Of a search that is repeated with another
        metric, preset, `trials` or `keep`, what is known is taken over. One process at a time works on it.
    address : str, optional
        Of a Ray cluster; without one, that which is connected, or one started on this machine.
    time_limit : float, optional
        Seconds after which no fit begins.
    progress : bool or Reporter
    wait : bool
        Wait for nodes with CPUs to join, where there are none at present.
    **options
        thin, feature_weights, max_bins, backend and missing_indicators of `raytpnn.sample`.

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
    likelihood = get_family(family)
    table = as_table(X)
    n = table.n_rows
    cases = Cases(
        table=table,
        y=as_response(y, likelihood, n),
        family=likelihood.name,
        weight=None if sample_weight is None else as_weights(sample_weight, n),
        offset=None if offset is None else as_offset(offset, n),
        preparation=preparation,
        annotation=annotation or table.annotation,
    )
    own = {"chains": chains, "warmup": warmup, "draws": draws} | options
    base = Setting(prior or Prior(), moves or Moves())
    return tune_cases(
        cases,
        space,
        trials,
        base,
        own,
        seed,
        None if out is None else Place(out),
        address,
        time_limit,
        make_reporter(progress),
        criterion=criterion,
        metric=metric,
        folds=folds,
        keep=keep,
        replicas=replicas,
        wait=wait,
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
    metric = check(cases.family, criterion, metric, folds, keep, trials, seed, options, time_limit)
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


def check(
    family: str,
    criterion: str,
    metric: str | None,
    folds: Any,
    keep: float,
    trials: Any,
    seed: Any,
    options: dict[str, Any],
    time_limit: float | None,
) -> str:
    """Raise for what cannot be used; the metric that is meant."""
    if criterion not in CRITERIA:
        raise ValueError(f"unknown criterion {criterion!r}; choose one of {', '.join(CRITERIA)}")
    if criterion == EVIDENCE:
        if metric not in (None, EVIDENCE):
            raise ValueError(f"metric={metric!r} is one of cross-validation; the evidence is its own")
        metric = EVIDENCE
    elif metric is None:
        metric = METRICS[family][0]
    elif metric not in METRICS[family]:
        raise ValueError(
            f"family {family} has no metric {metric!r}; choose one of {', '.join(METRICS[family])}"
        )
    counts = {"folds": (folds, 2), "chains": (options["chains"], 1), "seed": (seed, 0)}
    if trials is not None:
        counts["trials"] = (trials, 1)
    for name, (value, least) in counts.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name} must be a whole number, {least} or more, got {value!r}")
    if not 0.0 < keep <= 1.0:
        raise ValueError(f"keep must be above 0 and at most 1, got {keep!r}")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit must be a positive number of seconds, got {time_limit!r}")
    unknown = sorted(set(options) - {*PASSED_ON, "chains", "warmup", "draws"})
    if unknown:
        raise ValueError(
            f"tune has no option {', '.join(map(repr, unknown))}; for the fits there are "
            f"{', '.join(PASSED_ON)}"
        )
    wrong = feature_weights_by_row(options.get("feature_weights"))
    if wrong:
        raise ValueError(wrong)
    return metric
