"""`raytpnn.sample` and `raytpnn.resume`: from a table and a response to a posterior."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from raytpnn.chains.executors.ray_session import ray_is_meant
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.executors.sharding import Sharding, check_gpus_of_worker
from raytpnn.chains.observe.progress import make_reporter
from raytpnn.chains.outcome import outcome_of, settings_of
from raytpnn.chains.plan import Length, make_plan
from raytpnn.chains.run.ledger import new_ledger, read_ledger
from raytpnn.chains.run.ownership import check_free, new_run, owned, refuse_owner
from raytpnn.chains.run.run import Run
from raytpnn.chains.run.store import MemoryRun, RunStore
from raytpnn.chains.run_chains import RunSetup, connected, run_chains
from raytpnn.chains.schedule.scheduler import Finish, Goal
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.response import as_offset, as_response, as_weights
from raytpnn.data.rows.rows_io import TrainingRows
from raytpnn.data.survival import InIntervals, Intervals
from raytpnn.data.tables.streamed_table import StreamedTable
from raytpnn.data.tables.tables import Table
from raytpnn.data.training import RoomForCodes, fit_training, training_columns
from raytpnn.draws.draws import Draws
from raytpnn.engine.backends import local_backend
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.precompile import CompileHelper
from raytpnn.engine.rows.subset_options import resolve_subsets
from raytpnn.engine.sharded_chain import check_shards
from raytpnn.engine.tempering.options import Tempering
from raytpnn.families import Family, get_family
from raytpnn.model.feature_weights import LEARNED, is_screened, resolve_feature_weights
from raytpnn.model.prior import Prior
from raytpnn.options.checks import (
    check_outputs,
    check_seed,
    check_sharding,
    check_subset_of_shards,
    check_subsets,
    goal_of,
    instance_of,
    length_asked,
    limited,
)
from raytpnn.options.definition import RESUME, SAMPLE, ResumeOptions, RunOptions, SampleOptions
from raytpnn.posterior.kinds import posterior_kind
from raytpnn.posterior.posterior import Posterior
from raytpnn.posterior.storage import load_place
from raytpnn.posterior.verdict import warn_unless_converged
from raytpnn.storage.checks import named
from raytpnn.storage.formats.manifest import MANIFEST
from raytpnn.storage.places.place import Place

__all__ = ["resume", "sample"]


@SAMPLE.describe
def sample(X: Any, y: Any, **options: Unpack[SampleOptions]) -> Posterior:
    """Sample the posterior of a Bayesian tensor product neural network.

    Parameters
    ----------
    X : DataFrame, array, Arrow table or path
        Rows of features. NaN is allowed; each level of text and categories becomes a 0/1 feature.
    y : (n,), str, or (n, 2)
        Response: numbers, two classes (bernoulli) or counts (poisson); or its column of X. Of times until an
        event (survival, weibull): a structured array of scikit-survival, two columns (time, event), or the
        names of two columns of X.
    **options
        Those of `raytpnn.options.definition.SampleOptions`.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError
        If an option, a column or a value cannot be used; the message names it.
    KeyboardInterrupt
        If interrupted before the first draw. Later, what was drawn is returned with a warning.

    Warns
    -----
    ConvergenceWarning
        If the chains have not converged, whatever ended them; `Posterior.verdict` says what to do.
    """
    asked = SAMPLE.filled(options, "sample")
    prior = instance_of("prior", asked["prior"], Prior)
    moves = instance_of("moves", asked["moves"], Moves)
    tempering, shards, max_sweeps = asked["tempering"], asked["shards"], asked["max_sweeps"]
    if tempering is not None:
        tempering = instance_of("tempering", tempering, Tempering)
    likelihood = get_family(asked["family"])
    check_seed(asked["seed"])
    length = length_asked(asked["chains"], asked["warmup"], asked["draws"], asked["thin"], max_sweeps)
    minibatch, delayed_acceptance = asked["minibatch"], asked["delayed_acceptance"]
    backend = check_subsets(minibatch, delayed_acceptance, tempering, asked["backend"])
    backend = check_outputs(likelihood, asked, backend)
    setup = _setup(asked)
    setup = replace(setup, goal=goal_of(setup.goal, length))
    check_shards(shards)
    backend, setup = _with_backend(backend, setup, shards)
    check_sharding(shards, backend, tempering)
    place = None if asked["out"] is None else Place(asked["out"])
    if place is not None:
        check_free(place)
    with (
        CompileHelper(wanted=backend != "cuda" or shards > 1) as helper,
        new_run(place, setup.reporter.say) as lease,
        connected(setup) as session,
        RoomForCodes(None if place is None else place.path) as room,
    ):
        if place is None and session is not None:
            session.refuse_other_machines()
        begin = time.monotonic()
        learned = asked["feature_weights"]
        scheme = None if isinstance(learned, str) and learned in LEARNED else learned
        rows, encoder, classes, known = _training_rows(X, y, asked, likelihood, scheme, room, setup.executor)
        likelihood = likelihood.with_classes(classes)
        n_rows = rows.bins.n_rows
        screened = (
            scheme is None
            and likelihood.n_outputs == 1
            and is_screened(learned, n_rows, rows.bins.n_features)
        )
        length = limited(length, max_sweeps, n_rows)
        subsets = resolve_subsets(n_rows, minibatch, delayed_acceptance)
        check_subset_of_shards(n_rows, subsets.rows, shards)
        plan = make_plan(
            rows,
            likelihood,
            prior,
            moves,
            asked["seed"],
            length,
            backend,
            scheme is None and learned == "adaptive",
            tempering,
            subsets,
            shards,
            screened,
        )
        config = SAMPLE.saved(asked) | settings_of(plan)
        config |= {"encode_seconds": time.monotonic() - begin}
        config |= {"target_rhat": setup.goal.rhat, "target_ess": setup.goal.ess}
        config |= names_of(X, y) | known
        helper.finish()
        setup.reporter.expect(length.sweeps, length.warmup, length.until)
        ledger = new_ledger(length)
        with _where_blocks_go(place, setup.on_ray) as folder:
            run: RunStore = MemoryRun(length)
            if folder is not None:
                run = Run.begin(folder, plan, rows, encoder, classes, config, room.path, lease)
            room.close()
            finish = run_chains(plan, run, ledger, encoder.labels, setup)
            config |= outcome_of(plan, ledger, finish, setup)
            run.end(config, finish.rounds, ledger.reports)
            drawn = run.draws(rows.bins.n_features)
            if drawn is None:
                raise _nothing_drawn(finish)
            _warn_if_short(drawn, finish, length)
    posterior = posterior_kind(likelihood)(
        draws=drawn,
        encoder=encoder,
        bins=rows.bins,
        family=likelihood,
        y=rows.y,
        weight=rows.weight,
        offset=rows.offset,
        classes=classes,
        config=config,
    )
    setup.reporter.conclude(lambda: posterior.verdict().headline)
    warn_unless_converged(posterior)
    return posterior


def names_of(X: Any, y: Any) -> dict[str, str]:
    """What the response and the data are called, as far as they say: for people, in the report."""
    names = {}
    target = y if isinstance(y, str) else getattr(y, "name", None)
    if isinstance(target, str) and target:
        names["target_name"] = target
    if isinstance(X, (str, os.PathLike)):
        names["data_name"] = os.path.basename(os.fspath(X))
    return names


def _training_rows(
    X: Any,
    y: Any,
    asked: SampleOptions,
    family: Family,
    scheme: Any,
    room: RoomForCodes,
    executor: str,
) -> tuple[TrainingRows, Encoder, tuple[Any, Any] | None, dict[str, Any]]:
    """Read and encode what a model is fitted to; then the two classes, if any, and what a run is to keep."""
    pair = family.censored and isinstance(y, (tuple, list)) and all(isinstance(name, str) for name in y)
    columns = tuple(y) if pair else (y,)
    X, sample_weight, offset, *found = training_columns(
        X, asked["sample_weight"], asked["offset"], *columns, streaming=asked["streaming"]
    )
    y = tuple(found) if pair else found[0]
    if family.in_intervals:
        return _rows_in_intervals(X, y, sample_weight, offset, asked, family, scheme, room, executor)
    encoder, bins = fit_training(X, asked["max_bins"], asked["missing_indicators"], room, executor)
    response = as_response(y, family, bins.n_rows)
    weight = as_weights(sample_weight, bins.n_rows)
    shift = as_offset(offset, bins.n_rows)
    target = family.pilot(response.values, 0.0 * shift)
    proposal = resolve_feature_weights(scheme, bins, target, family, encoder, sample_weight=weight)
    return TrainingRows(bins, response.values, weight, shift, proposal), encoder, response.classes, {}


def _rows_in_intervals(
    X: Table,
    y: Any,
    sample_weight: Any,
    offset: Any,
    asked: SampleOptions,
    family: Family,
    scheme: Any,
    room: RoomForCodes,
    executor: str,
) -> tuple[TrainingRows, Encoder, None, dict[str, Any]]:
    """`_training_rows` of a family whose rows are intervals of persons' time."""
    if isinstance(X, StreamedTable):
        raise ValueError(
            f"family {family.name!r} cuts persons into intervals, which is not done a batch at a time; take "
            "family 'weibull', or streaming=False"
        )
    times = as_response(y, family, X.n_rows).values
    intervals = Intervals.of(times, X.names)
    person, interval, watched = intervals.cut(times)
    table = InIntervals(X, intervals, person, interval)
    encoder, bins = fit_training(table, asked["max_bins"], asked["missing_indicators"], room, executor)
    weight = as_weights(sample_weight, X.n_rows)[person]
    shift = as_offset(offset, X.n_rows)[person]
    target = (watched > 0.0).astype(np.float64)
    proposal = resolve_feature_weights(scheme, bins, target, family, encoder, sample_weight=weight)
    rows = TrainingRows(bins, watched, weight, shift, proposal)
    return rows, encoder, None, {"intervals": intervals.to_json()}


