"""Expression data: a matrix of samples x features with a table of samples, from whatever file it came in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.gene_symbols import Annotation
from raytpnn.data.tables.tables import ArrayTable, SparseTable, Table

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.data.response import Response

__all__ = ["Expression", "read_expression"]

ORIENTATIONS = ("auto", "features", "samples")


@dataclass(frozen=True, eq=False)
class Expression:
    """Samples x features with what is known about the samples.

    `raytpnn.sample`, `Posterior.predict` and everything else that takes a table takes it.

    Attributes
    ----------
    values : (n, p) float32 array or SciPy sparse matrix
        NaN is missing. In arrays read from files with one row per feature, a feature's values stand together.
    feature_ids : tuple of p str
        Probes or genes, all different.
    samples : DataFrame
        One row per sample, indexed by sample id. Its columns can be targets or covariates, not features.
    source : str
        Name of the file.
    notes : tuple of str
        What was done to the data when they were read.
    annotation : Annotation or None
        Gene symbols, if the file brought them.
    """

    values: Any
    feature_ids: tuple[str, ...]
    samples: pd.DataFrame
    source: str = ""
    notes: tuple[str, ...] = ()
    annotation: Annotation | None = None

    def __repr__(self) -> str:
        return f"Expression({self.n_samples:,} samples, {self.n_features:,} features, {self.source!r})"

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return int(self.values.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features p."""
        return int(self.values.shape[1])

    @property
    def sample_ids(self) -> list[str]:
        """Names of the samples."""
        return [str(name) for name in self.samples.index]

    def take(self, rows: Sequence[int] | np.ndarray) -> Expression:
        """Some samples, by position or by a mask, in the order given."""
        chosen = np.asarray(rows)
        if chosen.dtype == bool:
            if len(chosen) != self.n_samples:
                raise ValueError(f"the mask has {len(chosen)} values for {self.n_samples} samples")
            chosen = np.flatnonzero(chosen)
        if np.array_equal(chosen, np.arange(self.n_samples)):
            return self
        if isinstance(self.values, np.ndarray):
            # Keep the values of a feature together where they are.
            by_feature = self.values.flags.f_contiguous and not self.values.flags.c_contiguous
            values = np.take(self.values.T, chosen, axis=1).T if by_feature else self.values[chosen]
        else:
            values = self.values.tocsr()[chosen].tocsc()
        return replace(self, values=values, samples=self.samples.iloc[chosen])

    def target(self, name: str, positive: Any = None) -> tuple[Response, np.ndarray, str]:
        """See `raytpnn.expression.targets.target_of`."""
        from raytpnn.expression.targets import target_of

        return target_of(self, name, positive)

    def as_table(self) -> Table:
        """Features as named columns, without a copy."""
        table: Table = (
            ArrayTable(self.values) if isinstance(self.values, np.ndarray) else SparseTable(self.values)
        )
        table.names = self.feature_ids
        table.named = True
        table.annotation = self.annotation
        return table


def read_expression(
    path: str | os.PathLike[str] | Any,
    *,
    samples: str | os.PathLike[str] | None = None,
    layer: str | None = None,
    orientation: str = "auto",
) -> Expression:
    """Read expression data.

    Parameters
    ----------
    path : path or AnnData
        A GEO series matrix (plain or gzip, recognised by its content), .h5ad (AnnData), .h5 (10x), or a
        matrix in CSV, TSV (also compressed), Parquet or Feather; or an AnnData object.
    samples : path, optional
        Sample sheet: a table one of whose columns holds the sample ids. Its rows may stand in any order.
        Samples that it lacks are left out, which `notes` says.
    layer : str, optional
        Of AnnData: a layer, or "raw"; X if not given.
    orientation : {"auto", "features", "samples"}
        What the rows of a CSV, TSV, Parquet or Feather file are. "auto" goes by the ids of the sample sheet,
        or by the look of the table.

    Returns
    -------
    Expression

    Raises
    ------
    ValueError, FileNotFoundError
        If a file cannot be read; the message names the file, and the line where there is one.
    """
    from raytpnn.expression.sample_sheet import SampleSheet

    if orientation not in ORIENTATIONS:
        raise ValueError(f"orientation must be one of {', '.join(ORIENTATIONS)}, not {orientation!r}")
    sheet = None if samples is None else SampleSheet(Path(samples))
    if not isinstance(path, (str, os.PathLike)):
        from raytpnn.expression.anndata_files import from_anndata

        return joined(from_anndata(path, layer), sheet)
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no file {str(file)!r}" + (": it is a folder" if file.is_dir() else ""))
    from raytpnn.data.tables.files import ending_of, is_expression_file
    from raytpnn.expression.matrix_files import read_matrix

    if ending_of(file) in (".h5ad", ".h5"):
        from raytpnn.expression.anndata_files import read_h5

        return joined(read_h5(file, layer), sheet)
    if layer is not None:
        raise ValueError(f"{str(file)!r} has no layers; layer={layer!r} is for .h5ad files")
    if is_expression_file(file):
        from raytpnn.expression.series_matrix import read_series_matrix

        values, ids, table = read_series_matrix(file)
        return joined(assemble(values, ids, table, file.name, []), sheet)
    matrix = read_matrix(file, sheet, orientation)
    return assemble(matrix.values, matrix.feature_ids, matrix.samples, file.name, matrix.notes)


def assemble(
    values: Any,
    feature_ids: Sequence[str],
    samples: pd.DataFrame,
    source: str,
    notes: Sequence[str],
    annotation: Annotation | None = None,
) -> Expression:
    """Put together what was read, with feature ids that differ."""
    unique, remarks = distinct(feature_ids)
    if values.shape[0] < 1 or values.shape[1] < 1:
        raise ValueError(f"{source!r} holds {values.shape[0]} samples and {values.shape[1]} features")
    return Expression(values, unique, samples, source, (*notes, *remarks), annotation)


def distinct(ids: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Ids that differ: the second "CD24" becomes "CD24 (2)". And what to say about it."""
    if len(set(ids)) == len(ids):
        return tuple(ids), []
    count: dict[str, int] = {}
    taken, unique = set(ids), []
    for name in ids:
        count[name] = count.get(name, 0) + 1
        new = name if count[name] == 1 else f"{name} ({count[name]})"
        while count[name] > 1 and new in taken:
            count[name] += 1
            new = f"{name} ({count[name]})"
        taken.add(new)
        unique.append(new)
    twice = [name for name, number in count.items() if number > 1]
    from raytpnn.data.tables.tables import quoted

    return tuple(unique), [
        f"{len(twice)} feature id(s) stand for several features, numbered (2), (3), ...: {quoted(twice)}"
    ]


def joined(expression: Expression, sheet: Any) -> Expression:
    """Add the columns of a sample sheet to data that have a sample table of their own."""
    if sheet is None:
        return expression
    table, known, notes = sheet.align(expression.sample_ids)
    kept = expression.take(known)
    own = kept.samples[[name for name in kept.samples if name not in table]]
    return replace(kept, samples=own.join(table), notes=(*kept.notes, *notes))
