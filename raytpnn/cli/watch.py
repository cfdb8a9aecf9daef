"""`raytpnn watch`."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raytpnn.cli.group import CONVERGED, NOT_CONVERGED, say
from raytpnn.cli.text import figure, new_console, new_table, tell

if TYPE_CHECKING:
    from raytpnn.chains.lookout import Lookout, Sight

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
) -> None:
    """Follow a run from its files, wherever it runs, until it ends.

    Exit code 0 if it is finished, with its targets met if it has any; 3 if it ended short of them or was
    stopped; 4 if it goes on (with --once); 5 if it should go on but has been silent for far longer than a
    block takes (with --once); 1 if there is no run that can be read.
    """
    from raytpnn.chains.lookout import Lookout
    from raytpnn.storage.place import Place

    lookout = Lookout(Place(run))
    if once or json:
        sight = lookout.look()
        if json:
            print_json(sight)
        else:
            show(sight)
    else:
        sight = follow(lookout, every)
    raise typer.Exit(exit_code(sight))


def exit_code(sight: Sight) -> int:
    """What a script wants to know."""
    if sight.state == "running":
        return UNDER_WAY
    if sight.state == "silent":
        return SILENT
    return NOT_CONVERGED if sight.state == "stopped" or sight.converged is False else CONVERGED


def follow(lookout: Lookout, every: float) -> Sight:
    """Look again and again until the run ends: a picture that changes in place, or plain lines in a log."""
    from rich.live import Live

    from raytpnn.storage.manifest import MANIFEST

    if not lookout.place.holds(MANIFEST) and lookout.place.empty():
        say(f"waiting for a run to begin in {lookout.place}")
        while not lookout.place.holds(MANIFEST):
            time.sleep(every)
    console = new_console()
    if not console.is_terminal:
        said = ""
        while True:
            sight = look_again(lookout, every)
            text = headline(sight)
            if text != said:
                print(text, flush=True)
            said = text
            if sight.ended:
                return sight
            time.sleep(every)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            sight = look_again(lookout, every)
            live.update(picture(sight), refresh=True)
            if sight.ended:
                return sight
            time.sleep(every)


def look_again(lookout: Lookout, every: float) -> Sight:
    """Look, and wait if the storage does not answer: whoever watches for hours should see the end."""
    told = False
    while True:
        try:
            return lookout.look()
        except OSError as problem:
            if not told:
                say(f"cannot read {lookout.place} now, trying again: {problem}")
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
    from raytpnn.chains.progress import duration

    if sight.state == "saved":
        return "saved: a posterior without its chains; there is nothing to watch"
    words = [f"{sight.state}{f' by {sight.stopped}' if sight.stopped else ''}"]
    words.append(f"{sight.blocks} of {sight.planned} blocks of {sight.chains} chains")
    if not sight.ended:
        if not math.isnan(sight.speed):
            words.append(f"{figure(sight.speed)} sweeps/s")
        left = sight.seconds_left()
        if not math.isnan(left) and sight.state == "running":
            words.append(f"{duration(left)} to the last draw")
        words.append(f"last block {duration(sight.age)} ago" if sight.blocks else "no block yet")
    if sight.convergence is not None and sight.convergence.rhat:
        name, worst = sight.convergence.worst()
        words.append(f"R-hat {figure(worst, 4)} ({name}), least ESS {figure(sight.convergence.least_ess())}")
    if sight.ended and sight.converged is not None:
        words.append("target met" if sight.converged else "target not met")
    return ", ".join(words)


def details(sight: Sight) -> list[str]:
    """What is to be known beside."""
    lines = [f"warning: {problem}; `raytpnn resume` makes the block again" for problem in sight.problems]
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
    table = new_table("chain", "sweeps", "of", "K")
    for chain, (done, terms) in enumerate(zip(sight.done, sight.terms, strict=True)):
        table.add_row(str(chain), f"{done:,}", f"{sight.sweeps:,}", "-" if terms is None else str(terms))
    return table


def print_json(sight: Sight) -> None:
    """Tell a program."""
    from dataclasses import asdict
    from json import dumps

    from raytpnn.storage.manifest import plain

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
