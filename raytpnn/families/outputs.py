"""Families whose law is made of several functions of a row.

Wherever a family takes an f, one of several outputs takes records: an array whose fields are its outputs by
name, so that whoever indexes rows and draws need not know how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from raytpnn.families.base import Family

__all__ = ["OneOutput", "OutputsFamily", "as_records", "numbers_of"]


def as_records(parts: Sequence[np.ndarray], names: Sequence[str]) -> np.ndarray:
    """One array of records from an array for each output, all of one shape."""
    kind = np.dtype([(name, np.float64) for name in names])
    return np.ascontiguousarray(np.stack(parts, axis=-1), np.float64).view(kind)[..., 0]


def numbers_of(f: np.ndarray) -> np.ndarray:
    """Numbers of records, the outputs in a last axis."""
    f = np.ascontiguousarray(f)
    return f.view(np.float64).reshape(*f.shape, len(f.dtype.names or ()))


class OutputsFamily(Family):
    """A family of several outputs; `reference_rows` takes all their fits and which one is at hand, too."""

    outputs: tuple[str, ...]

    def start(self, y, offset):
        """That of the first output."""
        return self.starts(y, offset)[0]


class OneOutput(Family):
    """One output of a family, as a function that can be asked on its own: f is its own mean.

    It has no response and no likelihood: questions about these are for the family.

    Parameters
    ----------
    whole : Family
    output : str
    information : float
        Of a row about f.
    """

    identity_mean = True

    def __init__(self, whole: Family, output: str, information: float) -> None:
        self.name = f"{whole.name}[{output}]"
        self.output = output
        self.code = whole.code
        self.description = whole.description
        self.of_row = information

    def refuse(self, *_: object) -> float:
        """Raise: an output has no law of its own."""
        raise ValueError(f"{self.name} is one output of a family; ask the whole posterior about responses")

    start = refuse  # type: ignore[assignment]
    reference_rows = variance = log_density = cdf = quantile = sample = refuse  # type: ignore[assignment]

    def information(self, f, dispersion=1.0):
        """The same everywhere."""
        return np.full(np.shape(f), self.of_row)

    def mean(self, f):
        """F."""
        return f

    def link(self, mean):
        """The mean."""
        return mean
