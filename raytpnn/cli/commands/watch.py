"""`raytpnn watch`."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raytpnn.cli.group import CONVERGED, NOT_CONVERGED, say
from raytpnn.cli.screen.text import figure, new_console, new_table, tell

if TYPE_CHECKING:
    from raytpnn.chains.run.status import Sight, StatusReader

__all__ = ["watch"]

UNDER_WAY, SILENT = 4, 5
# Chains are shown one by one up to this many.
SHOWN_CHAINS = 16


def watch(
    run: Annotated[
        str, typer.Argument(help="Folder of a run, also s3:// or gs://, on any machine that sees it.")
    ],
    once: Annotated[bool, typer.Option("--once", help="Look once and end, for scripts.")] = False,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks.")] = 5.0,
    json: Annotated[bool, typer.Option("--json", help="Look once and print JSON.")] = False,
    wait: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait for a run to begin, or for storage to answer.")
    ] = 600.0,
) -> None:
    """Follow a run from its files, wherever it runs, until it ends or its process is gone.

    Exit code 0 if it is finished, with its targets met if it has any; 3 if it ended short of them or was
    stopped; 4 if it goes on (with --once); 5 if its process is gone, or (with --once) if it should go on but
    has been silent for far longer than a block takes; 1 if there is no run that can be read.
    """
    from raytpnn.chains.run.status import StatusReader
    from raytpnn.storage.places.place import Place

    # Whoever watches is told that the storage does not answer.
    reader = StatusReader(Place(run, patience=None if once or json else 0.0))
    if once or json:
        sight = look_once(reader)
        if json:
            print_json(sight)
        else:
            show(sight)
    else:
        sight = follow(reader, every, wait)
    raise typer.Exit(exit_code(sight))


def look_once(reader: StatusReader) -> Sight:
    """Look; if there is no run yet, say who prepares one."""
    from raytpnn.storage.errors import RunError
    from raytpnn.storage.formats.manifest import MANIFEST

    try:
        return reader.look()
    except RunError:
        place, lease = reader.place, reader.lease
        if place.holds(MANIFEST) or lease.look() != "alive" or lease.record is None:
            raise
        raise RunError(f"{lease.record.owner} prepares a run in {place}: nothing is to be seen yet") from None


def exit_code(sight: Sight) -> int:
    """What a script wants to know."""
    if sight.state == "running":
        return UNDER_WAY
    if sight.state in ("silent", "dead"):
        return SILENT
    return NOT_CONVERGED if sight.state == "stopped" or sight.converged is False else CONVERGED


def follow(reader: StatusReader, every: float, wait: float) -> Sight:
    """Look again and again until the run ends: a picture that changes in place, or plain lines in a log."""
    from rich.live import Live

    wait_for_run(reader, every, wait)
    console = new_console()
    if not console.is_terminal:
        said = ""
        while True:
            sight = look_again(reader, every, wait)
            text = headline(sight)
            if text != said:
                print(text, flush=True)
            said = text
            if sight.state == "dead":
                print(*details(sight), sep="\n", flush=True)
            if sight.ended or sight.state == "dead":
                return sight
            time.sleep(every)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            sight = look_again(reader, every, wait)
            live.update(picture(sight), refresh=True)
            if sight.ended or sight.state == "dead":
                return sight
            time.sleep(every)


def wait_for_run(reader: StatusReader, every: float, wait: float) -> None:
    """Wait for a run to begin, some seconds, or as long as somebody is seen to prepare it."""
    from raytpnn.storage.errors import RunError
    from raytpnn.storage.formats.manifest import MANIFEST

    place = reader.place
    if place.holds(MANIFEST):
        return
    # The manifest comes last: what is there may be on its way.
    if not place.empty() and reader.lease.look() not in ("alive", "unknown"):
        return
    say(f"waiting for a run to begin in {place}")
    end, told = time.monotonic() + wait, ""
    while not place.holds(MANIFEST):
        seen = reader.lease.look()
        if seen == "alive":
            end = time.monotonic() + wait
            assert reader.lease.record is not None
            text = f"{reader.lease.record.owner} prepares a run there"
            if text != told:
                say(text)
            told = text
        elif seen in ("dead", "released") and not place.holds(MANIFEST):
            if not place.empty():
                # Whoever reads what is left says what is wrong with it.
                return
            raise RunError(f"no run has begun in {place}: the process that prepared it is gone; fit again")
        if time.monotonic() > end:
            raise RunError(
                f"no run has begun in {place} within {wait:g} s. Is it the folder that was given to --out, "
                "and can this machine see it? --wait waits longer"
            )
        time.sleep(min(every, max(end - time.monotonic(), 0.01)))


def look_again(reader: StatusReader, every: float, wait: float) -> Sight:
    """Look, and wait if the storage does not answer: whoever watches for hours should see the end."""
    told = False
    end = time.monotonic() + wait
    while True:
        try:
            return reader.look()
        except OSError as problem:
            if time.monotonic() > end:
                raise
            if not told:
                say(f"cannot read {reader.place} now, trying again: {problem}")
            told = True
            time.sleep(every)


def show(sight: Sight) -> None:
    """Print what is to be seen."""
    console = new_console()
    tell(console, headline(sight))
    for line in details(sight):
        tell(console, line)
    if 0 < sight.chains <= SHOWN_CHAINS and sight.done:
        console.print(chain_table(sight))


def picture(sight: Sight) -> Any:
    """All of it, for a terminal."""
    from rich.console import Group
    from rich.text import Text

    parts = [Text(line) for line in (headline(sight), *details(sight))]
    return Group(*parts, *([chain_table(sight)] if 0 < sight.chains <= SHOWN_CHAINS and sight.done else []))


def headline(sight: Sight) -> str:
    """The run in a line."""
    from raytpnn.chains.observe.progress import duration

    if sight.state == "saved":
        return "saved: a posterior without its chains; there is nothing to watch"
    words = [f"{sight.state}{f' by {sight.stopped}' if sight.stopped else ''}"]
    most = "at most " if sight.until else ""
    words.append(f"{sight.blocks} of {most}{sight.planned} blocks of {sight.chains} chains")
    if not sight.ended:
        if not math.isnan(sight.speed):
            words.append(f"{figure(sight.speed)} sweeps/s")
        left = sight.seconds_left()
        if not math.isnan(left) and sight.state == "running":
            words.append(
                f"at most {duration(left)} left" if sight.until else f"{duration(left)} to the last draw"
            )
        words.append(f"last block {duration(sight.age)} ago" if sight.blocks else "no block yet")
    if sight.convergence is not None and sight.convergence.deciding:
        name, worst = sight.convergence.worst()
        words.append(f"R-hat {figure(worst, 4)} ({name}), least ESS {figure(sight.convergence.least_ess())}")
    if sight.ended and sight.converged is not None:
        words.append("target met" if sight.converged else "target not met")
    return ", ".join(words)


def details(sight: Sight) -> list[str]:
    """What is to be known beside."""
    lines = [f"warning: {problem}; `raytpnn resume` makes the block again" for problem in sight.problems]
    if sight.state == "dead":
        lines.append(
            f"Nobody works on it any more: {sight.owner} is gone or has given it up. What it has finished is "
            "kept; `raytpnn resume` goes on."
        )
    if sight.state == "silent":
        lines.append(
            "No block has ended for far longer than one takes: the coordinator was killed, or the cluster "
            "has no workers. See `ray status` and `ray job list`; `raytpnn resume` goes on with a run that "
            "was killed."
        )
    if sight.state == "stopped":
        lines.append("`raytpnn resume` goes on with it.")
    if sight.blocks and not any(term is not None for term in sight.terms):
        lines.append("Too many blocks to read them: `raytpnn diagnose` gives R-hat.")
    return lines


def chain_table(sight: Sight) -> Any:
    """Table of the chains."""
    table = new_table("chain", "sweeps", "of at most" if sight.until else "of", "K")
    for chain, (done, terms) in enumerate(zip(sight.done, sight.terms, strict=True)):
        table.add_row(str(chain), f"{done:,}", f"{sight.sweeps:,}", "-" if terms is None else str(terms))
    return table


def print_json(sight: Sight) -> None:
    """Tell a program."""
    from dataclasses import asdict
    from json import dumps

    from raytpnn.storage.formats.manifest import plain

    told = asdict(sight) | {"seconds_left": sight.seconds_left(), "convergence": None}
    if sight.convergence is not None:
        quantity, rhat = sight.convergence.worst()
        told["convergence"] = {
            "rhat_worst": rhat,
            "quantity": quantity,
            "ess_least": sight.convergence.least_ess(),
            "draws": sight.convergence.draws,
        }
    print(dumps(plain(told), indent=1, allow_nan=False))
