"""The CUDA headers that repeat what Python says: constants and records, written from their source.

`python -m raytpnn.engine.gpu.headers kernels` writes them anew; a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from raytpnn.engine import records
from raytpnn.engine.gpu import grid_records
from raytpnn.engine.gpu import records as device_records
from raytpnn.engine.gpu.kernel_files import registered_header
from raytpnn.engine.ladder_records import LADDER, MOST_LEVELS
from raytpnn.engine.moves import (
    birth_death,
    change_features,
    coefficient,
    delayed_acceptance,
    langevin,
    random_walk,
    refit_factor,
    scalars,
)
from raytpnn.engine.rows import factor_tables, feature_sets, row_passes, set_table, subset
from raytpnn.engine.sweeps import prior_draw, swap
from raytpnn.families import base
from raytpnn.model import limits
from raytpnn.numerics import constants, lanes, philox, random

__all__ = ["HEADERS", "constants_header", "layout_header", "write_headers"]

NOTICE = "// Written by raytpnn/engine/gpu/headers.py from the Python source: do not edit.\n#pragma once\n"
C_TYPES = {
    "float64": "double",
    "float32": "float",
    "int64": "long long",
    "uint64": "unsigned long long",
    "int32": "int",
    "bool": "bool",
}
# Names of the numbers that kernels share with the Python source, by module.
SHARED = (
    (limits, ("MOST_TERMS", "MOST_VARIABLES", "GAMMA_SLOTS")),
    (lanes, ("LANES", "BLOCK", "STRIPES")),
    (
        records,
        (
            *("N_SCALARS", "INTERCEPT", "NUISANCE", "B_GAMMA", "SIGMA_BETA2", "FIT_LOGLIK", "TEMPERATURE"),
            *("BIRTH", "DEATH", "ADDING", "DELETING", "CHANGING", "JOINING"),
            *("LANGEVIN", "JOINT_BETA", "INTERCEPT_MOVE", "COMPONENT", "FACTOR", "OUTPUT"),
            *("STOP", "SWEEPS_DONE", "TERMS"),
            *("FOR_BIRTH_DEATH", "FOR_NEW_SET", "FOR_NEW_FACTOR", "FOR_NEW_BETA"),
            *("FOR_RESTRUCTURE", "FOR_RESTRUCTURE_FACTOR", "FOR_RESTRUCTURE_BETA"),
            *("FOR_LANGEVIN", "FOR_JOINT_BETA", "FOR_INTERCEPT", "FOR_NUISANCE", "FOR_SCALES"),
            *("FOR_SUBSET", "FOR_SCREEN", "FOR_JOINED_FACTOR", "FOR_COMPONENT", "FOR_FACTOR", "FOR_OUTPUT"),
            *("EXACT_ONLY", "DELAYED", "DELAYED_IF_IT_PAYS"),
            *("SCREEN_BIRTH_DEATH", "SCREEN_ADD_DELETE", "SCREEN_CHANGE", "SCREEN_WALK"),
        ),
    ),
    (device_records, ("BEGIN", "PRIOR_DRAWS")),
    (grid_records, ("TERM_SUMS", "PASS_SUMS", "SLOPE_SUMS", "GRAM_SIDE", "SCORE_TERMS", "BIN_TABLES")),
    (base, ("DERIVATIVES", "LIKELIHOOD", "MOST_OUTPUTS")),
    (row_passes, ("MOMENTS", "TOTALS")),
    (random, ("MOST_TRIES", "STEP")),
    (subset, ("LEAST_OF_STRATUM", "FEISTEL_ROUNDS", "MIX_0", "MIX_1")),
    (feature_sets, ("LEAST_SHARE",)),
    (factor_tables, ("SMALLEST_MEAN", "SMALLEST_HEIGHT")),
    (coefficient, ("LOG_2_PI", "NEWTON_SHARE")),
    (langevin, ("UNIFORM_PRECISION",)),
    (scalars, ("WALK_WIDTH",)),
    (birth_death, ("COPY_ATTEMPT", "TABLE_ATTEMPT")),
    (set_table, ("MOST_IN_TABLE",)),
    (change_features, ("JOIN_ATTEMPT", "SCREEN_SLOTS")),
    (delayed_acceptance, ("MARGIN", "WORTH_IT", "PROPOSED", "PASSED", "ACCEPTED", "ROWS", "N_COUNTS")),
    (random_walk, ("WALK_ACCEPTANCE",)),
    (
        refit_factor,
        (
            *("WALK_SHARE", "LOCATION_WIDTH", "FACTOR_ACCEPTANCE"),
            *("NOW", "NEXT", "LOCATION", "SCALE", "LOG_SCALE", "DOT", "NORM"),
        ),
    ),
    (prior_draw, ("MOST_DRAWS",)),
    (swap, ("FOR_SWAP", "NEITHER", "HOT", "COLD")),
    (philox, ("MULTIPLIER_0", "MULTIPLIER_1", "WEYL_0", "WEYL_1", "ROUNDS")),
)


def _number(value: object) -> str:
    """A C literal of exactly that value."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.unsignedinteger):
        return f"{int(value):#x}u"
    if isinstance(value, int) and value.bit_length() > 31:
        return f"{value:#x}ll"
    return str(value)


