"""Rows to look at: those of training, which are kept encoded, or new ones of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.encoding.encoder import MISSING, NUMERIC
from raytpnn.forward.norms import evenly_spaced
from raytpnn.report.names import number

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["Rows", "choose_rows", "column_text", "pick", "thin_rows"]


@dataclass(frozen=True)
class Rows:
    """Encoded rows.

    Attributes
    ----------
    codes : (k, n)
        Codes of the features in use, as a `Predictor` takes them.
    offset : (n,) float64
    y : (n,) float64 or None
        Response, if known; 0 and 1 for two classes.
    number : (n,) int64
        Place of a row among the training rows, or in the user's table.
    training : bool
        Whether the model was fitted to these rows.
    """

    codes: np.ndarray
    offset: np.ndarray
    y: np.ndarray | None
    number: np.ndarray
    training: bool

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.codes.shape[1]

    def take(self, at: np.ndarray) -> Rows:
        """Give some of the rows, by place."""
        y = None if self.y is None else self.y[at]
        return Rows(self.codes[:, at], self.offset[at], y, self.number[at], self.training)


def choose_rows(post: Posterior, X: Any = None, y: Any = None, offset: Any = None) -> Rows:
    """Give the training rows, or those of X if it is given.

    Parameters
    ----------
    post : Posterior
    X : table, optional
    y : (n,), optional
        Responses to X; class labels for two classes.
    offset : (n,), optional
        Of X.

    Raises
    ------
    ValueError
        If y or offset come without X, or with another number of rows.
    """
    if X is None:
        for name, value in (("y", y), ("offset", offset)):
            if value is not None:
                raise ValueError(f"{name} was given without X; give both, or neither for the training rows")
        return Rows(post.training_codes(), post.offset, post.y, np.arange(post.bins.n_rows), True)
    codes, shift = post.encode_rows(X, offset)
    response = None if y is None else post.encode_response(y)
    if response is not None and len(response) != codes.shape[1]:
        raise ValueError(f"y has {len(response)} values but X has {codes.shape[1]} rows")
    return Rows(codes, shift, response, np.arange(codes.shape[1]), False)


def thin_rows(rows: Rows, most: int) -> Rows:
    """At most `most` rows, evenly spaced."""
    return rows if rows.n <= most else rows.take(evenly_spaced(rows.n, most))


def pick(rows: Rows, wanted: Sequence[int] | np.ndarray) -> Rows:
    """Give the rows with the given numbers; negative ones count from the end.

    Raises
    ------
    ValueError
        Naming the first number that is not a row.
    """
    places = []
    for row in np.atleast_1d(np.asarray(wanted)).tolist():
        if isinstance(row, bool) or not isinstance(row, int):
            raise ValueError(f"rows must be whole numbers, counted from 0, not {row!r}")
        if not -rows.n <= row < rows.n:
            raise ValueError(f"there is no row {row}: there are {rows.n}, numbered 0 to {rows.n - 1}")
        places.append(row % rows.n)
    return rows.take(np.array(places, np.int64))


def column_text(post: Posterior, column: int, row: Rows) -> str:
    """Say what an input column is in a row: "= 3.2", "= Ulm", "is missing".

    The typical value of the bin stands for a number, with "≈" where the bin holds several. Of a column of
    text only the levels that some draw uses are known; where it is none of them, these are named.
    """
    encoder = post.encoder
    levels = encoder.levels.get(column, ())
    excluded = set()
    for place, feature in enumerate(post.ensemble.used):
        if encoder.column[feature] != column:
            continue
        code, kind = int(row.codes[place, 0]), encoder.kind[feature]
        if kind == MISSING:
            if code:
                return "is missing"
            continue
        if code == post.bins.missing_code:
            return "is missing"
        if kind == NUMERIC:
            sign = "=" if encoder.exact[feature] else "≈"
            return f"{sign} {number(float(encoder.representatives(feature)[code]))}"
        if code:
            return f"= {levels[int(encoder.level[feature])]}"
        excluded.add(levels[int(encoder.level[feature])])
    left = [level for level in levels if level not in excluded]
    if levels:
        return f"= {left[0]}" if len(left) == 1 else f"is not {', '.join(sorted(excluded))}"
    return "is known"
