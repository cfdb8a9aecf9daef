"""One command to the kernels of `rows_grid.cu`, and its bytes."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from raytpnn.engine.gpu.grid_records import GRID_COMMAND
from raytpnn.engine.records import MOST_VARIABLES

__all__ = ["Command"]

_CODES = {"int64": "q", "float64": "d", "int32": "i"}
_FIELDS = dict(GRID_COMMAND.fields or {}).values()
# One call packs all fields: setting them one by one in a record takes longer than a launch.
_PACK = struct.Struct("=" + "".join(_CODES[f[0].base.name] * int(np.prod(f[0].shape)) for f in _FIELDS))
assert _PACK.size == GRID_COMMAND.itemsize


class Command(NamedTuple):
    """Fields of GRID_COMMAND, by default those of a command that does nothing."""

    fit: int = 0
    old_row: int = 0
    new_row: int = 0
    old_beta: float = 0.0
    new_beta: float = 0.0
    dispersion: float = 1.0
    need: int = 0
    row: int = 0
    second: int = -1
    target: int = -1
    source: int = -1
    order: int = 0
    slopes: int = 0
    columns: int = 0
    first_tile: int = 0
    terms: int = 0
    out: int = 0
    amount: float = 0.0
    numbers: int = 0
    features: tuple[int, ...] = ()

    def write(self, memory: np.ndarray, numbers: int) -> None:
        """Write its bytes to memory, with the address of what follows it."""
        features = (*self.features, *(0,) * (MOST_VARIABLES - len(self.features)))
        _PACK.pack_into(memory.data, 0, *self[:-2], numbers, *features)


assert Command._fields == GRID_COMMAND.names
