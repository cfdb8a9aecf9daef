"""Training rows on disk, encoded: bins and what belongs to each row.

data/features.parquet    a row an encoded feature: its name, its marginal, how often it is proposed
data/marginals.parquet   a row a marginal: values and weights of its bins
data/rows.parquet        a row a training row: y, sample_weight, offset
data/codes.npy           (p, n) bins, mapped into memory; the largest code of the dtype means missing
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.data.rows.rows_check import (
    check_codes,
    check_codes_array,
    check_features,
    check_marginals,
    check_numbers,
)
from raytpnn.storage.checks import named
from raytpnn.storage.formats.list_columns import combined, numbers, starts
from raytpnn.storage.formats.npy_files import mapped_array
from raytpnn.storage.formats.parquet_files import MOST_BYTES, read_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FILES", "ROW_COLUMNS", "TrainingRows", "bins_of", "read_rows", "row_arrays", "write_rows"]

TABLES = ("features", "marginals", "rows")
FEATURES, MARGINALS, ROWS = (f"data/{name}.parquet" for name in TABLES)
CODES = "data/codes.npy"
ROW_COLUMNS = ("y", "sample_weight", "offset")
# In memory, with some room.
BYTES_OF_ROW = 64
# Who reads a part of the rows reads whole groups of them.
ROWS_OF_GROUP = 65_536
FILES = (FEATURES, MARGINALS, ROWS, CODES)


@dataclass(frozen=True)
class TrainingRows:
    """What a model is fitted to.

    Attributes
    ----------
    bins : Bins
    y, weight, offset : (n,) float64
        On the user's scale.
    proposal : (p,) float64 or None
        Weights with which features are proposed; older runs do not have them.
    """

    bins: Bins
    y: np.ndarray
    weight: np.ndarray
    offset: np.ndarray
    proposal: np.ndarray | None = None


def write_rows(rows: TrainingRows, folder: Path, codes: Path | None = None) -> None:
    """Write the files below `folder`; a file `codes` that holds the codes already is moved there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    bins = rows.bins
    features = {"name": pa.array(bins.names, pa.string()), "marginal": bins.marginal.astype(np.int32)}
    if rows.proposal is not None:
        features["proposal_weight"] = rows.proposal
    tables = {
        "features": features,
        "marginals": {
            "value": pa.LargeListArray.from_arrays(bins.first, bins.value),
            "weight": pa.LargeListArray.from_arrays(bins.first, bins.weight),
        },
        "rows": {"y": rows.y, "sample_weight": rows.weight, "offset": rows.offset},
    }
    (folder / "data").mkdir(parents=True)
    for name, columns in tables.items():
        path = folder / "data" / f"{name}.parquet"
        # Who reads some of the rows only cannot compare the checksum of the file.
        options = {"compression": "zstd", "write_page_checksum": True, "row_group_size": ROWS_OF_GROUP}
        pq.write_table(pa.table(columns), path, **options)
    target = folder / "data" / "codes.npy"
    if codes is not None and codes.is_file():
        # Renamed where both are on one disk; what is mapped from it stays as it is.
        shutil.move(codes, target)
    else:
        np.save(target, bins.codes)


def read_rows(
    find: Callable[[str], Path], n_rows: int | None = None, name_of: Callable[[str], str] = str
) -> TrainingRows:
    """Read what `write_rows` wrote, and check it.

    Parameters
    ----------
    find
        Gives the local path of a file of the run.
    n_rows : int, optional
        As many as there must be.
    name_of
        How to speak of a file of the run.

    Raises
    ------
    RunError
        If a file does not hold rows that compiled code can work on.
    """
    codes = mapped_array(find(CODES), name_of(CODES))
    with named(name_of(CODES)):
        check_codes_array(codes.shape, codes.dtype, n_rows)
    bins, proposal = bins_of(find, codes, name_of)
    n = bins.n_rows
    kinds = dict.fromkeys(ROW_COLUMNS, "number")
    table = read_columns(find(ROWS), name_of(ROWS), kinds, {}, n, max(MOST_BYTES, BYTES_OF_ROW * n))
    y, weight, offset = row_arrays(table, n, name_of)
    return TrainingRows(bins, y, weight, offset, proposal)


def row_arrays(table: pa.Table, n_rows: int, name_of: Callable[[str], str] = str) -> list[np.ndarray]:
    """Response, weights and offset of as many rows as there must be, checked."""
    with named(name_of(ROWS)):
        if len(table) != n_rows:
            raise ValueError(f"it has {len(table)} rows, the codes have {n_rows}")
        arrays = [np.array(table[name].to_numpy(), np.float64) for name in ROW_COLUMNS]
        for name, values in zip(ROW_COLUMNS, arrays, strict=True):
            check_numbers(values, name, least=0.0 if name == "sample_weight" else -np.inf)
    return arrays


def bins_of(
    find: Callable[[str], Path], codes: np.ndarray, name_of: Callable[[str], str] = str
) -> tuple[Bins, np.ndarray | None]:
    """Bins with the given codes, and the weights with which features are proposed; all checked."""
    p = len(codes)
    kinds, may = {"name": "text", "marginal": "whole"}, {"proposal_weight": "number"}
    features = read_columns(find(FEATURES), name_of(FEATURES), kinds, may, p)
    kinds = {"value": "list number", "weight": "list number"}
    marginals = read_columns(find(MARGINALS), name_of(MARGINALS), kinds, {}, p)
    value, weight = (combined(marginals, name) for name in ("value", "weight"))
    bins = Bins(
        codes=codes,
        names=tuple(features["name"].to_pylist()),
        marginal=np.array(features["marginal"].to_numpy(), np.int32),
        first=starts(value),
        value=numbers(value.flatten(), np.float64),
        weight=numbers(weight.flatten(), np.float64),
    )
    proposal = None
    if "proposal_weight" in features.column_names:
        proposal = np.array(features["proposal_weight"].to_numpy(), np.float64)
    with named(name_of(MARGINALS)):
        if not np.array_equal(starts(weight), bins.first):
            raise ValueError("columns 'value' and 'weight' do not agree in their lengths")
        check_marginals(bins.first, bins.value, bins.weight, bins.missing_code)
    with named(name_of(FEATURES)):
        check_features(bins, proposal)
    with named(name_of(CODES)):
        check_codes(bins)
    return bins, proposal
