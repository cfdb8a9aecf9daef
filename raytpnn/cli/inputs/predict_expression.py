"""Predictions for the samples of expression data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.cli.inputs.expression import number_column, read_samples

if TYPE_CHECKING:
    import pyarrow as pa

    from raytpnn.expression.expression import Expression

__all__ = ["predictions"]


def predictions(
    post: Any,
    data: str,
    whence: tuple[str | None, str | None, str],
    level: float,
    keep: list[str],
    run: str | None,
    offset: str | None,
) -> tuple[pa.Table, str | None]:
    """Predict every sample, prepared as the training samples were.

    Parameters
    ----------
    post : Posterior
    data : str
    whence : (sample sheet, layer, orientation)
    level : float
        Of predictive intervals.
    keep : list of str
        Columns of the sample table to copy.
    run : str or None
        Whose offset or covariates are added; None adds nothing.
    offset : str or None
        Column of the sample table that is added to f, whatever the run had.

    Returns
    -------
    table : pyarrow Table
        sample, the columns to keep, mean, low and high.
    by : str or None
        What was added to f.
    """
    import pyarrow as pa

    from raytpnn.expression.targets import cells_of, find_column

    expression = read_known(post, data, whence)
    shift, by = shift_of(expression, run, offset)
    columns: dict[str, Any] = {"sample": pa.array(expression.sample_ids)}
    for name in keep:
        cells = cells_of(expression.samples[find_column(expression.samples, name)[0]])
        columns[name] = pa.array(cells, from_pandas=True)
    columns["mean"] = pa.array(post.predict(expression, shift))
    low, high = post.interval(expression, level, shift).T
    columns |= {"low": pa.array(low.copy()), "high": pa.array(high.copy())}
    return pa.table(columns), by


def read_known(post: Any, data: str, whence: tuple[str | None, str | None, str]) -> Expression:
    """Expression data with the features that the run knows, whichever way they lie."""
    samples, layer, orientation = whence
    expression = read_samples(data, samples, layer, orientation)
    known = set(post.encoder.input_names)
    if (
        orientation == "auto"
        and not known & set(expression.feature_ids)
        and known & set(expression.sample_ids)
    ):
        return read_samples(data, samples, layer, "features" if expression.notes else "samples")
    return expression


def shift_of(
    expression: Expression, run: str | None, offset: str | None
) -> tuple[np.ndarray | None, str | None]:
    """What is added to f: a column that was asked for, or what the run was fitted with."""
    from raytpnn.cli.note import read_note
    from raytpnn.expression.adjustment import Adjustment
    from raytpnn.storage.places.place import Place

    if run is None:
        return None, None
    note = read_note(Place(run))
    name = offset or note.get("offset")
    if name:
        return number_column(expression, name, "--offset"), name
    if note.get("adjustment"):
        adjustment = Adjustment.from_json(note["adjustment"])
        return adjustment.offset(expression.samples), ", ".join(c.name for c in adjustment.covariates)
    return None, None
