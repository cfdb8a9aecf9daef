"""AnnData: .h5ad files and 10x .h5 files through h5py, and AnnData objects in memory.

Files are read with h5py alone: the layout is AnnData's published one, and nothing but the matrix, `obs` and
the names of `var` is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.gene_symbols import Annotation
from raytpnn.data.tables.tables import quoted
from raytpnn.expression.expression import Expression, assemble
from raytpnn.expression.sample_lines import as_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_anndata", "read_h5"]

# Columns of `var` that hold gene symbols, where the index does not.
SYMBOLS = ("gene_symbols", "gene_symbol", "feature_name", "gene_name", "gene_names", "symbol")
ACCESSIONS = ("gene_ids", "ensembl_id", "accession")
# Cells read at once from a dense matrix: 16 MB.
SLAB_CELLS = 1 << 22


def read_h5(path: Path, layer: str | None = None) -> Expression:
    """Read an .h5ad file, or a 10x .h5 file.

    Parameters
    ----------
    path : Path
    layer : str, optional
        Name of a layer, or "raw"; X if not given.

    Raises
    ------
    ImportError
        If h5py is not installed.
    ValueError
        If the file is neither, or has no such layer.
    """
    try:
        import h5py
    except ImportError:
        raise ImportError(".h5ad files need h5py; install it with: pip install 'raytpnn[h5ad]'") from None
    try:
        file = h5py.File(path, "r")
    except OSError as problem:
        raise ValueError(f"cannot read {str(path)!r}: {problem}") from None
    with file:
        try:
            return (
                from_10x(file, path, layer)
                if "matrix" in file and "X" not in file
                else from_h5ad(file, path, layer)
            )
        except (KeyError, OSError) as problem:
            raise ValueError(f"{str(path)!r} is damaged or no AnnData file: {problem}") from None


def from_h5ad(file: Any, path: Path, layer: str | None) -> Expression:
    """Content of an .h5ad file."""
    layers = list(file["layers"]) if "layers" in file else []
    if layer is None:
        place, var = "X", "var"
    elif layer == "raw" and ("raw" in file or "raw.X" in file):
        # The dot is that of the oldest files.
        place, var = ("raw/X", "raw/var") if "raw" in file else ("raw.X", "raw.var")
    elif layer in layers:
        place, var = f"layers/{layer}", "var"
    else:
        choices = quoted([*layers, *(["raw"] if "raw" in file or "raw.X" in file else [])], 12) or "none"
        raise ValueError(f"{str(path)!r} has no layer {layer!r}; it has {choices}")
    if place not in file:
        raise ValueError(f"{str(path)!r} is no AnnData file: it has no {place}")
    values = read_values(file[place])
    samples, genes = read_frame(file["obs"]), read_frame(file[var])
    if values.shape != (len(samples), len(genes)):
        raise ValueError(
            f"{str(path)!r}: {place} is {values.shape[0]} x {values.shape[1]}, but there are {len(samples)} "
            f"cells and {len(genes)} genes"
        )
    ids = [str(name) for name in genes.index]
    return assemble(values, ids, samples, path.name, [], annotation_of(ids, genes))


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


def read_values(item: Any) -> Any:
    """Matrix of a file: (n, p) float32, or sparse by columns."""
    from scipy import sparse

    encoding = str(item.attrs.get("encoding-type", item.attrs.get("h5sparse_format", "array")))
    if hasattr(item, "keys"):
        n, p = (int(size) for size in item.attrs.get("shape", item.attrs.get("h5sparse_shape")))
        parts = (item["data"][:].astype(np.float32, copy=False), item["indices"][:], item["indptr"][:])
        kind = sparse.csc_matrix if encoding.startswith("csc") else sparse.csr_matrix
        return kind(parts, shape=(n, p)).tocsc()
    n, p = item.shape
    # A feature's values together, as the encoder reads them; never a second copy of all.
    values = np.empty((p, n), np.float32)
    step = max(1, SLAB_CELLS // max(p, 1))
    for start in range(0, n, step):
        values[:, start : start + step] = item[start : start + step].T
    return values.T


def read_frame(group: Any) -> pd.DataFrame:
    """`obs` or `var` of a file; in the oldest ones a compound data set with its categories in `uns`."""
    import pandas as pd

    if not hasattr(group, "keys"):
        table, uns = group[:], group.file.get("uns", {})
        names = list(table.dtype.names)
        columns = {name: decoded(table[name]) for name in names[1:]}
        for name in columns:
            if f"{name}_categories" in uns:
                columns[name] = levels_of(uns[f"{name}_categories"], table[name])
        return pd.DataFrame(columns, index=pd.Index(texts(table[names[0]]), name="sample"))
    index = group.attrs.get("_index", "_index")
    index = index.decode() if isinstance(index, bytes) else index
    order = [name for name in group.attrs.get("column-order", list(group)) if name in group and name != index]
    columns = {str(name): column_of(group, str(name)) for name in order}
    return pd.DataFrame(columns, index=pd.Index(texts(group[index][:]), name="sample"))


def column_of(group: Any, name: str) -> np.ndarray:
    """One column of `obs` or `var`: numbers, or text with None."""
    item = group[name]
    if hasattr(item, "keys"):
        if "categories" in item:
            return levels_of(item["categories"], item["codes"][:])
        cells = decoded(item["values"][:]).astype(object)
        cells[item["mask"][:].astype(bool)] = None
        return as_cells(["" if cell is None else cell for cell in cells])
    if "categories" in item.attrs:
        return levels_of(group.file[item.attrs["categories"]], item[:])
    return decoded(item[:])


def levels_of(categories: Any, codes: np.ndarray) -> np.ndarray:
    """Cells of a column of categories; a code below 0 is missing."""
    levels = decoded(categories[:]).tolist()
    return np.array([*levels, None], dtype=object)[np.where(codes < 0, len(levels), codes)]


def decoded(cells: np.ndarray) -> np.ndarray:
    """Cells with bytes as text."""
    return np.array(texts(cells), dtype=object) if cells.dtype.kind in "SOU" else cells


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


def from_anndata(data: Any, layer: str | None = None) -> Expression:
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
        raise ValueError(
            f"the AnnData object has no layer {layer!r}; it has {quoted(list(data.layers)) or 'none'}"
        )
    ids = [str(name) for name in genes.index]
    if sparse.issparse(matrix):
        sparse_values: Any = matrix
        values: Any = sparse_values.tocsc().astype(np.float32, copy=False)
    else:
        values = np.asarray(matrix).astype(np.float32, copy=False)
    samples = data.obs.copy()
    samples.index = samples.index.astype(str)
    samples.index.name = "sample"
    return assemble(values, ids, samples, "AnnData", [], annotation_of(ids, genes))
