"""AnnData: objects in memory, .h5ad files through the package anndata, and 10x .h5 files through h5py."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.gene_symbols import Annotation
from raytpnn.data.tables.tables import quoted
from raytpnn.expression.expression import Expression, assemble

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_anndata", "read_h5"]

# Columns of `var` that hold gene symbols, where the index does not.
SYMBOLS = ("gene_symbols", "gene_symbol", "feature_name", "gene_name", "gene_names", "symbol")
ACCESSIONS = ("gene_ids", "ensembl_id", "accession")


def read_h5(path: Path, layer: str | None = None) -> Expression:
    """Read an .h5ad file, or a 10x .h5 file.

    Parameters
    ----------
    path : Path
    layer : str, optional
        Name of a layer, or "raw"; X if not given. Of a 10x file a type of features.

    Raises
    ------
    ImportError
        If AnnData is not installed.
    ValueError
        If the file is neither, or has no such layer.
    """
    try:
        import h5py
    except ImportError:
        raise ImportError(".h5ad files need AnnData; install it with: pip install 'raytpnn[h5ad]'") from None
    try:
        with h5py.File(path, "r") as file:
            if "matrix" in file and "X" not in file:
                return from_10x(file, path, layer)
    except (KeyError, OSError) as problem:
        raise ValueError(f"cannot read {str(path)!r}: {problem}") from None
    try:
        import anndata
    except ImportError:
        raise ImportError(".h5ad files need AnnData; install it with: pip install 'raytpnn[h5ad]'") from None
    try:
        with warnings.catch_warnings():
            # What it says of files of old versions is not for those who fit.
            warnings.simplefilter("ignore")
            data = anndata.read_h5ad(path)
    except Exception as problem:
        raise ValueError(f"{str(path)!r} is damaged or no AnnData file: {problem}") from None
    return from_anndata(data, layer, path.name)


GENES = "Gene Expression"


def from_10x(file: Any, path: Path, layer: str | None = None) -> Expression:
    """Content of a 10x .h5 file (Cell Ranger 3 or later): features x cells, compressed by cell.

    Files of several types of features (antibodies, guides) give those of genes, or of the type that `layer`
    names; what is left out is told.
    """
    import pandas as pd
    from scipy import sparse

    group = file["matrix"]
    n_features, n_cells = (int(size) for size in group["shape"][:])
    parts = (group["data"][:].astype(np.float32), group["indices"][:], group["indptr"][:])
    values = sparse.csr_matrix(parts, shape=(n_cells, n_features)).tocsc()
    features = group["features"]
    ids = texts(features["id"][:])
    symbols = dict(zip(ids, texts(features["name"][:]), strict=True)) if "name" in features else {}
    samples = pd.DataFrame(index=pd.Index(texts(group["barcodes"][:]), name="sample"))
    kinds = texts(features["feature_type"][:]) if "feature_type" in features else [GENES] * n_features
    keep, notes = features_of_type(kinds, layer, path)
    if not keep.all():
        values, ids = (
            values[:, np.flatnonzero(keep)],
            [name for name, kept in zip(ids, keep, strict=True) if kept],
        )
    return assemble(values, ids, samples, path.name, notes, Annotation(symbols))


def features_of_type(kinds: list[str], layer: str | None, path: Path) -> tuple[np.ndarray, list[str]]:
    """Which features of a 10x file are taken, (p,) bool, and what to tell of the others."""
    different = sorted(set(kinds))
    wanted = layer or (GENES if GENES in different else different[0] if len(different) == 1 else None)
    if wanted not in different:
        raise ValueError(
            f"{str(path)!r} has features of the types {quoted(different)}; choose one with --layer "
            f"(layer= in Python), not {wanted!r}"
        )
    keep = np.array([kind == wanted for kind in kinds])
    if keep.all():
        return keep, []
    others = ", ".join(f"{kinds.count(kind):,} of type {kind!r}" for kind in different if kind != wanted)
    return keep, [
        f"took {int(keep.sum()):,} features of type {wanted!r}; left out {others} (--layer takes one)"
    ]


def texts(cells: Any) -> list[str]:
    """Cells as text."""
    return [cell.decode() if isinstance(cell, bytes) else str(cell) for cell in np.asarray(cells).tolist()]


def annotation_of(ids: list[str], genes: pd.DataFrame) -> Annotation | None:
    """Symbols and accessions that `var` holds."""
    found = []
    for names in (SYMBOLS, ACCESSIONS):
        name = next((name for name in names if name in genes), None)
        cells = [] if name is None else [str(cell) for cell in genes[name].tolist()]
        pairs = zip(ids, cells, strict=False)
        found.append({key: cell for key, cell in pairs if cell not in ("", "nan", "None") and cell != key})
    return Annotation(*found) if any(found) else None


def from_anndata(data: Any, layer: str | None = None, source: str = "AnnData") -> Expression:
    """Take an AnnData object.

    Raises
    ------
    TypeError
        If it is none.
    ValueError
        If it has no such layer.
    """
    from scipy import sparse

    if not all(hasattr(data, name) for name in ("X", "obs", "var")):
        raise TypeError(f"expression data are a path or an AnnData object, not {type(data).__name__}")
    if layer == "raw" and getattr(data, "raw", None) is not None:
        matrix, genes = data.raw.X, data.raw.var
    elif layer is None or layer in data.layers:
        matrix, genes = (data.X if layer is None else data.layers[layer]), data.var
    else:
        choices = [*data.layers, *(["raw"] if getattr(data, "raw", None) is not None else [])]
        raise ValueError(f"{source} has no layer {layer!r}; it has {quoted(choices, 12) or 'none'}")
    ids = [str(name) for name in genes.index]
    if sparse.issparse(matrix):
        sparse_values: Any = matrix
        values: Any = sparse_values.tocsc().astype(np.float32, copy=False)
    else:
        values = np.asarray(matrix).astype(np.float32, copy=False)
    # Cells of categories as text, with None where one is missing.
    samples = data.obs.apply(
        lambda column: (
            column.astype(object).where(column.notna(), None) if column.dtype == "category" else column
        )
    )
    samples.index = samples.index.astype(str)
    samples.index.name = "sample"
    return assemble(values, ids, samples, source, [], annotation_of(ids, genes))