@RESUME.describe
def resume(run: str | os.PathLike[str], **options: Unpack[ResumeOptions]) -> Posterior:
    """Go on with a run: the draws are those of one that was never disturbed.

    Blocks that are missing or damaged are run, the others kept. A run that was begun without a number of
    draws keeps its targets if none are given.

    Parameters
    ----------
    run : path or URI
        Folder of a run that `raytpnn.sample(out=...)` or `raytpnn fit` began.
    **options
        Those of `raytpnn.options.definition.ResumeOptions`.

    Raises
    ------
    RunError
        If there is no run, another version began it, or its data are damaged.
    """
    asked = RESUME.filled(options, "resume")
    setup = _setup(asked)
    place = Place(run)
    # Somebody may be preparing it.
    refuse_owner(place)
    # What is no run gets no owner.
    Run.open(place)
    with owned(place, setup.reporter.say) as lease:
        opened = Run.open(place, lease)
        opened.lengthen(asked["chains"], asked["draws"], asked["max_sweeps"])
        return _go_on(opened, setup, asked["backend"], asked["shards"])


def _go_on(
    opened: Run,
    setup: RunSetup,
    backend: str | None,
    shards: int | None,
) -> Posterior:
    """Go on with a run that this process owns."""
    stored = opened.manifest["plan"]
    asked = opened.manifest["config"]
    stored["shards"] = stored.get("shards", 1) if shards is None else shards
    check_shards(stored["shards"])
    delayed = asked.get("delayed_acceptance", False)
    backend = check_subsets(asked.get("minibatch"), delayed, None, backend or stored["backend"])
    with named(opened.place.name_of(MANIFEST)):
        family = get_family(opened.manifest["family"])
    backend = check_outputs(family, {"shards": stored["shards"]}, backend)
    stored["backend"], setup = _with_backend(backend, setup, stored["shards"])
    check_sharding(stored["shards"], stored["backend"], stored["tempering"])
    if opened.length.until:
        goal = Goal(
            setup.goal.rhat or asked.get("target_rhat"),
            setup.goal.ess or asked.get("target_ess"),
            setup.goal.seconds,
        )
        setup = replace(setup, goal=goal_of(goal, opened.length))
    rows = opened.rows()
    ledger, problems = read_ledger(opened, keep=True)
    for problem in problems:
        warnings.warn(f"{problem}; the block is run again", stacklevel=3)
    plan = opened.plan(rows)
    check_subset_of_shards(rows.bins.n_rows, plan.subsets.rows, plan.shards)
    setup.reporter.expect(plan.length.sweeps, plan.length.warmup, plan.length.until)
    opened.reopen()
    before = opened.manifest["config"].get("sampling_seconds") or 0.0
    with connected(setup) if any(ledger.to_do) else nullcontext():
        labels = opened.encoder().labels
        finish = run_chains(plan, opened, ledger, labels, setup)
    config = opened.manifest["config"] | outcome_of(plan, ledger, finish, setup)
    config["sampling_seconds"] += before
    opened.end(config, finish.rounds, ledger.reports)
    if not opened.manifest["n_draws"]:
        raise _nothing_drawn(finish)
    posterior = load_place(opened.place, contents=opened.contents)
    _warn_if_short(posterior.draws, finish, plan.length, stacklevel=4)
    setup.reporter.conclude(lambda: posterior.verdict().headline)
    warn_unless_converged(posterior)
    return posterior


