"""`raytpnn fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from raytpnn.cli import flags
from raytpnn.cli.group import say
from raytpnn.cli.options import FitOptions, merge

__all__ = ["fit"]

# Options that `raytpnn.sample` has by the same names.
PASSED_ON = (
    *("out", "chains", "warmup", "draws", "thin", "seed", "target_rhat", "target_ess", "time_limit"),
    *("executor", "address", "feature_weights", "max_bins", "missing_indicators", "backend"),
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
    seed: flags.Seed = None,
    replicas: flags.Replicas = None,
    target_rhat: flags.TargetRhat = None,
    target_ess: flags.TargetEss = None,
    time_limit: flags.TimeLimit = None,
    executor: flags.Executor = None,
    address: flags.Address = None,
    workers: flags.Workers = None,
    cpus: flags.Cpus = None,
    gpus: flags.Gpus = None,
    feature_weights: flags.FeatureWeights = None,
    max_bins: flags.MaxBins = None,
    missing_indicators: flags.MissingIndicators = None,
    backend: flags.Backend = None,
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
    from raytpnn.cli.config import read_config

    return read_config(config)


def run_fit(options: FitOptions) -> None:
    """Read, sample, tell."""
    from raytpnn.cli.stop import stoppable

    assert options.out is not None
    with stoppable(options.out):
        refuse_taken(options.out)
        say(f"reading {options.data}")
        arguments = arguments_of(options)
        import raytpnn

        post = raytpnn.sample(**arguments)
    from raytpnn.cli.summary import conclude

    conclude(post, options.out, options.target_rhat, options.target_ess)


def refuse_taken(out: str) -> None:
    """Raise if there is something at `out` already."""
    from raytpnn.storage.manifest import MANIFEST
    from raytpnn.storage.place import Place

    place = Place(out)
    if place.empty():
        return
    if place.holds(MANIFEST):
        raise ValueError(
            f"{out} holds a run already: go on with it by `raytpnn resume {out}`, or choose another --out"
        )
    raise ValueError(f"{out} exists and is not empty; choose another --out")


def arguments_of(options: FitOptions) -> dict[str, Any]:
    """What `raytpnn.sample` is called with; tells the user about the data on the way."""
    from functools import partial

    from raytpnn.cli.config import settings, tempering_of
    from raytpnn.cli.note import write_note
    from raytpnn.cli.running import resources_of
    from raytpnn.cli.source import read_source

    resources = resources_of(options.executor, options.workers, options.cpus, options.gpus)
    source = read_source(options)
    say(
        f"{source.y.values.shape[0]:,} rows, {len(source.X.names):,} columns to predict {options.target!r} by"
    )
    tell_family(options, source)
    from raytpnn.chains.progress import make_reporter
    from raytpnn.engine.settings import Moves
    from raytpnn.engine.units import is_cached
    from raytpnn.model.prior import Prior
    from raytpnn.storage.place import Place

    prior, moves = settings(Prior, options.prior, "prior"), settings(Moves, options.moves, "moves")
    if options.backend != "reference" and not is_cached("joint_beta"):
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
        "tempering": tempering_of(options.tempering, options.replicas),
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
        "data": Path(str(options.data)).name,
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
