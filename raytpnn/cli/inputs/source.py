"""The table that `fit` reads: features, target, weights and offset, by the names of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.cli.group import say
from raytpnn.cli.inputs.family import guess_family
from raytpnn.cli.inputs.flags import flag_name
from raytpnn.cli.inputs.options import FIT, FitFlags
from raytpnn.options.names import did_you_mean
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    from raytpnn.data.response import Response
    from raytpnn.data.tables.tables import Table

__all__ = ["Source", "column_of", "read_source"]


@dataclass(frozen=True)
class Source:
    """What is fitted.

    Attributes
    ----------
    X : Table
        Features.
    y : Response
    family, reason : str
        And why it was chosen; empty if the user chose it.
    weight, offset : (n,) or None
    adjustment : dict or None
        What the offset of expression data comes from, in terms of JSON.
    samples : DataFrame or None
        Sample table of expression data.
    """

    X: Table
    y: Response
    family: str
    reason: str
    weight: np.ndarray | None
    offset: np.ndarray | None
    adjustment: dict[str, Any] | None = None
    samples: Any = None


def read_source(options: FitFlags) -> Source:
    """Read the data of a fit.

    Raises
    ------
    ValueError, OSError
        If the file cannot be read, lacks a column, or the target does not suit the family.
    """
    from raytpnn.cli.inputs.expression import is_expression, read_expression_source
    from raytpnn.data.response import as_offset, as_weights
    from raytpnn.data.training import training_table
    from raytpnn.expression.annotation import read_annotation
    from raytpnn.families import get_family
    from raytpnn.storage.places.fetch import local_copy

    assert options["data"] is not None
    assert options["target"] is not None
    data = local_copy(options["data"])
    if is_expression(str(data), options["samples"]):
        if options["event"] is not None:
            raise ValueError(
                "--time and --event are for tables; of expression data, give y to raytpnn.sample in Python"
            )
        return read_expression_source({**options, "data": str(data)})
    refuse_expression_flags(options)
    table = training_table(data, options["streaming"])
    roles = {
        "--time" if options["event"] is not None else "--target": options["target"],
        "--event": options["event"],
        "--sample-weight": options["sample_weight"],
        "--offset": options["offset"],
    }
    taken: dict[str, str] = {}
    for flag, name in roles.items():
        if name is None:
            continue
        check_column(table, name, flag, shown(options["data"]))
        if name in taken:
            raise ValueError(f"column {name!r} cannot be both {taken[name]} and {flag}")
        taken[name] = flag
    for name in options["drop"]:
        check_column(table, name, "--drop", shown(options["data"]))
        if name in taken:
            raise ValueError(f"column {name!r} cannot be both {taken[name]} and --drop")
    # Read once what is wanted, not a column at a time.
    table = table.select([i for i, name in enumerate(table.names) if name not in options["drop"]])
    X = table.drop(list(taken))
    if not X.names:
        raise ValueError(f"{shown(options['data'])} has no feature left beside {', '.join(taken)}")
    cells: Any = column_of(table, options["target"])
    family, reason = options["family"], ""
    if options["event"] is not None:
        cells = cells, column_of(table, options["event"])
        if family is None:
            family, reason = "survival", f"times until an event, seen where {options['event']!r} says so"
        elif not get_family(family).censored:
            raise ValueError(f"--time and --event are not for family {family!r}; take survival or weibull")
    if options["positive"] is not None:
        cells = against_others(cells, options["target"], options["positive"])
    if family is None:
        family, reason = guess_family(cells, options["target"])
    if options["annotation"] is not None:
        X.annotation = read_annotation(options["annotation"])
    y = response(cells, options["target"], get_family(family), options["positive"])
    weight, offset = options["sample_weight"], options["offset"]
    return Source(
        X=X,
        y=y,
        family=family,
        reason=reason,
        weight=None if weight is None else as_weights(column_of(table, weight), table.n_rows),
        offset=None if offset is None else as_offset(column_of(table, offset), table.n_rows),
    )


def refuse_expression_flags(options: FitFlags) -> None:
    """Raise if something is asked for that only expression data have."""
    told: Mapping[str, Any] = options
    for name in ("layer", "orientation", "log2", "min_sd", "collapse", "covariates"):
        if told[name] != FIT.options[name].default:
            flag = flag_name(name)
            raise ValueError(
                f"{flag} is for expression data (a GEO series matrix, .h5ad, or a matrix with --samples); "
                f"{shown(str(options['data']))} is an ordinary table"
            )


def check_column(table: Table, name: str, flag: str, data: str) -> None:
    """Raise if there is no such column."""
    if name not in table.names:
        raise ValueError(f"{data} has no column {name!r} ({flag}){did_you_mean(name, table.names)}")


def column_of(table: Table, name: str) -> np.ndarray:
    """Cells of a column."""
    return table.column(table.index(name))


def against_others(cells: np.ndarray, target: str, positive: Any) -> np.ndarray:
    """Cells of a target of more than two levels as two: the positive one, and "not" it. Tells of it."""
    from raytpnn.data.tables.cells import is_missing, level_text, numbers_or_text

    numeric, values = numbers_or_text(cells, target)
    known = ~is_missing(values)
    levels = np.array([level_text(cell) for cell in values[known]], dtype=object)
    wanted = level_text(positive)
    different = sorted(set(levels))
    if len(different) <= 2 or wanted not in different:
        if len(different) > 2 and not numeric:
            raise ValueError(
                f"--positive {wanted} is no level of target {target!r}{did_you_mean(wanted, different)}; "
                f"there are {len(different)}: {', '.join(map(repr, different[:8]))}"
            )
        return cells
    say(f"target {target!r}: {wanted!r} against its {len(different) - 1} other levels")
    two = np.full(len(values), None, dtype=object)
    two[known] = np.where(levels == wanted, wanted, f"not {wanted}")
    return two


def response(cells: Any, target: str, family: Any, positive: Any) -> Response:
    """Target as the family takes it; `positive` is the class that y = 1 stands for."""
    from raytpnn.data.response import Response, as_response
    from raytpnn.data.tables.cells import is_number, level_text

    try:
        y = as_response(cells, family, len(cells[0]) if isinstance(cells, tuple) else len(cells))
    except (ValueError, TypeError) as problem:
        raise ValueError(f"target {target!r} cannot be used: {problem}") from None
    if positive is None:
        return y
    if y.classes is None:
        raise ValueError(f"--positive {positive} names a class; family {family.name} has none")
    levels: Sequence[str] = [level_text(label) for label in y.classes]
    wanted = level_text(positive)
    # A flag is text: 1.0 and 1 are one class.
    if wanted not in levels and is_number(wanted):
        wanted = level_text(float(wanted))
    if wanted not in levels:
        raise ValueError(
            f"--positive {positive} is no class of target {target!r}: these are {levels[0]!r} and "
            f"{levels[1]!r}"
        )
    return y if wanted == levels[1] else Response(1.0 - y.values, (y.classes[1], y.classes[0]))
