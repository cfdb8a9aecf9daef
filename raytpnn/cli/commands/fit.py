"""`raytpnn fit`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from raytpnn.cli.group import say
from raytpnn.cli.inputs.flags import with_flags
from raytpnn.cli.inputs.options import FIT, FitFlags
from raytpnn.options.definition import SAMPLE
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    from raytpnn.cli.inputs.source import Source

__all__ = ["fit"]


@with_flags(FIT)
def fit(**given: Unpack[FitFlags]) -> None:
    """Sample the posterior of a model of TARGET given all other columns of DATA, and keep it in OUT.

    Runs on Ray: on one started on this machine, or on the cluster that --address or RAY_ADDRESS names. Ctrl-C
    finishes the blocks at hand and saves, a second one stops at once; `raytpnn resume` goes on with either.
    """
    from raytpnn.cli.inputs.config import fit_options

    run_fit(fit_options(given))


def run_fit(options: FitFlags) -> None:
    """Read, sample, validate if asked to, tell."""
    from raytpnn.chains.run.ownership import refuse_owner
    from raytpnn.cli.inputs.validate import check_validation, fitted_before, tell_validation, validate
    from raytpnn.cli.screen.stop import stoppable
    from raytpnn.storage.places.place import Place

    out = str(options["out"])
    result = None
    with stoppable(out):
        scheme = check_validation(options)
        before = scheme is not None and fitted_before(options)
        if before:
            refuse_owner(Place(out), resumes=False)
        else:
            refuse_taken(out)
        say(f"reading {options['data']}")
        source = told_source(options)
        import raytpnn
        from raytpnn.posterior.verdict import quiet

        with quiet(), one_ray(options):
            if before:
                say(f"{out} holds the fit already: going on with the cross-validation")
                post = raytpnn.load(out)
            else:
                post = raytpnn.sample(**arguments_of(options, source))
            if scheme is not None and post.config["stopped"] != "interrupt":
                result = validate(options, source, scheme)
    if result is not None:
        tell_validation(result, out)
    from raytpnn.cli.screen.summary import conclude

    conclude(post, out, options["target_rhat"], options["target_ess"])


def one_ray(options: FitFlags) -> AbstractContextManager[Any]:
    """One session of Ray for the fit and the cross-validation; the fit alone has its own."""
    from raytpnn.chains.executors.ray_session import RaySession, ray_is_meant
    from raytpnn.chains.observe.progress import make_reporter
    from raytpnn.cli.inputs.running import resources_of

    validated = options["cv"] is not None or options["splits"] is not None
    if not validated or not ray_is_meant(options["executor"], options["address"]):
        return nullcontext()
    resources = resources_of(options["executor"], options)
    assert resources is not None
    return RaySession(options["address"], resources, make_reporter(True))


def refuse_taken(out: str) -> None:
    """Raise if there is something at `out` already, or somebody works there."""
    from raytpnn.chains.run.ownership import check_free
    from raytpnn.storage.places.place import Place

    try:
        check_free(Place(out), "another --out")
    except FileExistsError as problem:
        raise ValueError(str(problem)) from None


def told_source(options: FitFlags) -> Source:
    """Read the data, and tell the user about them."""
    from raytpnn.cli.inputs.source import read_source
    from raytpnn.data.tables.streamed_table import StreamedTable

    source = read_source(options)
    if isinstance(source.X, StreamedTable):
        say("the rows are read a batch at a time")
    rows, columns = source.y.values.shape[0], len(source.X.names)
    say(f"{rows:,} rows, {columns:,} columns to predict {options['target']!r} by")
    tell_family(options, source)
    return source


def arguments_of(options: FitFlags, source: Source) -> dict[str, Any]:
    """What `raytpnn.sample` is called with."""
    from dataclasses import replace
    from functools import partial

    from raytpnn.cli.inputs.running import resources_of
    from raytpnn.cli.note import write_note

    resources = resources_of(options["executor"], options)
    from raytpnn.chains.observe.progress import make_reporter
    from raytpnn.data.response import Response
    from raytpnn.engine.precompile import is_cached
    from raytpnn.storage.places.place import Place

    if options["backend"] not in ("reference", "cuda") and not is_cached("joint_beta"):
        say("compiling the sampler: once on a machine, which takes a while")
    assert options["out"] is not None
    reporter: Any = make_reporter(True)
    reporter.when_begun = partial(write_note, Place(options["out"]), note_of(options, source))
    passed_on = {name: value for name, value in options.items() if name in SAMPLE.options}
    return passed_on | {
        "X": source.X,
        "y": replace(source.y, name=options["target"]) if isinstance(source.y, Response) else source.y,
        "family": source.family,
        "sample_weight": source.weight,
        "offset": source.offset,
        "progress": reporter,
        "resources": resources,
    }


def tell_family(options: FitFlags, source: Any) -> None:
    """Say which family it is, and what a 1 stands for."""
    if source.reason:
        hint = "" if "--family" in source.reason else " (--family decides otherwise)"
        say(f"family {source.family}: {source.reason}{hint}")
    else:
        say(f"family {source.family}")
    if source.y.classes is not None and len(source.y.classes) > 2:
        listed = ", ".join(map(str, source.y.classes[:6]))
        more = ", ..." if len(source.y.classes) > 6 else ""
        say(f"modelling the probabilities of {len(source.y.classes)} classes: {listed}{more}")
    elif source.y.classes is not None:
        zero, one = source.y.classes
        hint = "" if options["positive"] is not None else f" (--positive {zero} turns it round)"
        say(f"modelling the probability of {options['target']} = {one}{hint}")


def note_of(options: FitFlags, source: Any) -> dict[str, Any]:
    """What later commands want to know about this one."""
    from raytpnn import __version__

    return {
        "command": "fit",
        "raytpnn": __version__,
        "data": Path(shown(str(options["data"]))).name,
        "target": options["target"],
        "sample_weight": options["sample_weight"],
        "offset": options["offset"],
        "drop": options["drop"],
        "adjustment": source.adjustment,
        "family_reason": source.reason,
        "executor": options["executor"],
        "target_rhat": options["target_rhat"],
        "target_ess": options["target_ess"],
    }
