"""`RUN/command.json`: what the command line knows about a run that the sampler does not need."""

from __future__ import annotations

import json
from typing import Any

from raytpnn.storage.checks import named, number
from raytpnn.storage.formats.manifest import read_manifest
from raytpnn.storage.places.place import Place

__all__ = ["NOTE", "noted_targets", "read_note", "write_note"]

NOTE = "command.json"


def write_note(place: Place, note: dict[str, Any]) -> None:
    """Leave a note in a run."""
    place.write(NOTE, (json.dumps(note, indent=1) + "\n").encode())


def read_note(place: Place) -> dict[str, Any]:
    """Note of a run; empty if it was not begun by the command line."""
    try:
        note = json.loads(place.read(NOTE))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def noted_targets(place: Place) -> tuple[float | None, float | None]:
    """R-hat and effective draws that were asked of a run, by the command line or by a program."""
    noted = read_note(place)
    if "target_rhat" not in noted:
        noted = read_manifest(place)["config"]
    rhat, ess = noted.get("target_rhat"), noted.get("target_ess")
    with named(place.name_of(NOTE)):
        return (
            None if rhat is None else number(rhat, "target_rhat", above=1.0),
            None if ess is None else number(ess, "target_ess", above=0.0),
        )