@contextmanager
def _where_blocks_go(place: Place | None, on_ray: bool) -> Iterator[Place | None]:
    """Folder of the run: the user's; on Ray without one, a folder for the time of the run."""
    if place is not None or not on_ray:
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="raytpnn-", ignore_cleanup_errors=True) as folder:
        yield Place(os.path.join(folder, "run"))


def _setup(asked: RunOptions) -> RunSetup:
    """Where the chains run, and when they stop."""
    executor, address = asked["executor"], asked["address"]
    if address is not None and executor == "threads":
        raise ValueError(f"address={address!r} is that of a Ray cluster; executor='threads' uses none")
    return RunSetup(
        executor="ray" if ray_is_meant(executor, address) else "threads",
        address=address,
        resources=instance_of("resources", asked["resources"], Resources),
        goal=Goal(asked["target_rhat"], asked["target_ess"], asked["time_limit"]),
        reporter=make_reporter(asked["progress"]),
    )


def _with_backend(backend: str, setup: RunSetup, shards: int) -> tuple[str, RunSetup]:
    """Backend that is meant where the chains run, and what workers must ask for to have it."""
    if not setup.on_ray:
        return local_backend(backend, shards), setup
    gpus = setup.resources.gpus
    if backend == "auto" and gpus > 0.0:
        backend = "cuda"
    if shards > 1:
        if backend == "cuda":
            check_gpus_of_worker(shards, gpus)
        return backend, replace(setup, sharding=Sharding(shards, backend == "cuda"))
    if backend != "cuda":
        return backend, setup
    if gpus > 1.0:
        raise ValueError(f"a worker runs its chains on one GPU: resources.gpus can be at most 1, got {gpus}")
    return backend, replace(setup, resources=replace(setup.resources, gpus=gpus or 1.0))


def _nothing_drawn(finish: Finish) -> BaseException:
    """Error of a run that ended in warm-up."""
    if finish.stopped == "interrupt":
        return KeyboardInterrupt("interrupted before the first draw: there is no posterior yet")
    return ValueError("the time limit ended the run before its first draw; give it more time")


def _warn_if_short(drawn: Draws, finish: Finish, length: Length, stacklevel: int = 3) -> None:
    """Warn if there are fewer draws than were asked for."""
    if finish.stopped not in ("interrupt", "time limit"):
        return
    counts = [int(np.sum(drawn.chain == chain)) for chain in range(length.chains)]
    if length.draws is not None and min(counts) >= length.draws:
        return
    asked = f" of {length.draws}" if length.draws is not None else ""
    warnings.warn(
        f"stopped by {finish.stopped}: kept {counts} draws{asked} for each chain", stacklevel=stacklevel
    )
