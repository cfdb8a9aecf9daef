"""`raytpnn.sample` and `raytpnn.resume`: from a table and a response to a posterior."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from raytpnn.chains.executors.ray_session import ray_is_meant
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.executors.sharding import Sharding, check_gpus_of_worker
from raytpnn.chains.observe.progress import Reporter, make_reporter
from raytpnn.chains.outcome import options_of, outcome_of
from raytpnn.chains.plan import Length, make_plan
from raytpnn.chains.run.ledger import new_ledger, read_ledger
from raytpnn.chains.run.ownership import check_free, new_run, owned, refuse_owner
from raytpnn.chains.run.run import Run
from raytpnn.chains.run.store import MemoryRun, RunStore
from raytpnn.chains.run_chains import RunSetup, connected, run_chains
from raytpnn.chains.schedule.scheduler import Finish, Goal
from raytpnn.data.response import as_offset, as_response, as_weights
from raytpnn.data.rows.rows_io import TrainingRows
from raytpnn.data.training import RoomForCodes, fit_training, training_columns
from raytpnn.draws.draws import Draws
from raytpnn.engine.backends import check_backend, local_backend
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.precompile import CompileHelper
from raytpnn.engine.rows.subset_options import resolve_subsets
from raytpnn.engine.sharded_chain import check_shards
from raytpnn.engine.tempering.options import Tempering
from raytpnn.families import get_family
from raytpnn.model.feature_weights import resolve_feature_weights
from raytpnn.model.prior import Prior
from raytpnn.options import (
    check_choices,
    check_counts,
    check_sharding,
    check_subset_of_shards,
    check_subsets,
    goal_of,
    instance_of,
    length_asked,
    limited,
)
from raytpnn.posterior.posterior import Posterior
from raytpnn.posterior.storage import load_place
from raytpnn.posterior.verdict import warn_unless_converged
from raytpnn.storage.places.place import Place

__all__ = ["resume", "sample"]

EXECUTORS = ("auto", "ray", "threads")


def sample(
    X: Any,
    y: Any,
    family: str = "gaussian",
    chains: int = 4,
    warmup: int = 1000,
    draws: int | None = None,
    thin: int | None = None,
    seed: int = 0,
    prior: Prior | None = None,
    moves: Moves | None = None,
    feature_weights: Any = None,
    max_bins: int = 255,
    backend: str = "auto",
    executor: str = "auto",
    address: str | None = None,
    tempering: Tempering | None = None,
    minibatch: int | None = None,
    delayed_acceptance: bool = False,
    shards: int = 1,
    sample_weight: Any = None,
    offset: Any = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | Reporter = False,
    target_rhat: float | None = None,
    target_ess: float | None = None,
    time_limit: float | None = None,
    missing_indicators: bool = False,
    resources: Resources | None = None,
    streaming: bool | None = None,
    max_sweeps: int | None = None,
) -> Posterior:
    """Sample the posterior of a Bayesian tensor product neural network.

    Parameters
    ----------
    X : DataFrame, array, Arrow table or path
        Rows of features. NaN is allowed; text and categories become one feature a level.
    y : (n,) or str
        Response: numbers, two classes (bernoulli) or counts (poisson); or its column of X.
    family : {"gaussian", "bernoulli", "poisson"}
    chains, warmup : int
        Independent chains; sweeps thrown away at the start of each.
    draws : int, optional
        Draws kept of each chain: just so many. Not given: chains go on until they have converged, that is,
        until R-hat is at most 1.01 and there are 400 effective draws (bulk and tail, all chains together) of
        all that users read: f at up to 64 training rows, the log-likelihood, the noise, and the importance of
        the features and components that lead (a twentieth of the total or more). K and the learned scales are
        shown, but do not decide. At least the first quarter of a chain then counts as warm-up, and later
        sweeps are thinned on the way, so that each chain has at most 1,000 draws.
    thin : int, optional
        Sweeps a draw; 1 if not given. Without `draws` that is where thinning begins: it doubles whenever a
        chain would have more than 1,000 draws.
    max_sweeps : int, optional
        Sweeps of each chain, warm-up included, after which a run without `draws` ends, converged or not;
        100,000 if not given, with more than 1,000 rows fewer, 10**8 / n, with 5,000 rows or more 20,000. It
        is no time, so that the same seed gives the same draws.
    seed : int
        The same seed gives the same draws, whatever executes them.
    prior : Prior, optional
    moves : Moves, optional
    feature_weights : None, (p,) array, "xgboost", "marginal" or "adaptive"
        How often a feature is proposed; it does not change the posterior. "adaptive" learns in warm-up from
        the features that all chains hold.
    max_bins : int
        Most distinct values kept of a feature, at most 65,535.
    backend : {"auto", "numba", "cuda", "reference"}
        Compiled, on GPUs, or the slow reference; draws are the same. "auto" is "cuda" if there is a GPU
        and CuPy (on Ray: if `resources` asks for a GPU), else "numba"; with `delayed_acceptance` always
        "numba". The CUDA backend has been compiled and run through a CPU host; it has not yet been run on a
        GPU.
    executor : {"auto", "ray", "threads"}
        Where chains run, which changes no draw. "auto" is Ray when a cluster is connected or addressed (by
        `address` or the environment variable RAY_ADDRESS), and threads of this process otherwise. "ray"
        without a cluster starts one on this machine and stops it again.
    address : str, optional
        Of a Ray cluster to join.
    tempering : Tempering, optional
        Make every chain an ensemble of replicas at powers of the likelihood, of which the draws of the cold
        one are kept; see `Posterior.tempering`.
    sample_weight, offset : (n,) or str, optional
        Weights of the rows' log-likelihoods; known part of f (log exposure for counts). Or columns of X.
    out : path or URI, optional
        Folder to keep the run in, also on s3:// and gs://. Finished blocks are written as they come: what
        ends too early can be gone on with by `raytpnn.resume`. On a Ray cluster all nodes must see it.
    progress : bool or Reporter
        Report to standard error while sampling, or to a reporter of your own.
    target_rhat, target_ess : float, optional
        Other limits than 1.01 and 400 for a run without `draws`; both have to be met. With `draws`, stop
        before the last one when those that are given are met.
    time_limit : float, optional
        Seconds after which no new block begins; what was drawn is kept.
    missing_indicators : bool
        Add a feature "x is missing" for every column with missing values.
    resources : Resources, optional
        What a worker on Ray asks for; one CPU by default.
    streaming : bool, optional
        Encode Parquet files a batch of rows at a time instead of reading them at once; if not given, when
        they would take more than half of the free memory. X may then be a folder of files. Codes of the
        rows are mapped from the run's folder, or a temporary file. See `Encoder.fit_parquet`.
    minibatch : int, optional
        Let every sweep look at a new random subset of that many rows, their log-likelihoods scaled up to all
        of them. An approximation: cost does not grow with the rows, but draws spread wider than the
        posterior, and `loglik` of a draw is the subset's estimate. What depends on the marginals of features
        stays that of all rows. With `delayed_acceptance`, the rows that proposals are screened on.
    delayed_acceptance : bool
        Screen proposals on a subset of the rows and check those that pass on all of them. The posterior stays
        exact. The size of the subset follows from the number of rows, and warm-up finds out for which moves
        it pays (never below 20,000 rows); with `minibatch` both are as asked for.
    shards : int
        Parts of the rows, 1, 2, 4, 8 or 16, that one chain works on at a time, for many rows: threads of this
        process, or workers on Ray, which then read only their rows; with backend "cuda" as many GPUs of this
        process, or on Ray of as few workers as the nodes allow. It changes no draw. With subsets each takes
        its rows of them, which must be 512 or more.

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
    prior = instance_of("prior", prior, Prior)
    moves = instance_of("moves", moves, Moves)
    if tempering is not None:
        tempering = instance_of("tempering", tempering, Tempering)
    likelihood = get_family(family)
    check_counts(chains=(chains, 1), warmup=(warmup, 0), seed=(seed, 0))
    length = length_asked(chains, warmup, draws, thin, max_sweeps)
    check_choices(prior)
    check_backend(backend)
    backend = check_subsets(minibatch, delayed_acceptance, tempering, backend)
    ways = _ways(executor, address, resources, Goal(target_rhat, target_ess, time_limit), progress)
    ways = replace(ways, goal=goal_of(ways.goal, length))
    check_shards(shards)
    backend, ways = _with_backend(backend, ways, shards)
    check_sharding(shards, backend, tempering)
    place = None if out is None else Place(out)
    if place is not None:
        check_free(place)
    with (
        CompileHelper(wanted=backend != "cuda" or shards > 1) as helper,
        new_run(place, ways.reporter.say) as lease,
        connected(ways) as session,
        RoomForCodes(None if place is None else place.path) as room,
    ):
        if place is None and session is not None:
            session.refuse_other_machines()
        begin = time.monotonic()
        X, y, sample_weight, offset = training_columns(X, y, sample_weight, offset, streaming=streaming)
        encoder, bins = fit_training(X, max_bins, missing_indicators, room, ways.executor)
        response = as_response(y, likelihood, bins.n_rows)
        weight = as_weights(sample_weight, bins.n_rows)
        shift = as_offset(offset, bins.n_rows)
        adaptive = isinstance(feature_weights, str) and feature_weights == "adaptive"
        scheme = None if adaptive else feature_weights
        proposal = resolve_feature_weights(
            scheme, bins, response.values, likelihood, encoder, sample_weight=weight
        )
        rows = TrainingRows(bins, response.values, weight, shift, proposal)
        length = limited(length, max_sweeps, bins.n_rows)
        subsets = resolve_subsets(bins.n_rows, minibatch, delayed_acceptance)
        check_subset_of_shards(bins.n_rows, subsets.rows, shards)
        plan = make_plan(
            rows, likelihood, prior, moves, seed, length, backend, adaptive, tempering, subsets, shards
        )
        config = options_of(plan, feature_weights, max_bins, minibatch, bool(delayed_acceptance))
        config |= {"encode_seconds": time.monotonic() - begin}
        config |= {"target_rhat": ways.goal.rhat, "target_ess": ways.goal.ess}
        helper.finish()
        ways.reporter.expect(length.sweeps, warmup, length.until)
        ledger = new_ledger(length)
        with _where_blocks_go(place, ways.on_ray) as folder:
            run: RunStore = MemoryRun(length)
            if folder is not None:
                run = Run.begin(folder, plan, rows, encoder, response.classes, config, room.path, lease)
            room.close()
            finish = run_chains(plan, run, ledger, encoder.labels, ways)
            config |= outcome_of(plan, ledger, finish, ways)
            run.end(config, finish.rounds, ledger.reports)
            drawn = run.draws(bins.n_features)
            if drawn is None:
                raise _nothing_drawn(finish)
            _tell_if_short(drawn, finish, length)
    posterior = Posterior(
        draws=drawn,
        encoder=encoder,
        bins=bins,
        family=likelihood,
        y=response.values,
        weight=weight,
        offset=shift,
        classes=response.classes,
        config=config,
    )
    warn_unless_converged(posterior)
    return posterior


