"""The config file of a fit: TOML, keys as the flags with _ for -, tables for prior, moves and tempering."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from raytpnn.cli.inputs.flags import kinds_of
from raytpnn.cli.inputs.options import FIT, FitFlags, check_needed, merge
from raytpnn.options.names import did_you_mean

__all__ = ["fit_options", "read_config"]

IN_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    list: "a list of texts",
    dict: "a table",
}


def read_config(path: str | Path) -> dict[str, Any]:
    """Options that a config file gives.

    Raises
    ------
    ValueError
        If it is no TOML, a key is unknown or a value of the wrong kind: the message names it.
    """
    try:
        with open(path, "rb") as file:
            told = tomllib.load(file)
    except FileNotFoundError:
        raise ValueError(f"no config file {str(path)!r}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"config file {str(path)!r} is not TOML: {problem}") from None
    known = {name: kinds_of(option) for name, option in FIT.options.items() if name != "config"}
    known = {name: kinds for name, kinds in known.items() if kinds}
    if "weights" in told:
        told["sample_weight"] = told.pop("weights")
    for key, value in told.items():
        if key not in known:
            flag = " (with _ for -)" if key.replace("-", "_") in known else ""
            raise ValueError(
                f"config file {str(path)!r}: unknown key {key!r}{did_you_mean(key, [*known])}{flag}"
            )
        kinds = known[key]
        if not is_one_of(value, kinds):
            wanted = " or ".join(dict.fromkeys(IN_WORDS[kind] for kind in kinds))
            raise ValueError(f"config file {str(path)!r}: {key} must be {wanted}, got {value!r}")
    return told


def is_one_of(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a value of a config file is of one of some types; a whole number is a number too."""
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, list):
        return list in kinds and all(isinstance(item, str) for item in value)
    if isinstance(value, int) and float in kinds:
        return True
    return type(value) in kinds


def fit_options(given: Mapping[str, Any], **shorter: Any) -> FitFlags:
    """All options of a fit: defaults, then the config file, then flags. Everything is checked, nothing read.

    Parameters
    ----------
    given : mapping
        Flags; `config` names the file.
    **shorter
        Defaults of a search.
    """
    config = {} if given.get("config") is None else read_config(given["config"])
    options: FitFlags = merge(given, FIT, shorter | config)
    check_needed(options)
    if config.get("prior") or config.get("moves"):
        from raytpnn.engine.moves.options import Moves
        from raytpnn.model.prior import Prior

        options["prior"] = settings(Prior, config.get("prior", {}), "prior")
        options["moves"] = settings(Moves, config.get("moves", {}), "moves")
    options["tempering"] = tempering_of(config.get("tempering", {}), options["replicas"], options["spread"])
    return options


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
    flags = {"replicas": replicas, "spread": spread}
    told = table | {name: value for name, value in flags.items() if value is not None}
    if told.get("replicas") == 1 or not told:
        if spread:
            raise ValueError("--spread is about the replicas of a chain: give --replicas of 2 or more, too")
        return None
    from raytpnn.engine.tempering.options import Tempering

    return settings(Tempering, told, "tempering")
