"""All commands: how their errors, warnings and interrupts reach the user."""

from __future__ import annotations

import io
import os
import sys
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["CONVERGED", "INTERRUPTED", "NOT_CONVERGED", "Commands", "say"]

CONVERGED, FAILED, NOT_CONVERGED, INTERRUPTED = 0, 1, 3, 130
# Raised on purpose, with a message for the user; anything else is a mistake of ours.
TOLD = (ValueError, OSError, ImportError, RuntimeError)
# So are these, where they are about the user's data.
TOLD_OF_DATA, DATA_MODULES = (TypeError, KeyError), "raytpnn.data."


def say(text: str) -> None:
    """A line to standard error, at once, without credentials of URIs in it."""
    from raytpnn.storage.places.uris import shown

    print(shown(text), file=sys.stderr, flush=True)


class Commands(TyperGroup):
    """Commands whose errors are one line, unless RAYTPNN_DEBUG asks for all of it."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order in which they are used, not of the alphabet."""
        return list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        warnings.showwarning = show_warning
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A terminal that cannot show a character should not end a run.
                stream.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as problem:
            if hasattr(problem, "message"):
                # Wrong use, which Typer tells itself.
                from raytpnn.storage.places.uris import shown

                problem.message = shown(str(problem.message))
            if is_ours(problem) or os.environ.get("RAYTPNN_DEBUG", "0") not in ("", "0"):
                raise
            say(f"error: {in_one_line(problem)}")
            raise typer.Exit(FAILED) from None


def is_ours(problem: Exception) -> bool:
    """Whether Typer ends the program by this itself: an exit, wrong use, a closed pipe."""
    return isinstance(problem, (typer.Exit, typer.Abort, BrokenPipeError)) or hasattr(problem, "exit_code")


def in_one_line(problem: Exception) -> str:
    """Message of an error."""
    # A KeyError shows its message in quotes.
    text = str(problem.args[0]) if isinstance(problem, KeyError) and problem.args else str(problem)
    text = " ".join(text.split())
    if isinstance(problem, MemoryError):
        return f"not enough memory {text}".strip()
    if text and (isinstance(problem, TOLD) or (isinstance(problem, TOLD_OF_DATA) and about_data(problem))):
        return text
    name = type(problem).__name__
    return f"{name}: {text} (unexpected: run again with RAYTPNN_DEBUG=1 and report what it shows)"


def about_data(problem: Exception) -> bool:
    """Whether an error was raised by what reads the user's data."""
    trace, module = problem.__traceback__, ""
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        trace = trace.tb_next
    return module.startswith(DATA_MODULES)


def show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Show a warning as a line, without the place in the program."""
    say(f"warning: {' '.join(str(message).split())}")