def resume(
    run: str | os.PathLike[str],
    chains: int | None = None,
    draws: int | None = None,
    executor: str = "auto",
    address: str | None = None,
    progress: bool | Reporter = False,
    target_rhat: float | None = None,
    target_ess: float | None = None,
    time_limit: float | None = None,
    resources: Resources | None = None,
    backend: str | None = None,
    shards: int | None = None,
    max_sweeps: int | None = None,
) -> Posterior:
    """Go on with a run: the draws are those of one that was never disturbed.

    Blocks that are missing or damaged are run, the others kept.

    Parameters
    ----------
    run : path or URI
        Folder of a run that `raytpnn.sample(out=...)` or `raytpnn fit` began.
    chains, draws, max_sweeps : int, optional
        More chains, or more draws of each, than the run was begun with. A run that was begun without a number
        of draws goes on until it has converged, and can be given more sweeps instead.
    executor, address, progress, time_limit, resources
        As for `raytpnn.sample`.
    target_rhat, target_ess : float, optional
        As for `raytpnn.sample`; of a run without a number of draws, those it was begun with if not given.
    backend : str, optional
        That of the run if not given; another gives the same draws.
    shards : int, optional
        As many as the run had if not given; another number gives the same draws.

    Raises
    ------
    RunError
        If there is no run, another version began it, or its data are damaged.
    """
    ways = _ways(executor, address, resources, Goal(target_rhat, target_ess, time_limit), progress)
    place = Place(run)
    # Somebody may be preparing it.
    refuse_owner(place)
    # What is no run gets no owner.
    Run.open(place)
    with owned(place, ways.reporter.say) as lease:
        opened = Run.open(place, lease)
        opened.lengthen(chains, draws, max_sweeps)
        return _go_on(opened, ways, backend, shards)


