"""Commands whose flags come from definitions of options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar, get_args, get_origin

import typer
from typer.core import TyperCommand

from raytpnn.options.option import AS_ANNOTATED, Option, OptionSet

__all__ = ["Command", "GeneNames", "flag_name", "kinds_of", "with_flags"]

Function = TypeVar("Function", bound=Callable[..., Any])

GeneNames = Annotated[
    str | None,
    typer.Option("--annotation", help="Table with gene symbols and accessions, if the fit had none."),
]


def flag_name(name: str) -> str:
    """Flag of an option."""
    return f"--{name.replace('_', '-')}"


def kinds_of(option: Option) -> tuple[type, ...]:
    """Types that a value may have on the command line and in a config file; none if it is not there."""
    hint = option.annotation if option.written is AS_ANNOTATED else option.written
    return () if hint is None else plain_kinds(hint)


def plain_kinds(hint: Any) -> tuple[type, ...]:
    """Types of a hint, None left out."""
    if get_origin(hint) in (list, dict):
        return (get_origin(hint),)
    if not get_args(hint):
        return (hint,)
    return tuple(kind for part in get_args(hint) if part is not type(None) for kind in plain_kinds(part))


def with_flags(options: OptionSet[Any]) -> Callable[[Function], Function]:
    """Let a command that takes `**given` have a flag for each option; what was not given is None."""

    def change(function: Function) -> Function:
        parameters = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if option.default is ... else None,
                annotation=annotation_of(name, option, options),
            )
            for name, option in options.options.items()
            if flag_type(option) is not None
        ]
        # Arguments come before options.
        parameters.sort(key=lambda parameter: not options.options[parameter.name].argument)
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        function.__annotations__ = {}
        function.options = options  # type: ignore[attr-defined]
        return function

    return change


def flag_type(option: Option) -> Any:
    """Type of a flag; None if there is none. A flag that may be several things is text first."""
    kinds = [kind for kind in kinds_of(option) if kind is not dict]
    if not kinds:
        return None
    kind = str if str in kinds else kinds[0]
    return list[str] if kind is list else kind


def annotation_of(name: str, option: Option, options: OptionSet[Any]) -> Any:
    """What Typer reads."""
    kind = flag_type(option)
    if option.argument:
        return Annotated[
            kind if option.default is ... else kind | None,
            typer.Argument(help=option.help, metavar=name.upper(), show_default=False),
        ]
    flag = typer.Option(
        *(option.flags or (flag_name(name),)),
        help=help_of(option, options),
        rich_help_panel=option.panel or None,
        min=option.least,
        autocompletion=None if option.choices is None else completion(option.choices),
        show_default=False,
    )
    return Annotated[kind if option.default is ... else kind | None, flag]


def completion(choices: Callable[[], Sequence[str]]) -> Callable[[str], list[str]]:
    """What the shell offers."""

    def begins(incomplete: str) -> list[str]:
        return [choice for choice in choices() if choice.startswith(incomplete)]

    return begins


def help_of(option: Option, options: OptionSet[Any]) -> str:
    """Help of a flag: names of options become flags, and the default is told."""
    untold = option.default in (..., None, []) or option.default is False
    default = option.usual or ("" if untold else str(option.default))
    text = (option.flag_help or option.help) + (f" Default: {default}." if default else "")

    def flag(found: re.Match[str]) -> str:
        return flag_name(found[1]) if found[1] in options.options else found[0]

    return re.sub(r"`(\w+)`", flag, text)


class Command(TyperCommand):
    """A command that names the choices of its flags when it is asked for help, not before."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help page."""
        options: OptionSet[Any] | None = getattr(self.callback, "options", None)
        for parameter in self.params:
            option = None if options is None else options.options.get(str(parameter.name))
            if option is not None and option.choices is not None:
                parameter.metavar = "|".join(option.choices())
        super().format_help(ctx, formatter)
