"""Rows to split, and how the rows of a training part become what is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.response import Response
from raytpnn.data.tables.tables import Table

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.data.gene_symbols import Annotation

__all__ = ["Cases", "RowsOf"]


class RowsOf(Table):
    """Some rows of a table.

    Parameters
    ----------
    parent : Table
    rows : (k,) int64
    """

    def __init__(self, parent: Table, rows: np.ndarray) -> None:
        self.parent = parent
        self.rows = rows
        self.names, self.named = parent.names, parent.named
        self.preparation, self.annotation = parent.preparation, parent.annotation

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def plain(self) -> np.ndarray:
        """Which columns hold numbers."""
        return self.parent.plain

    def column(self, i: int) -> np.ndarray:
        """Cells of a column."""
        return self.parent.column(i)[self.rows]

    def block(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        """Several columns at once, (k, rows)."""
        return np.take(self.parent.block(columns), self.rows, axis=1)


@dataclass(frozen=True, eq=False)
class Cases:
    """All rows, and everything that a training part must fit for itself.

    Attributes
    ----------
    table : Table
    y : Response
    family : str
    weight, offset : (n,) float64 or None
    preparation : dict or None
        Options of `raytpnn.data.preparation.prepare` for expression data. None: the table is taken as it is.
    samples : DataFrame or None
        Sample table that `covariates` are columns of.
    covariates : tuple of str
        Their own effect becomes an offset; see `raytpnn.expression.adjustment`.
    annotation : Annotation or None
        Names of genes.
    """

    table: Table
    y: Response
    family: str
    weight: np.ndarray | None = None
    offset: np.ndarray | None = None
    preparation: dict[str, Any] | None = None
    samples: pd.DataFrame | None = None
    covariates: tuple[str, ...] = ()
    annotation: Annotation | None = field(default=None)

    def training(self, rows: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        """X, y, weights and offset of a training part, as `raytpnn.sample` takes them.

        Parameters
        ----------
        rows : (k,) int64
        y : (n,) float64
            Response of all rows: the true one, or a permutation of it.
        """
        X: Table = RowsOf(self.table, rows)
        if self.preparation is not None:
            from raytpnn.data.preparation import prepare

            X = prepare(X, annotation=self.annotation, **self.preparation)
        elif self.annotation is not None:
            X.annotation = self.annotation
        return {
            "X": X,
            "y": Response(y[rows], self.y.classes),
            "family": self.family,
            "sample_weight": None if self.weight is None else self.weight[rows],
            "offset": self.offset_of(rows, rows, y),
        }

    def offset_of(self, train: np.ndarray, rows: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """Offset of some rows, (k,), of covariates by what the training part says about them."""
        if not self.covariates:
            return None if self.offset is None else self.offset[rows]
        from raytpnn.expression.adjustment import Adjustment

        assert self.samples is not None
        fitted = Adjustment.fit(self.samples.iloc[train], self.covariates, y[train], self.family)
        return fitted.offset(self.samples.iloc[rows])
