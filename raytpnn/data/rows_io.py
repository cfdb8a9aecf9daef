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

import numpy as np

from raytpnn.data.bins import Bins
from raytpnn.storage.lists import combined, numbers, starts

__all__ = ["FILES", "TrainingRows", "bins_of", "read_rows", "write_rows"]

TABLES = ("features", "marginals", "rows")
# Who reads a part of the rows reads whole groups of them.
ROWS_OF_GROUP = 65_536
FILES = (*(f"data/{name}.parquet" for name in TABLES), "data/codes.npy")


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


def read_rows(find: Callable[[str], Path]) -> TrainingRows:
    """Read what `write_rows` wrote; `find` gives the local path of a file of the run."""
    import pyarrow.parquet as pq

    bins, proposal = bins_of(find, np.load(find("data/codes.npy"), mmap_mode="r"))
    rows = pq.ParquetFile(find("data/rows.parquet")).read()
    y, sample_weight, offset = (
        np.array(rows[name].to_numpy(), np.float64) for name in ("y", "sample_weight", "offset")
    )
    return TrainingRows(bins, y, sample_weight, offset, proposal)


def bins_of(find: Callable[[str], Path], codes: np.ndarray) -> tuple[Bins, np.ndarray | None]:
    """Bins with the given codes, and the weights with which features are proposed."""
    import pyarrow.parquet as pq

    features, marginals = (
        pq.ParquetFile(find(f"data/{name}.parquet")).read() for name in ("features", "marginals")
    )
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
    return bins, proposal
