"""`raytpnn fit`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from raytpnn.cli.group import say
from raytpnn.cli.inputs import flags
from raytpnn.cli.inputs.options import FitOptions, merge
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    from raytpnn.cli.inputs.source import Source

__all__ = ["fit"]

# Options that `raytpnn.sample` has by the same names.
PASSED_ON = (
    *("out", "chains", "warmup", "draws", "thin", "max_sweeps", "seed"),
    *("target_rhat", "target_ess", "time_limit"),
    *("executor", "address", "feature_weights", "max_bins", "missing_indicators", "backend"),
    *("minibatch", "delayed_acceptance", "shards"),
)


def fit(
    data: flags.Data = None,
    target: flags.Target = None,
    out: flags.Out = None,
    config: flags.Config = None,
    family: flags.FamilyName = None,
    positive: flags.Positive = None,
    weights: flags.Weights = None,
    offset: flags.Offset = None,
    drop: flags.Drop = None,
    samples: flags.Samples = None,
    layer: flags.Layer = None,
    orientation: flags.Orientation = None,
    annotation: flags.AnnotationFile = None,
    log2: flags.Log2 = None,
    min_sd: flags.MinSd = None,
    collapse: flags.Collapse = None,
    covariates: flags.Covariates = None,
    chains: flags.Chains = None,
    warmup: flags.Warmup = None,
    draws: flags.NumberOfDraws = None,
    thin: flags.Thin = None,
    max_sweeps: flags.MaxSweeps = None,
    seed: flags.Seed = None,
    replicas: flags.Replicas = None,
    spread: flags.Spread = None,
    shards: flags.Shards = None,
    cv: flags.CrossValidation = None,
    splits: flags.Splits = None,
    permute: flags.Permute = None,
    target_rhat: flags.TargetRhat = None,
    target_ess: flags.TargetEss = None,
    time_limit: flags.TimeLimit = None,
    executor: flags.Executor = None,
    address: flags.Address = None,
    workers: flags.Workers = None,
    cpus: flags.Cpus = None,
    gpus: flags.Gpus = None,
    wait: flags.Wait = None,
    feature_weights: flags.FeatureWeights = None,
    max_bins: flags.MaxBins = None,
    missing_indicators: flags.MissingIndicators = None,
    streaming: flags.Streaming = None,
    backend: flags.Backend = None,
    minibatch: flags.Minibatch = None,
    delayed_acceptance: flags.DelayedAcceptance = None,
) -> None:
    """Sample the posterior of a model of TARGET given all other columns of DATA, and keep it in OUT.

    Runs on Ray: on one started on this machine, or on the cluster that --address or RAY_ADDRESS names. Ctrl-C
    finishes the blocks at hand and saves, a second one stops at once; `raytpnn resume` goes on with either.
    """
    given = dict(locals())
    options = merge(given, {} if config is None else read(config))
    for name, value in (("DATA", options.data), ("--target", options.target), ("--out", options.out)):
        if value is None:
            raise typer.BadParameter("it is needed, here or in the config file", param_hint=name)
    run_fit(options)


def read(config: Path) -> dict[str, Any]:
    """Options of a config file."""
    from raytpnn.cli.inputs.config import read_config

    return read_config(config)


def run_fit(options: FitOptions) -> None:
    """Read, sample, validate if asked to, tell."""
    from raytpnn.chains.run.ownership import refuse_owner
    from raytpnn.cli.commands.validate import check_validation, fitted_before, tell_validation, validate
    from raytpnn.cli.screen.stop import stoppable
    from raytpnn.storage.places.place import Place

    assert options.out is not None
    result = None
    with stoppable(options.out):
        scheme = check_validation(options)
        before = scheme is not None and fitted_before(options)
        if before:
            refuse_owner(Place(options.out), resumes=False)
        else:
            refuse_taken(options.out)
        say(f"reading {options.data}")
        source = told_source(options)
        import raytpnn
        from raytpnn.posterior.verdict import quiet

        with quiet(), one_ray(options):
            if before:
                say(f"{options.out} holds the fit already: going on with the cross-validation")
                post = raytpnn.load(options.out)
            else:
                post = raytpnn.sample(**arguments_of(options, source))
            if scheme is not None and post.config["stopped"] != "interrupt":
                result = validate(options, source, scheme)
    if result is not None:
        tell_validation(result, options.out)
    from raytpnn.cli.screen.summary import conclude

    conclude(post, options.out, options.target_rhat, options.target_ess)


def one_ray(options: FitOptions) -> AbstractContextManager[Any]:
    """One session of Ray for the fit and the cross-validation; the fit alone has its own."""
    from raytpnn.chains.executors.ray_session import RaySession, ray_is_meant
    from raytpnn.chains.observe.progress import make_reporter
    from raytpnn.cli.inputs.running import resources_of

    validated = options.cv is not None or options.splits is not None
    if not validated or not ray_is_meant(options.executor, options.address):
        return nullcontext()
    resources = resources_of(options.executor, options.workers, options.cpus, options.gpus, options.wait)
    assert resources is not None
    return RaySession(options.address, resources, make_reporter(True))


def refuse_taken(out: str) -> None:
    """Raise if there is something at `out` already, or somebody works there."""
    from raytpnn.chains.run.ownership import check_free
    from raytpnn.storage.places.place import Place

    try:
        check_free(Place(out), "another --out")
    except FileExistsError as problem:
        raise ValueError(str(problem)) from None


def told_source(options: FitOptions) -> Source:
    """Read the data, and tell the user about them."""
    from raytpnn.cli.inputs.source import read_source
    from raytpnn.data.tables.streamed_table import StreamedTable

    source = read_source(options)
    if isinstance(source.X, StreamedTable):
        say("the rows are read a batch at a time")
    say(
        f"{source.y.values.shape[0]:,} rows, {len(source.X.names):,} columns to predict {options.target!r} by"
    )
    tell_family(options, source)
    return source


def arguments_of(options: FitOptions, source: Source) -> dict[str, Any]:
    """What `raytpnn.sample` is called with."""
    from functools import partial

    from raytpnn.cli.inputs.config import settings, tempering_of
    from raytpnn.cli.inputs.running import resources_of
    from raytpnn.cli.note import write_note

    resources = resources_of(options.executor, options.workers, options.cpus, options.gpus, options.wait)
    from raytpnn.chains.observe.progress import make_reporter
    from raytpnn.engine.moves.options import Moves
    from raytpnn.engine.precompile import is_cached
    from raytpnn.model.prior import Prior
    from raytpnn.storage.places.place import Place

    prior, moves = settings(Prior, options.prior, "prior"), settings(Moves, options.moves, "moves")
    if options.backend not in ("reference", "cuda") and not is_cached("joint_beta"):
        say("compiling the sampler: once on a machine, which takes a while")
    assert options.out is not None
    reporter: Any = make_reporter(True)
    reporter.when_begun = partial(write_note, Place(options.out), note_of(options, source))
    return {name: getattr(options, name) for name in PASSED_ON} | {
        "X": source.X,
        "y": source.y,
        "family": source.family,
        "sample_weight": source.weight,
        "offset": source.offset,
        "prior": prior,
        "moves": moves,
        "tempering": tempering_of(options.tempering, options.replicas, options.spread),
        "progress": reporter,
        "resources": resources,
    }


def tell_family(options: FitOptions, source: Any) -> None:
    """Say which family it is, and what a 1 stands for."""
    if source.reason:
        hint = "" if "--family" in source.reason else " (--family decides otherwise)"
        say(f"family {source.family}: {source.reason}{hint}")
    else:
        say(f"family {source.family}")
    if source.y.classes is not None:
        zero, one = source.y.classes
        hint = "" if options.positive is not None else f" (--positive {zero} turns it round)"
        say(f"modelling the probability of {options.target} = {one}{hint}")


def note_of(options: FitOptions, source: Any) -> dict[str, Any]:
    """What later commands want to know about this one."""
    from raytpnn import __version__

    return {
        "command": "fit",
        "raytpnn": __version__,
        "data": Path(shown(str(options.data))).name,
        "target": options.target,
        "weights": options.weights,
        "offset": options.offset,
        "drop": options.drop,
        "adjustment": source.adjustment,
        "family_reason": source.reason,
        "executor": options.executor,
        "target_rhat": options.target_rhat,
        "target_ess": options.target_ess,
    }
