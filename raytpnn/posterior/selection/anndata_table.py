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
    themselves or by a group) and KEY_group; `uns[KEY]` the whole table, pairs included, as a dict of columns,
    and what the rate assumes.

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
    known = {name: value for name, value in table.attrs.items() if isinstance(value, str | int | float)}
    adata.uns[key] = {name: table[name].to_numpy() for name in table.columns} | known
