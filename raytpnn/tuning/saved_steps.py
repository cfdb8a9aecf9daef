"""Steps that are done, each in a small file, so that a search can be interrupted, resumed or enlarged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from raytpnn.storage.lease import Lease
from raytpnn.storage.places.place import Place
from raytpnn.tuning.outcome import Outcome
from raytpnn.tuning.settings import Setting

__all__ = ["MARK", "SavedSteps"]

MARK, FOLDER = "search.json", "steps"


class SavedSteps:
    """Outcomes by setting and step; in a folder if there is one.

    Parameters
    ----------
    place : Place or None
    settings : sequence of Setting
    mark : dict
        What outcomes depend on beside the setting: `fingerprint`, and what a reader wants to know.
    lease : Lease, optional
        Of the folder: nothing is written there once somebody else has taken it over.

    Raises
    ------
    ValueError
        If the folder holds a search of something else, or other files.
    """

    def __init__(
        self,
        place: Place | None,
        settings: Sequence[Setting],
        mark: dict[str, Any],
        lease: Lease | None = None,
    ) -> None:
        self.place, self.settings, self.lease = place, settings, lease
        self.outcomes: dict[tuple[int, int], Outcome] = {}
        if place is None:
            return
        self.check(place, mark)
        if place.holds(MARK):
            self.read(mark["steps"])
        else:
            place.write(MARK, json.dumps(mark, indent=1).encode())

    @staticmethod
    def check(place: Place, mark: dict[str, Any]) -> None:
        """Raise ValueError if a folder holds a search of something else, or other files."""
        if place.holds(MARK):
            if json.loads(place.read(MARK)).get("fingerprint") != mark["fingerprint"]:
                raise ValueError(
                    f"{place} holds a search of other data or options; remove it, or choose another folder"
                )
        elif not place.empty():
            raise ValueError(f"{place} exists and is not empty; choose another folder")

    def name(self, setting: int, step: int) -> str:
        """Of a file; it does not depend on which other settings there are."""
        return f"{FOLDER}/{self.settings[setting].name}-{step:03}.json"

    def read(self, steps: int) -> None:
        """Read the saved outcomes. A damaged file counts as missing."""
        assert self.place is not None
        there = set(self.place.names(FOLDER))
        for setting in range(len(self.settings)):
            for step in range(steps):
                name = self.name(setting, step)
                if name in there:
                    try:
                        self.outcomes[setting, step] = Outcome.from_json(self.place.read(name))
                    except ValueError:
                        continue

    def add(self, setting: int, step: int, outcome: Outcome) -> None:
        """Keep an outcome."""
        self.outcomes[setting, step] = outcome
        if self.lease is not None:
            self.lease.check(look=True)
        if self.place is not None:
            self.place.write(self.name(setting, step), outcome.to_json().encode())
