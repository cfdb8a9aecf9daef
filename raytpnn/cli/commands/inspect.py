"""`raytpnn inspect`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from raytpnn.cli.inputs.flags import with_flags
from raytpnn.cli.inputs.options import INSPECT, InspectFlags, merge

if TYPE_CHECKING:
    import numpy as np

    from raytpnn.expression.expression import Expression

__all__ = ["inspect"]

FEW_LEVELS = 6
LONGEST = 44
# With more levels than this share of the samples, text is free text: a title, a name.
FREE_TEXT = 0.5


@with_flags(INSPECT)
def inspect(**given: Unpack[InspectFlags]) -> None:
    """Show what is in expression data: the scale of the values, and what could be a target."""
    from raytpnn.cli.inputs.expression import read_samples
    from raytpnn.cli.screen.text import new_console, tell

    options: InspectFlags = merge(given, INSPECT)
    data, samples = Path(options["data"]), options["samples"]
    expression = read_samples(str(data), samples, options["layer"], options["orientation"])
    console = new_console()
    tell(console, f"{data.name}: {expression.n_samples:,} samples x {expression.n_features:,} features")
    ids, features = expression.sample_ids, expression.feature_ids
    tell(console, f"samples {ids[0]} ... {ids[-1]}; features {features[0]} ... {features[-1]}")
    for line in about_values(expression):
        tell(console, line)
    tell(console)
    useful = show_targets(expression, console)
    if useful:
        name = shlex.quote(str(data)) + (f" --samples {shlex.quote(samples)}" if samples else "")
        tell(console, "\nFor example:")
        tell(console, f"  raytpnn fit {name} {useful} --out RUN")


def about_values(expression: Expression) -> list[str]:
    """Say what the values look like."""
    import numpy as np

    from raytpnn.data.preparation import prepare

    values = expression.values
    cells = values.data if not isinstance(values, np.ndarray) else values
    lines = []
    if isinstance(values, np.ndarray):
        missing = sum(
            int(np.isnan(values[:, start : start + 4096]).sum()) for start in range(0, values.shape[1], 4096)
        )
        empty = sum(
            int(np.isnan(values[:, start : start + 4096]).all(axis=0).sum())
            for start in range(0, values.shape[1], 4096)
        )
        low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
        told = f"values from {low:g} to {high:g}"
        lines.append(f"{told}, {missing:,} missing" + (f", {empty:,} features without any" if empty else ""))
    else:
        share = cells.size / max(values.shape[0] * values.shape[1], 1)
        high = float(cells.max()) if cells.size else 0.0
        lines.append(f"sparse: {share:.1%} of the values are stored, the largest is {high:g}")
    if expression.n_samples > 1:
        lines += [f"as fit takes them: {line}" for line in prepare(expression).preparation.sentences()]
    return lines


def show_targets(expression: Expression, console: Any) -> str:
    """Print what is known about the samples; flags of a good target, or nothing."""
    from rich.text import Text

    from raytpnn.cli.screen.text import new_table, tell
    from raytpnn.expression.targets import cells_of, level_counts

    table = new_table("could be a target", "kind", "known", "levels")
    table.columns[-1].justify, table.columns[-1].no_wrap = "left", False
    alike, useful = [], ""
    for column in expression.samples.columns:
        cells = cells_of(expression.samples[column])
        counts = level_counts(cells)
        known = sum(counts.values())
        if len(counts) < 2:
            alike.append(str(column))
            continue
        kind, levels = describe(cells, counts)
        table.add_row(Text(str(column)), kind, str(known), Text(levels))
        first = next(iter(counts))
        if not useful and kind == "levels" and len(first) <= LONGEST:
            useful = f"--target {shlex.quote(str(column))} --positive {shlex.quote(first)}"
    if not table.row_count:
        tell(console, "Nothing is known about the samples that could be a target; give --samples SHEET.csv")
    else:
        console.print(table)
    if alike:
        tell(console, f"\nThe same in all samples: {', '.join(alike)}")
    return useful


def describe(cells: np.ndarray, counts: dict[str, int]) -> tuple[str, str]:
    """Kind of a column, and its levels or its range."""
    import numpy as np

    from raytpnn.report.names import shorten

    if cells.dtype.kind == "f" and len(counts) > FEW_LEVELS:
        return "numbers", f"{np.nanmin(cells):g} to {np.nanmax(cells):g}"
    known = sum(counts.values())
    leading = list(counts.items())[:FEW_LEVELS]
    listed = ", ".join(f"{shorten(level, LONGEST)} ({count})" for level, count in leading)
    if cells.dtype.kind != "f" and len(counts) > max(2, FREE_TEXT * known):
        shown = shorten(next(iter(counts)), LONGEST)
        return "free text", f"{len(counts)} different, such as '{shown}': --positive '~PATTERN'"
    more = f" and {len(counts) - FEW_LEVELS} more" if len(counts) > FEW_LEVELS else ""
    return "levels", f"{listed}{more}"
