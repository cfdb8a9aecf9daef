"""A config file for `raytpnn fit` as text."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np

from raytpnn.tuning.settings import Setting

__all__ = ["changes", "config_text"]


def config_text(setting: Setting, sentences: list[str], options: dict[str, Any]) -> str:
    """TOML with options, and the tables [prior] and [moves] where they differ from the defaults.

    Parameters
    ----------
    setting : Setting
    sentences : list of str
        Comments at the head.
    options : dict
        Of `raytpnn fit`; what is None is left out.
    """
    lines = [
        "# Written by `raytpnn tune`; for `raytpnn fit --config`.",
        *(f"# {text}" for text in sentences),
        "",
    ]
    plain = {name: value for name, value in options.items() if not isinstance(value, dict)}
    tables = {name: value for name, value in options.items() if isinstance(value, dict) and value}
    lines += [f"{name} = {literal(value)}" for name, value in plain.items() if value is not None]
    tables |= {"prior": changes(setting.prior), "moves": changes(setting.moves)}
    for name, table in tables.items():
        lines += [
            "",
            f"[{name}]",
            *(f"{literal_key(key)} = {literal(value)}" for key, value in table.items()),
        ]
    return "\n".join(lines) + "\n"


def changes(own: Any) -> dict[str, Any]:
    """Fields of a Prior, Moves or Tempering that differ from the default."""
    default = type(own)()
    names = [field.name for field in fields(own)]
    return {name: getattr(own, name) for name in names if getattr(own, name) != getattr(default, name)}


def literal(value: Any) -> str:
    """Value in TOML."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    # A basic string of TOML has the escapes of JSON, but for the character 7F.
    return json.dumps(str(value)).replace("\x7f", "\\u007f")


def literal_key(key: str) -> str:
    """Key in TOML: bare, or in quotes."""
    return key if key.replace("_", "").isalnum() and key.isascii() else json.dumps(key)
