"""`raytpnn resume`."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from raytpnn.cli.group import say
from raytpnn.cli.inputs.flags import with_flags
from raytpnn.cli.inputs.options import RESUME_RUN, ResumeFlags, merge
from raytpnn.options.definition import RESUME

__all__ = ["resume"]


@with_flags(RESUME_RUN)
def resume(**given: Unpack[ResumeFlags]) -> None:
    """Go on with a run that was interrupted or killed, or make it longer.

    The draws are those of a run that was never disturbed. Targets and executor are those of the run, unless
    others are given.
    """
    options: ResumeFlags = merge(given, RESUME_RUN)
    run, no_target = options["run"], options["no_target"]
    say(f"opening {run}")
    from raytpnn.chains.run.ownership import refuse_owner
    from raytpnn.cli.inputs.running import resources_of
    from raytpnn.cli.note import noted_targets, read_note, write_note
    from raytpnn.cli.screen.stop import stoppable
    from raytpnn.storage.places.place import Place

    place = Place(run)
    refuse_owner(place)
    note = read_note(place)
    if no_target and until_converged(place):
        raise ValueError(
            f"the run in {run} goes on until it has converged and has no last draw: leave --no-target out, "
            "or give other targets"
        )
    target_rhat, target_ess = options["target_rhat"], options["target_ess"]
    as_before = not (no_target or target_rhat or target_ess)
    if as_before:
        target_rhat, target_ess = noted_targets(place)
    tell_targets(target_rhat, target_ess, as_before)
    how = options["executor"] or ("ray" if options["address"] else note.get("executor") or "ray")
    resources = resources_of(how, options)
    leave_note = partial(write_note, place, note | {"target_rhat": target_rhat, "target_ess": target_ess})
    from raytpnn.posterior.verdict import quiet

    with stoppable(run), quiet():
        import raytpnn
        from raytpnn.chains.observe.progress import make_reporter

        reporter: Any = make_reporter(True)
        reporter.when_begun = leave_note
        passed_on: dict[str, Any] = {name: value for name, value in options.items() if name in RESUME.options}
        passed_on |= {"executor": how, "resources": resources, "progress": reporter}
        passed_on |= {"target_rhat": target_rhat, "target_ess": target_ess}
        post = raytpnn.resume(run, **passed_on)
    # If there was nothing to do, nothing has begun.
    leave_note()
    from raytpnn.cli.screen.summary import conclude

    conclude(post, run, target_rhat, target_ess)


def until_converged(place: Any) -> bool:
    """Whether a run goes on until it has converged."""
    from raytpnn.storage.formats.manifest import read_manifest

    return read_manifest(place)["config"].get("draws", 0) is None


def tell_targets(rhat: float | None, ess: float | None, as_before: bool) -> None:
    """Say what the chains are to reach."""
    aims = [f"R-hat {rhat:g}"] if rhat else []
    aims += [f"{ess:g} effective draws"] if ess else []
    if aims:
        say(f"target: {' and '.join(aims)}{' as before' if as_before else ''}")
