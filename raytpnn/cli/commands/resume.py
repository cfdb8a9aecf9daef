"""`raytpnn resume`."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from raytpnn.cli.group import say
from raytpnn.cli.inputs import flags

__all__ = ["resume"]


def resume(
    run: Annotated[str, typer.Argument(help="Folder of a run that `raytpnn fit` began.")],
    chains: flags.MoreChains = None,
    draws: flags.MoreDraws = None,
    max_sweeps: flags.MoreSweeps = None,
    target_rhat: flags.TargetRhat = None,
    target_ess: flags.TargetEss = None,
    no_target: flags.NoTarget = False,
    time_limit: flags.TimeLimit = None,
    executor: flags.ExecutorAgain = None,
    address: flags.Address = None,
    workers: flags.Workers = None,
    cpus: flags.Cpus = None,
    gpus: flags.Gpus = None,
    wait: flags.Wait = None,
) -> None:
    """Go on with a run that was interrupted or killed, or make it longer.

    The draws are those of a run that was never disturbed. Targets and executor are those of the run, unless
    others are given.
    """
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
    as_before = not (no_target or target_rhat or target_ess)
    if as_before:
        target_rhat, target_ess = noted_targets(place)
    tell_targets(target_rhat, target_ess, as_before)
    how = executor or ("ray" if address else note.get("executor") or "ray")
    resources = resources_of(how, workers, cpus, gpus, bool(wait))
    leave_note = partial(write_note, place, note | {"target_rhat": target_rhat, "target_ess": target_ess})
    from raytpnn.posterior.verdict import quiet

    with stoppable(run), quiet():
        import raytpnn
        from raytpnn.chains.observe.progress import make_reporter

        reporter: Any = make_reporter(True)
        reporter.when_begun = leave_note
        post = raytpnn.resume(
            run,
            chains=chains,
            draws=draws,
            max_sweeps=max_sweeps,
            executor=how,
            address=address,
            progress=reporter,
            target_rhat=target_rhat,
            target_ess=target_ess,
            time_limit=time_limit,
            resources=resources,
        )
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
