"""Records of earlier chain formats that can still be gone on with, turned into those of today.

Format 1 knew no changes of whole components, neither it nor format 2 knew refitted factors, and format 3 knew
one output only: their tallies of moves are shorter, their states and settings and `Moves` lack what goes with
them. Their chains go on without.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.records import MOVE_NAMES, STATE, STORED_SETTINGS

__all__ = ["moves_of_today", "settings_of_today", "state_of_today"]

# Moves that were counted in earlier formats.
EARLIER_MOVES = tuple(MOVE_NAMES.index(name) for name in ("component", "factor", "output"))
# Fields that earlier formats did not have, and what they did: of STORED_SETTINGS, and of `Moves`.
NEW_SETTINGS = {
    "component_changes": 0,
    "factor_steps": 0,
    "bin_unit": 1.0,
    "outputs": 1,
    "intercept_means": 0.0,
    "null_curvatures": 0.0,
    "output_changes": 0,
}
NEW_MOVES = {"component_changes": 0, "factor_steps": 0, "output_changes": 0}
NEW_IN_STATE = ("output", "intercepts")


def _state_with(moves: int) -> np.dtype:
    """Layout STATE with a tally of so many moves."""
    fields = []
    for name, (kind, *_) in dict(STATE.fields or {}).items():
        if name in NEW_IN_STATE:
            continue
        shape = (moves, 2) if name == "tally" else kind.shape
        fields.append((name, kind.base, shape))
    return np.dtype(fields, align=True)


EARLIER_STATES = {moves: _state_with(moves) for moves in EARLIER_MOVES}


def state_of_today(data: bytes, replicas: int | None) -> bytes:
    """State of a chain, or ladder and states of its replicas, in today's layout.

    Bytes of another length are left as they are.
    """
    for moves, layout in EARLIER_STATES.items():
        if len(data) == layout.itemsize:
            first = 0
        elif replicas is not None and len(data) == LADDER.itemsize + replicas * layout.itemsize:
            first = LADDER.itemsize
        else:
            continue
        old = np.frombuffer(data, layout, offset=first)
        new = np.zeros(len(old), STATE)
        for name in layout.names or ():
            if name == "tally":
                new[name][:, :moves] = old[name]
            else:
                new[name] = old[name]
        return data[:first] + new.tobytes()
    return data


def settings_of_today(stored: np.ndarray) -> np.ndarray:
    """Stored settings, with default values for the fields that were added later."""
    found: Any = stored.dtype.fields or {}
    missing = set(STORED_SETTINGS.names or ()) - set(found)
    if not missing or missing - set(NEW_SETTINGS) or set(found) - set(STORED_SETTINGS.names or ()):
        return stored
    fields = [(name, *_kind_of(found, name)) for name in STORED_SETTINGS.names or ()]
    whole = np.zeros(stored.shape, np.dtype(fields, align=True))
    for name in STORED_SETTINGS.names or ():
        whole[name] = NEW_SETTINGS[name] if name in missing else stored[name]
    return whole


def _kind_of(found: Any, name: str) -> tuple[Any, tuple[int, ...]]:
    """Type and shape of a field as it was stored, or as it is today."""
    kind = found[name][0] if name in found else dict(STORED_SETTINGS.fields or {})[name][0]
    return kind.base, kind.shape


def moves_of_today(stored: dict[str, Any]) -> dict[str, Any]:
    """Stored fields of `Moves`, with default values for those that were added later."""
    return NEW_MOVES | stored
