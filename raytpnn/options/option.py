"""What is said about an option, and the options of one entry point."""

from __future__ import annotations

import copy
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Number, Real
from typing import Any, ForwardRef, Generic, TypeVar, cast

from raytpnn.options.names import did_you_mean

__all__ = ["Option", "OptionSet"]

Function = TypeVar("Function", bound=Callable[..., Any])
Options = TypeVar("Options", bound=Mapping[str, Any])

LINE = 110
AS_ANNOTATED: Any = object()


@dataclass(frozen=True, eq=False)
class Option:
    """What is said about an option beside its name and type.

    Attributes
    ----------
    default
        None where a rule decides; `usual` says which.
    help : str
        A sentence or two, for docstrings and for `--help`. Other options are named in backticks.
    more : str
        What docstrings say in addition.
    panel : str
        Part of the help page, and of the docstring, where it stands.
    kind : str
        Its type in words, where the annotation does not say it all.
    usual : str
        What the default comes to, in words.
    choices : callable, optional
        Gives the texts that it can be. What is no text is not looked at.
    least, above : number, optional
        A whole number must be `least` or more, another number `above` that.
    flags : tuple of str
        Where the flag is not just the name, or there are several.
    flag_help : str
        For `--help`, where `help` speaks of Python.
    written : type, optional
        Type as a flag and in a config file; that of the annotation if not given, None if it is neither. A
        dict is a table of the config file and no flag.
    saved : bool
        Whether a run keeps it among its settings.
    argument : bool
        Whether the command line takes it without a flag.
    """

    default: Any
    help: str
    more: str = ""
    panel: str = ""
    kind: str = ""
    usual: str = ""
    choices: Callable[[], Sequence[str]] | None = None
    least: int | float | None = None
    above: float | None = None
    flags: tuple[str, ...] = ()
    flag_help: str = ""
    written: Any = AS_ANNOTATED
    saved: bool = True
    argument: bool = False
    annotation: Any = None

    def words(self) -> str:
        """Type in words, for a docstring."""
        if self.kind:
            return self.kind
        if self.choices is not None:
            known = "{" + ", ".join(f'"{name}"' for name in self.choices()) + "}"
            return known + (", optional" if self.default is None else f', default "{self.default}"')
        kind = self.annotation
        named = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
        named = named.replace(" | None", "").replace(" | ", " or ")
        return named + (", optional" if self.default is None else f", default {self.default!r}")

    def check(self, name: str, value: Any) -> None:
        """Raise ValueError if it cannot have a value; None is never looked at."""
        if value is None:
            return
        if self.choices is not None and isinstance(value, str) and value not in (known := self.choices()):
            raise ValueError(f"unknown {name} {value!r}; choose one of {', '.join(known)}")
        number = isinstance(value, Real) and not isinstance(value, bool)
        if self.least is not None:
            kind, words = (Integral, "whole number") if isinstance(self.least, int) else (Real, "number")
            if not (number and isinstance(value, kind) and cast(float, value) >= self.least):
                raise ValueError(f"{name} must be a {words}, {self.least:g} or more, got {value!r}")
        if self.above is not None and not (number and cast(float, value) > self.above):
            raise ValueError(f"{name} must be above {self.above:g}, got {value!r}")


class OptionSet(Generic[Options]):
    """The options of one entry point.

    Parameters
    ----------
    definition : type
        A TypedDict whose annotations carry an `Option` each.
    panels : sequence of str
        Their order.
    **defaults
        Where this entry point has another default.
    """

    def __init__(self, definition: type[Options], panels: Sequence[str] = (), **defaults: Any) -> None:
        found: dict[str, Option] = {}
        for name, annotation in definition.__annotations__.items():
            (option,) = annotation.__metadata__
            kind = annotation.__origin__
            kind = kind.__forward_arg__ if isinstance(kind, ForwardRef) else kind
            default = defaults.pop(name, option.default)
            found[name] = replace(option, annotation=kind, default=default)
        if defaults:
            raise TypeError(f"{definition.__name__} has no option {', '.join(defaults)}")
        order = [*panels, *(option.panel for option in found.values())]
        self.options = dict(sorted(found.items(), key=lambda item: order.index(item[1].panel)))

    def only(self, *names: str) -> OptionSet[Options]:
        """The same with some of the options alone."""
        some = copy.copy(self)
        some.options = {name: self.options[name] for name in names}
        return some

    def describe(self, function: Function) -> Function:
        """Give a function that takes `**options` their signature, and their part of its docstring.

        A class gets the docstring alone: its signature is that of `__init__`.
        """
        function.__doc__ = self.documented(function.__doc__)
        if isinstance(function, type):
            return function
        taken = list(inspect.signature(function).parameters.values())[:-1]
        own = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.annotation
            )
            for name, option in self.options.items()
        ]
        returned = inspect.signature(function).return_annotation
        function.__signature__ = inspect.Signature([*taken, *own], return_annotation=returned)  # type: ignore[attr-defined]
        return function

    def documented(self, text: str | None) -> str | None:
        """Docstring with the options in the place of the line `**options`."""
        lines = inspect.cleandoc(text or "").splitlines()
        if "**options" not in lines:
            return text
        start = end = lines.index("**options") + 1
        while end < len(lines) and lines[end].startswith(" "):
            end += 1
        return "\n".join([*lines[: start - 1], *self.parameters(), *lines[end:]]) + "\n"

    def parameters(self) -> list[str]:
        """Lines of a docstring."""
        lines = []
        for name, option in self.options.items():
            usual = f"If not given: {option.usual}." if option.usual else ""
            text = " ".join(part for part in (option.help, option.more, usual) if part)
            lines.append(f"{name} : {option.words()}")
            lines += textwrap.wrap(text, LINE, initial_indent="    ", subsequent_indent="    ")
        return lines

    def given(self, options: Options, function: str) -> Options:
        """All options, defaults where nothing was given.

        Raises
        ------
        TypeError
            If there is no such option.
        """
        unknown = [name for name in options if name not in self.options]
        if unknown:
            near = did_you_mean(unknown[0], list(self.options))
            raise TypeError(f"{function}() got an unexpected keyword argument {unknown[0]!r}{near}")
        defaults = {name: copy.copy(option.default) for name, option in self.options.items()}
        return cast(Options, defaults | dict(options))

    def filled(self, options: Options, function: str) -> Options:
        """The same, each checked: raises ValueError if a value cannot be used."""
        everything = self.given(options, function)
        for name, value in everything.items():
            self.options[name].check(name, value)
        return everything

    def saved(self, options: Options) -> dict[str, Any]:
        """Settings that a run keeps: as they are if JSON has such values, otherwise "array"."""
        kept = {}
        for name, value in options.items():
            value = value.item() if getattr(value, "shape", None) == () else value
            plain = value is None or isinstance(value, (str, Number))
            if self.options[name].saved:
                kept[name] = value if plain else "array"
        return kept
