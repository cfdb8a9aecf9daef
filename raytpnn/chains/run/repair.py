"""A manifest that was lost or damaged, rebuilt from what lies beside the blocks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from raytpnn.chains.run.ledger import read_ledger
from raytpnn.chains.run.ownership import owned
from raytpnn.chains.run.run import Run, check_to_go_on
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.checkpoint import CHECKPOINT, Checkpoint
from raytpnn.storage.formats.manifest import (
    BEGUN,
    MANIFEST,
    PREVIOUS,
    manifest_in,
    read_manifest,
    write_manifest,
)
from raytpnn.storage.formats.manifest_check import check_length
from raytpnn.storage.places.place import Place

__all__ = ["repair"]


def repair(place: Place, say: Callable[[str], None] | None = None) -> str:
    """Rebuild the manifest of a run; what was done, in a sentence or two.

    Parameters
    ----------
    place : Place
    say : callable, optional
        Told what takes a while.

    Raises
    ------
    RunError
        If there is not enough left to rebuild it, or data of the run are damaged.
    RunInUse
        If somebody works on the run.
    """
    try:
        read_manifest(place)
        return f"{place.name_of(MANIFEST)} is whole: there is nothing to repair"
    except RunError:
        # Nobody should own what is no run.
        name, manifest = source(place)
    with owned(place, say) as lease:
        run = Run(place, manifest, lease)
        for file in manifest["files"]:
            if not file.startswith("draws/") or "plan" not in manifest:
                run.verified(file)
        if "plan" not in manifest:
            write_manifest(place, manifest)
            return (
                f"{place.name_of(MANIFEST)} is rebuilt from {name}: a saved posterior, all of its files whole"
            )
        lengthen(run)
        blocks = len(run.length.blocks()) * run.length.chains
        ledger, problems = read_ledger(run)
        good = sum(len(reports) for reports in ledger.reports)
        whole = good == blocks
        run.end({"stopped": None if whole else "repair"}, None, ledger.reports)
    bad = f"; {len(problems)} cannot be used: {problems[0]}" if problems else ""
    advice = "" if whole else f". `raytpnn resume {place}` runs the others"
    return (
        f"{place.name_of(MANIFEST)} is rebuilt from {name}: {good} of {blocks} blocks are there and "
        f"whole, with {run.manifest['n_draws']} draws{bad}{advice}"
    )


def source(place: Place) -> tuple[str, dict[str, Any]]:
    """The latest manifest that is kept beside and whole, and its name."""
    reasons = []
    for name in (PREVIOUS, BEGUN):
        try:
            manifest = manifest_in(place, name)
            if "plan" in manifest:
                check_to_go_on(manifest, place.name_of(name))
            return name, manifest
        except FileNotFoundError:
            reasons.append(f"{name} is missing")
        except RunError as problem:
            reasons.append(str(problem))
    raise RunError(f"the {MANIFEST} of {place} cannot be rebuilt: {', '.join(reasons)}")


def lengthen(run: Run) -> None:
    """Have as many chains and draws as blocks of the run show that it was given since.

    A run whose plan has no number of draws keeps none.
    """
    plan = run.manifest["plan"]
    longer = plan
    for name in run.place.names("checkpoint"):
        match = CHECKPOINT.fullmatch(name)
        if match is None:
            continue
        with suppress(RunError, OSError, ValueError):
            checkpoint = Checkpoint.read(run.place, int(match[1]), int(match[2]))
            if checkpoint.plan == plan["digest"]:
                longer = longest(longer, checkpoint)
    run.lengthen(longer["chains"], longer["draws"])


def longest(plan: dict[str, Any], checkpoint: Checkpoint) -> dict[str, Any]:
    """Plan that is long enough for a block; ValueError if none may be: a checkpoint may claim anything."""
    chains, draws = max(plan["chains"], checkpoint.chain + 1), plan["draws"]
    if chains > plan["chains"] and (plan["adaptive"] or plan.get("screened", False)):
        raise ValueError("a run that learned its feature weights has no more chains than it began with")
    if draws is not None:
        end = checkpoint.first + checkpoint.sweeps
        draws = max(draws, -(-(end - plan["warmup"]) // plan["thin"]))
    longer = plan | {"chains": chains, "draws": draws}
    check_length(longer)
    return longer
