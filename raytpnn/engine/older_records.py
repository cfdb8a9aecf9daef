"""Records of earlier chain formats that can still be gone on with, turned into those of today.

Format 1 knew no changes of whole components: its tally of moves is a row shorter, its settings and its
`Moves` have no `component_changes`. Its chains go on without them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.records import MOVE_NAMES, STATE, STORED_SETTINGS

__all__ = ["moves_of_today", "settings_of_today", "state_of_today"]

# Moves that were counted in format 1.
MOVES_1 = len(MOVE_NAMES) - 1
# Fields of STORED_SETTINGS and of `Moves` that format 1 did not have, and what it did.
NEW_SETTINGS = {"component_changes": 0}


def _state_of_format_1() -> np.dtype:
    """Layout STATE of that format."""
    fields = []
    for name, (kind, *_) in dict(STATE.fields or {}).items():
        shape = (MOVES_1, 2) if name == "tally" else kind.shape
        fields.append((name, kind.base, shape))
    return np.dtype(fields, align=True)


STATE_1 = _state_of_format_1()


def state_of_today(data: bytes, replicas: int | None) -> bytes:
    """State of a chain, or ladder and states of its replicas, in today's layout.

    Bytes of another length are left as they are.
    """
    first = 0
    if replicas is not None and len(data) == LADDER.itemsize + replicas * STATE_1.itemsize:
        first = LADDER.itemsize
    elif len(data) != STATE_1.itemsize:
        return data
    old = np.frombuffer(data, STATE_1, offset=first)
    new = np.zeros(len(old), STATE)
    for name in STATE.names or ():
        if name == "tally":
            new[name][:, :MOVES_1] = old[name]
        else:
            new[name] = old[name]
    return data[:first] + new.tobytes()


def settings_of_today(stored: np.ndarray) -> np.ndarray:
    """Stored settings, with default values for the fields that were added later."""
    found: Any = stored.dtype.fields or {}
    missing = set(STORED_SETTINGS.names or ()) - set(found)
    if not missing or missing != set(NEW_SETTINGS) or set(found) - set(STORED_SETTINGS.names or ()):
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
    return NEW_SETTINGS | stored
