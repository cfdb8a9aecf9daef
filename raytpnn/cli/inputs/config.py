"""The config file of a fit: TOML, keys as the flags with _ for -, tables for prior, moves and tempering."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from raytpnn.cli.inputs.options import FitOptions
from raytpnn.cli.names import did_you_mean

__all__ = ["read_config", "settings", "tempering_of"]

IN_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    list: "a list of texts",
    dict: "a table",
}


def read_config(path: Path) -> dict[str, Any]:
    """Options that a config file gives.

    Raises
    ------
    ValueError
        If it is no TOML, a key is unknown or a value of the wrong kind: the message names it.
    """
    try:
        with path.open("rb") as file:
            told = tomllib.load(file)
    except FileNotFoundError:
        raise ValueError(f"no config file {str(path)!r}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"config file {str(path)!r} is not TOML: {problem}") from None
    hints = get_type_hints(FitOptions)
    for key, value in told.items():
        if key not in hints:
            flag = " (with _ for -)" if key.replace("-", "_") in hints else ""
            raise ValueError(
                f"config file {str(path)!r}: unknown key {key!r}{did_you_mean(key, [*hints])}{flag}"
            )
        kinds = kinds_of(hints[key])
        if not is_one_of(value, kinds):
            wanted = " or ".join(dict.fromkeys(IN_WORDS[kind] for kind in kinds))
            raise ValueError(f"config file {str(path)!r}: {key} must be {wanted}, got {value!r}")
    return told


def kinds_of(hint: Any) -> tuple[type, ...]:
    """Types that a value may have."""
    if get_origin(hint) in (list, dict):
        return (get_origin(hint),)
    if not get_args(hint):
        return (hint,)
    return tuple(kind for part in get_args(hint) if part is not type(None) for kind in kinds_of(part))


def is_one_of(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a value of a config file is of one of some types; a whole number is a number too."""
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, list):
        return list in kinds and all(isinstance(item, str) for item in value)
    if isinstance(value, int) and float in kinds:
        return True
    return type(value) in kinds


def settings(kind: type, table: dict[str, Any], name: str) -> Any:
    """Prior, Moves or Tempering of a table of the config file.

    Parameters
    ----------
    kind : type
        `raytpnn.Prior`, `raytpnn.Moves` or `raytpnn.Tempering`.
    table : dict
    name : str
        Of the table, for errors.
    """
    known = [setting.name for setting in fields(kind)]
    for key in table:
        if key not in known:
            raise ValueError(f"config file: [{name}] has no setting {key!r}{did_you_mean(key, known)}")
    return kind(**table)


def tempering_of(table: dict[str, Any], replicas: int | None, spread: bool | None = None) -> Any:
    """Tempering that a table and flags ask for; None if they ask for one replica, or for nothing."""
    from raytpnn.engine.tempering.options import Tempering

    flags = {"replicas": replicas, "spread": spread}
    told = table | {name: value for name, value in flags.items() if value is not None}
    if told.get("replicas") == 1 or not told:
        if spread:
            raise ValueError("--spread is about the replicas of a chain: give --replicas of 2 or more, too")
        return None
    return settings(Tempering, told, "tempering")