def _go_on(
    opened: Run,
    ways: RunSetup,
    backend: str | None,
    shards: int | None,
) -> Posterior:
    """Go on with a run that this process owns."""
    told = opened.manifest["plan"]
    asked = opened.manifest["config"]
    told["shards"] = told.get("shards", 1) if shards is None else shards
    check_shards(told["shards"])
    delayed = asked.get("delayed_acceptance", False)
    backend = check_subsets(asked.get("minibatch"), delayed, None, backend or told["backend"])
    told["backend"], ways = _with_backend(backend, ways, told["shards"])
    check_sharding(told["shards"], told["backend"], told["tempering"])
    if opened.length.until:
        goal = Goal(
            ways.goal.rhat or asked.get("target_rhat"),
            ways.goal.ess or asked.get("target_ess"),
            ways.goal.seconds,
        )
        ways = replace(ways, goal=goal_of(goal, opened.length))
    rows = opened.rows()
    ledger, problems = read_ledger(opened, keep=True)
    for problem in problems:
        warnings.warn(f"{problem}; the block is run again", stacklevel=3)
    plan = opened.plan(rows)
    check_subset_of_shards(rows.bins.n_rows, plan.subsets.rows, plan.shards)
    ways.reporter.expect(plan.length.sweeps, plan.length.warmup, plan.length.until)
    opened.reopen()
    before = opened.manifest["config"].get("sampling_seconds") or 0.0
    with connected(ways) if any(ledger.to_do) else nullcontext():
        labels = opened.encoder().labels
        finish = run_chains(plan, opened, ledger, labels, ways)
    config = opened.manifest["config"] | outcome_of(plan, ledger, finish, ways)
    config["sampling_seconds"] += before
    opened.end(config, finish.rounds, ledger.reports)
    if not opened.manifest["n_draws"]:
        raise _nothing_drawn(finish)
    posterior = load_place(opened.place, contents=opened.contents)
    _tell_if_short(posterior.draws, finish, plan.length, stacklevel=4)
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


