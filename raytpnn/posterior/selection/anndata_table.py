"""The selection back into an AnnData object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KEY", "write_to_anndata"]

KEY = "raytpnn"


def write_to_anndata(table: pd.DataFrame, adata: Any, key: str = KEY) -> None:
    """Put a table of `Posterior.select_genes` into `adata.var` and `adata.uns`.

    `var` gets the columns KEY_selected (bool), KEY_size, KEY_q_value (NaN for genes that are not selected by
    themselves or by a group) and KEY_group. `uns[KEY]` gets `table`, all of it, pairs included, and `params`:
    the rate and what it assumes, delta, the verdict of the run, the controls that were left out. Both are
    kept by `write_h5ad`.

    Parameters
    ----------
    table : DataFrame
    adata : AnnData
    key : str

    Raises
    ------
    TypeError
        If `adata` is no AnnData object.
    """
    if not all(hasattr(adata, name) for name in ("var", "uns")):
        raise TypeError(f"a selection is put into an AnnData object, not into {type(adata).__name__}")
    place = {str(name): i for i, name in enumerate(adata.var.index)}
    n = len(place)
    size, q = np.full(n, np.nan), np.full(n, np.nan)
    group = np.full(n, "", dtype=object)
    single = table[table["order"] == 1]
    for row in single.to_dict("records"):
        for probe in row["probes"].split("; "):
            i = place.get(probe)
            if i is not None and not q[i] <= row["q_value"]:
                size[i], q[i], group[i] = row["size"], row["q_value"], row["group"]
    adata.var[f"{key}_selected"] = np.isfinite(q)
    adata.var[f"{key}_size"] = size
    adata.var[f"{key}_q_value"] = q
    adata.var[f"{key}_group"] = group.astype(str)
    params = {name: value for name, value in table.attrs.items() if isinstance(value, str | int | float)}
    params["left_out"] = "; ".join(table.attrs.get("left_out", []))
    whole = table.set_axis(table.index.astype(str)).copy()
    whole.attrs = {}
    adata.uns[key] = {"table": whole, "params": params}
