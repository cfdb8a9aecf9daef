"""`raytpnn watch`."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raytpnn.cli.group import CONVERGED, NOT_CONVERGED, say
from raytpnn.cli.screen.text import figure, new_console, new_table, tell

if TYPE_CHECKING:
    from raytpnn.chains.run.status import RunStatus, StatusReader

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
    page: Annotated[
        bool,
        typer.Option(
            "--open", help="Serve the report as it forms to a browser on this machine, and open it."
        ),
    ] = False,
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
        status = look_once(reader)
        if json:
            print_json(status)
        else:
            show(status)
    elif page:
        status = follow_with_page(run, reader, every, wait)
    else:
        status = follow(reader, every, wait)
    raise typer.Exit(exit_code(status))


def follow_with_page(run: str, reader: StatusReader, every: float, wait: float) -> RunStatus:
    """Follow a run, and serve its report until it ends and the user says so."""
    import webbrowser

    from raytpnn.chains.run.status import StatusReader
    from raytpnn.cli.screen.live_page import LivePage, PageServer
    from raytpnn.storage.places.place import Place

    look = StatusReader(Place(run)).look
    with PageServer(LivePage(run, look).html) as server:
        say(f"the report as it forms, for this machine only: {server.address}")
        webbrowser.open(server.address)
        status = follow(reader, every, wait)
        say("the page is served until Ctrl-C")
        try:
            server.thread.join()
        except KeyboardInterrupt:
            say("no longer served; raytpnn report writes it to a file")
    return status


def look_once(reader: StatusReader) -> RunStatus:
    """Look; RunError if there is nothing to follow."""
    from raytpnn.storage.errors import RunError

    status = reader.look()
    if status.state == "preparing":
        raise RunError(f"{status.owner} prepares a run in {reader.place}: nothing is to be seen yet")
    if status.state == "repairable":
        raise RunError(status.problems[0])
    return status


def exit_code(status: RunStatus) -> int:
    """What a script wants to know."""
    if status.state == "running":
        return UNDER_WAY
    if status.state in ("silent", "dead"):
        return SILENT
    return NOT_CONVERGED if status.state == "stopped" or status.converged is False else CONVERGED


def follow(reader: StatusReader, every: float, wait: float) -> RunStatus:
    """Look again and again until the run ends: a picture that changes in place, or plain lines in a log."""
    from rich.live import Live

    wait_for_run(reader, every, wait)
    console = new_console()
    if not console.is_terminal:
        said = ""
        while True:
            status = look_again(reader, every, wait)
            text = headline(status)
            if text != said:
                print(text, flush=True)
            said = text
            if status.state == "dead":
                print(*details(status), sep="\n", flush=True)
            if status.ended or status.state == "dead":
                return status
            time.sleep(every)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            status = look_again(reader, every, wait)
            live.update(picture(status), refresh=True)
            if status.ended or status.state == "dead":
                return status
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


def look_again(reader: StatusReader, every: float, wait: float) -> RunStatus:
    """Look, and wait if the storage does not answer: whoever watches for hours should see the end."""
    told = False
    end = time.monotonic() + wait
    while True:
        try:
            return look_once(reader)
        except OSError as problem:
            if time.monotonic() > end:
                raise
            if not told:
                say(f"cannot read {reader.place} now, trying again: {problem}")
            told = True
            time.sleep(every)


def show(status: RunStatus) -> None:
    """Print what is to be seen."""
    console = new_console()
    tell(console, headline(status))
    for line in details(status):
        tell(console, line)
    if 0 < status.chains <= SHOWN_CHAINS and status.done:
        console.print(chain_table(status))


def picture(status: RunStatus) -> Any:
    """All of it, for a terminal."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [Text(line) for line in (headline(status), *details(status))]
    return Group(
        *parts, *([chain_table(status)] if 0 < status.chains <= SHOWN_CHAINS and status.done else [])
    )


def headline(status: RunStatus) -> str:
    """The run in a line."""
    from raytpnn.chains.observe.progress import duration

    if status.state == "saved":
        return "saved: a posterior without its chains; there is nothing to watch"
    words = [f"{status.state}{f' by {status.stopped}' if status.stopped else ''}"]
    most = "at most " if status.until else ""
    words.append(f"{status.blocks} of {most}{status.planned} blocks of {status.chains} chains")
    if not status.ended:
        if not math.isnan(status.speed):
            words.append(f"{figure(status.speed)} sweeps/s")
        left = status.seconds_left
        if not math.isnan(left) and status.state == "running":
            words.append(
                f"at most {duration(left)} left" if status.until else f"{duration(left)} to the last draw"
            )
        words.append(f"last block {duration(status.age)} ago" if status.blocks else "no block yet")
    if status.convergence is not None and status.convergence.deciding:
        name, worst = status.convergence.worst()
        words.append(f"R-hat {figure(worst, 4)} ({name}), least ESS {figure(status.convergence.least_ess())}")
    if status.ended and status.converged is not None:
        words.append("target met" if status.converged else "target not met")
    return ", ".join(words)


def details(status: RunStatus) -> list[str]:
    """What is to be known beside."""
    lines = [f"warning: {problem}; `raytpnn resume` makes the block again" for problem in status.problems]
    if status.state == "dead":
        lines.append(
            f"Nobody works on it any more: {status.owner} is gone or has given it up. Its finished blocks "
            "are kept; `raytpnn resume` goes on."
        )
    if status.state == "silent":
        lines.append(
            "No block has ended for far longer than one takes: the scheduler was killed, or the cluster "
            "has no workers. See `ray status` and `ray job list`; `raytpnn resume` goes on with a run that "
            "was killed."
        )
    if status.state == "stopped":
        lines.append("`raytpnn resume` goes on with it.")
    if status.blocks and not any(term is not None for term in status.terms):
        lines.append("Too many blocks to read them: `raytpnn diagnose` gives R-hat.")
    return lines


def chain_table(status: RunStatus) -> Any:
    """Table of the chains."""
    table = new_table("chain", "sweeps", "of at most" if status.until else "of", "K")
    for chain, (done, terms) in enumerate(zip(status.done, status.terms, strict=True)):
        table.add_row(str(chain), f"{done:,}", f"{status.sweeps:,}", "-" if terms is None else str(terms))
    return table


def print_json(status: RunStatus) -> None:
    """Print it for a program."""
    from json import dumps

    from raytpnn.storage.formats.manifest import plain

    print(dumps(plain(status.as_dict()), indent=1, allow_nan=False))
