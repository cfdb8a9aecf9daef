"""A config file for `raytpnn fit` as text."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import tomli_w

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
    head = ["Written by `raytpnn tune`; for `raytpnn fit --config`.", *sentences]
    content = {name: plain(value) for name, value in options.items() if value is not None and value != {}}
    content |= {"prior": plain(changes(setting.prior)), "moves": plain(changes(setting.moves))}
    return "".join(f"# {text}\n" for text in head) + "\n" + tomli_w.dumps(content)


def changes(own: Any) -> dict[str, Any]:
    """Fields of a Prior, Moves or Tempering that differ from the default."""
    default = type(own)()
    names = [field.name for field in fields(own)]
    return {name: getattr(own, name) for name in names if getattr(own, name) != getattr(default, name)}


def plain(value: Any) -> Any:
    """Value with NumPy numbers converted to Python's, and types that TOML lacks to text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, (bool, int, float, str)) else str(value)
