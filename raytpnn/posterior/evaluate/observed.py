"""Responses that a user gives to compare predictions with."""

from __future__ import annotations

from typing import Any

import numpy as np

from raytpnn.families import Family

__all__ = ["as_shift", "encode_response"]


def encode_response(y: Any, family: Family, classes: tuple[Any, ...] | None) -> np.ndarray:
    """Responses as the model sees them, (n,) float64.

    Parameters
    ----------
    y : (n,)
        Class labels if the model was fitted to labels, else numbers.
    family : Family
    classes : tuple, optional
        Labels of 0, 1, ...

    Raises
    ------
    ValueError
        Naming the first value that is not a known class, not a finite number, or not of the family.
    """
    if family.censored:
        from raytpnn.data.survival import as_times

        return as_times(y)
    values = np.asarray(y)
    if values.ndim != 1:
        raise ValueError(f"y must have one dimension, not shape {values.shape}")
    if classes is not None:
        known = np.stack([values == label for label in classes])
        unknown = np.flatnonzero(~known.any(axis=0))
        if len(unknown):
            listed = [repr(label) for label in classes]
            labels = ", ".join(listed[:-1]) + " and " + listed[-1]
            bad_label = values.tolist()[unknown[0]]
            raise ValueError(f"y is {bad_label!r} in row {unknown[0]}; the classes are {labels}")
        return np.argmax(known, axis=0).astype(np.float64)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}") from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(f"y is {numbers[bad[0]]} in row {bad[0]}; it must be finite")
    problem = family.problem(numbers)
    if problem is not None:
        raise ValueError(f"y does not suit the {family.name} family: {problem}")
    return numbers


def as_shift(offset: Any, n: int) -> np.ndarray:
    """Offset of n rows, (n,) float64: zeros if there is none; one number serves all rows.

    Raises
    ------
    ValueError
        If its shape is another or a value is not finite.
    """
    if offset is None:
        return np.zeros(n)
    values = np.asarray(offset, np.float64)
    if values.ndim == 0:
        # One number serves all rows, as in a fit.
        values = np.full(n, values)
    if values.shape != (n,):
        raise ValueError(
            f"offset has shape {values.shape}, but X has {n} rows: it needs shape ({n},) or one number"
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"offset is {values[bad[0]]} in row {bad[0]}; it must be finite")
    return values