def _ways(
    executor: str, address: str | None, resources: Resources | None, goal: Goal, progress: bool | Reporter
) -> RunSetup:
    if executor not in EXECUTORS:
        raise ValueError(f"unknown executor {executor!r}; choose one of {', '.join(EXECUTORS)}")
    if address is not None and executor == "threads":
        raise ValueError(f"address={address!r} is that of a Ray cluster; executor='threads' uses none")
    if goal.rhat is not None and not goal.rhat > 1.0:
        raise ValueError(f"target_rhat must be above 1, got {goal.rhat!r}")
    for name, value in (("target_ess", goal.ess), ("time_limit", goal.seconds)):
        if value is not None and not value > 0:
            unit = " of seconds" if name == "time_limit" else ""
            raise ValueError(f"{name} must be a positive number{unit}, got {value!r}")
    return RunSetup(
        executor="ray" if ray_is_meant(executor, address) else "threads",
        address=address,
        resources=instance_of("resources", resources, Resources),
        goal=goal,
        reporter=make_reporter(progress),
    )


def _with_backend(backend: str, ways: RunSetup, shards: int) -> tuple[str, RunSetup]:
    """Backend that is meant where the chains run, and what workers must ask for to have it."""
    if not ways.on_ray:
        return local_backend(backend, shards), ways
    gpus = ways.resources.gpus
    if backend == "auto" and gpus > 0.0:
        backend = "cuda"
    if shards > 1:
        if backend == "cuda":
            check_gpus_of_worker(shards, gpus)
        return backend, replace(ways, sharding=Sharding(shards, backend == "cuda"))
    if backend != "cuda":
        return backend, ways
    if gpus > 1.0:
        raise ValueError(f"a worker runs its chains on one GPU: resources.gpus can be at most 1, got {gpus}")
    return backend, replace(ways, resources=replace(ways.resources, gpus=gpus or 1.0))


def _nothing_drawn(finish: Finish) -> BaseException:
    """Error of a run that ended in warm-up."""
    if finish.stopped == "interrupt":
        return KeyboardInterrupt("interrupted before the first draw: there is no posterior yet")
    return ValueError("the time limit ended the run before its first draw; give it more time")


def _tell_if_short(drawn: Draws, finish: Finish, length: Length, stacklevel: int = 3) -> None:
    """Warn if there are fewer draws than were asked for."""
    if finish.stopped in ("interrupt", "time limit"):
        counts = [int(np.sum(drawn.chain == chain)) for chain in range(length.chains)]
        asked = f" of {length.draws}" if length.draws is not None else ""
        warnings.warn(
            f"stopped by {finish.stopped}: kept {counts} draws{asked} for each chain", stacklevel=stacklevel
        )
