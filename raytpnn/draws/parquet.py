"""Draws as Parquet: one row per draw, scalars as columns, terms as list columns.

A file holds draws of one chain and belongs at `draws/chain=C/block=B.parquet`; the chain's number is in the
path, as Arrow and pandas expect of a partitioned data set. Columns: `draw` int32; `loglik`, `intercept`,
`nuisance`, `b_gamma`, `sigma_beta2` double; and, with one element per term, `beta` list<double>, `features`
list<list<int32>> (positions in the manifest's `feature_names`), `b` and `gamma` list<list<double>>. Families
of several outputs have two columns more: `output` list<int32>, of every term, and `intercepts` list<double>,
of every output; `intercept` is that of the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.draws.draws import Draws
from raytpnn.storage.formats.list_columns import combined, numbers, starts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "KINDS", "OPTIONAL", "draws_from_arrow", "draws_to_arrow"]

SCALARS = ("loglik", "intercept", "nuisance", "b_gamma", "sigma_beta2")
FACTORS = {"features": "feature", "b": "b", "gamma": "gamma"}
COLUMNS = ("draw", *SCALARS, "beta", *FACTORS)
# What a column of a file must hold, see `raytpnn.storage.formats.parquet_files`.
KINDS = {
    "draw": "whole",
    **dict.fromkeys(SCALARS, "number"),
    "beta": "list number",
    "features": "list list whole",
    "b": "list list number",
    "gamma": "list list number",
}
# What those of several outputs hold too.
OPTIONAL = {"output": "list whole", "intercepts": "list number"}


def draws_to_arrow(draws: Draws, first: int = 0, last: int | None = None) -> pa.Table:
    """Arrow table of draws first ... last - 1, which should be of one chain."""
    import pyarrow as pa

    last = draws.n_draws if last is None else last
    term_start = draws.term_start[first : last + 1]
    first_term, last_term = int(term_start[0]), int(term_start[-1])
    variable_start = draws.variable_start[first_term : last_term + 1]
    variables = slice(int(variable_start[0]), int(variable_start[-1]))
    of_draw = pa.array((term_start - first_term).astype(np.int32))
    of_term = pa.array((variable_start - variables.start).astype(np.int32))
    columns = {"draw": pa.array(draws.draw[first:last].astype(np.int32))}
    for name in SCALARS:
        columns[name] = pa.array(getattr(draws, name)[first:last])
    columns["beta"] = pa.ListArray.from_arrays(of_draw, pa.array(draws.beta[first_term:last_term]))
    for name, field in FACTORS.items():
        factors = pa.ListArray.from_arrays(of_term, pa.array(getattr(draws, field)[variables]))
        columns[name] = pa.ListArray.from_arrays(of_draw, factors)
    if draws.n_outputs > 1:
        each = draws.n_outputs
        columns["output"] = pa.ListArray.from_arrays(of_draw, pa.array(draws.output[first_term:last_term]))
        of_outputs = pa.array(np.arange(0, each * (last - first) + 1, each, dtype=np.int32))
        flat = pa.array(np.ascontiguousarray(draws.intercepts[first:last]).ravel())
        columns["intercepts"] = pa.ListArray.from_arrays(of_outputs, flat)
    return pa.table(columns)


def outputs_from_arrow(table: pa.Table, term_start: np.ndarray) -> dict[str, np.ndarray]:
    """Fields of `Draws` on outputs; none if the file has no such columns."""
    if "output" not in table.column_names or "intercepts" not in table.column_names:
        return {}
    output, intercepts = combined(table, "output"), combined(table, "intercepts")
    if not np.array_equal(starts(output), term_start):
        raise ValueError("columns 'beta' and 'output' do not agree in their lengths")
    lengths = np.unique(np.diff(starts(intercepts)))
    if len(lengths) > 1:
        raise ValueError("draws have different numbers of intercepts")
    flat = numbers(intercepts.flatten(), np.float64)
    return {
        "output": numbers(output.flatten(), np.int32),
        "intercepts": flat.reshape(len(table), int(lengths[0]) if len(lengths) else 1),
    }


def draws_from_arrow(table: pa.Table, chain: int) -> Draws:
    """Draws of what `draws_to_arrow` gave.

    Raises
    ------
    ValueError
        If a column is missing, or list columns do not agree in their lengths.
    """
    absent = [name for name in COLUMNS if name not in table.column_names]
    if absent:
        raise ValueError(f"it has no column {absent[0]!r}")
    beta = combined(table, "beta")
    factors = {name: combined(table, name) for name in FACTORS}
    term_start = starts(beta)
    variable_start = starts(factors["features"].flatten())
    for name, column in factors.items():
        same = np.array_equal(starts(column), term_start)
        if not same or not np.array_equal(starts(column.flatten()), variable_start):
            raise ValueError(f"columns 'features' and {name!r} do not agree in their lengths")
    return Draws(
        chain=np.full(len(table), chain, np.int32),
        draw=table["draw"].to_numpy().astype(np.int32),
        **{name: np.array(table[name].to_numpy(), np.float64) for name in SCALARS},
        term_start=term_start,
        beta=numbers(beta.flatten(), np.float64),
        variable_start=variable_start,
        feature=numbers(factors["features"].flatten().flatten(), np.int32),
        b=numbers(factors["b"].flatten().flatten(), np.float64),
        gamma=numbers(factors["gamma"].flatten().flatten(), np.float64),
        **outputs_from_arrow(table, term_start),
    )