def _c_type(value: object) -> str:
    if isinstance(value, float):
        return "double"
    if isinstance(value, np.unsignedinteger):
        return "unsigned int"
    return "long long" if isinstance(value, int) and value.bit_length() > 31 else "int"


def _constant(name: str, value: object) -> str:
    return f"constexpr {_c_type(value)} {name} = {_number(value)};\n"


def constants_header() -> str:
    """Text of kernels/core/constants.cuh: numbers as constants, polynomials as lists of arguments."""
    text = NOTICE + "\nnamespace raytpnn {\n"
    for module, names in SHARED:
        text += f"\n// {module.__name__}\n"
        text += "".join(_constant(name, getattr(module, name)) for name in names)
    text += f"\n// {constants.__name__}\n"
    lists = ""
    for name, value in vars(constants).items():
        if isinstance(value, tuple):
            lists += f"#define {name} \\\n    " + ", \\\n    ".join(_number(item) for item in value) + "\n"
        elif isinstance(value, (int, float)):
            text += _constant(name, value)
    return text + "}  // namespace raytpnn\n\n" + lists


def _struct(name: str, dtype: np.dtype) -> str:
    """C struct of a record, with its offsets asserted."""
    lines, checks = [], []
    for field, (kind, offset, *_) in dict(dtype.fields or {}).items():
        element, shape = kind.base, kind.shape
        extents = "".join(f"[{extent}]" for extent in shape)
        lines.append(f"    {C_TYPES[element.name]} {field}{extents};\n")
        checks.append(f'static_assert(__builtin_offsetof({name}, {field}) == {offset}, "{name}.{field}");\n')
    checks.append(f'static_assert(sizeof({name}) == {dtype.itemsize}, "{name}");\n')
    return f"struct {name} {{\n" + "".join(lines) + "};\n" + "".join(checks)


def layout_header() -> str:
    """Text of kernels/core/layout.cuh: the records as C structs."""
    structs = {
        "Problem": records.PROBLEM,
        "Settings": records.SETTINGS,
        "State": records.STATE,
        "Ladder": LADDER,
        "DeviceWork": device_records.DEVICE_WORK,
        "DeviceRecord": device_records.DEVICE_RECORD,
        "GridShard": grid_records.GRID_SHARD,
        "GridCommand": grid_records.GRID_COMMAND,
        "GridStratum": grid_records.GRID_STRATUM,
    }
    text = NOTICE + "\nnamespace raytpnn {\n"
    text += _constant("MOST_LEVELS", MOST_LEVELS) + _constant("N_MOVES", len(records.MOVE_NAMES))
    text += _constant("N_STEPS", limits.MOST_VARIABLES + 1)
    text += _constant("N_SCREENS", len(records.SCREEN_NAMES))
    text += "".join("\n" + _struct(name, dtype) for name, dtype in structs.items())
    return text + "}  // namespace raytpnn\n"


HEADERS = {
    "core/constants.cuh": constants_header,
    "core/layout.cuh": layout_header,
    "families/registered.cuh": registered_header,
}


def write_headers(folder: Path) -> None:
    """Write the headers into a folder."""
    for name, text in HEADERS.items():
        (folder / name).write_text(text())


if __name__ == "__main__":
    write_headers(Path(sys.argv[1]))
