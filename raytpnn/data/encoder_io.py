"""The encoder on disk, for this package and for any other reader of JSON and Parquet.

`encoder.json` holds what belongs to the whole: `format` and `version`; `max_bins`; `named`; `input_names`;
`levels`, an object from column name to its levels in order; `dropped`; `preparation`, what is done to values
first, or null: `scale` is "as it is", "log2", "log2p1" for log2(x + 1) or "glog2" for asinh(x / 2) / log(2).

`encoder.parquet` has a row for every encoded feature, in order: `name`; `column`, the input column; `kind`,
"numeric", "level" or "missing"; `level`, the category of a level; `exact`; where genes are known, `symbol`
and `accession`; and the numbers `points32`
(float32) or, if that is empty, `points64` (float64). Points of an exact feature are its values in ascending
order, and a cut lies at 0.5 a + 0.5 b between neighbours a < b (at b where that rounds to a). Points of other
numeric features are the median of the first bin, the cuts, and the median of the last bin. The code of a
number is the count of cuts that are not above it; a missing cell has the code 255, or 65,535 if
max_bins > 255.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.annotation import Annotation
from raytpnn.data.encoder import LEVEL, MISSING, NUMERIC, Encoder
from raytpnn.data.preparation import Preparation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMAT", "VERSION", "encoder_from_arrow", "encoder_to_arrow", "load_encoder", "save_encoder"]

FORMAT = "raytpnn encoder"
VERSION = 1
KINDS = {NUMERIC: "numeric", LEVEL: "level", MISSING: "missing"}
METADATA = b"raytpnn.encoder"


def describe(encoder: Encoder) -> dict[str, Any]:
    """Collect what belongs to the whole, for JSON."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "max_bins": encoder.max_bins,
        "named": encoder.named,
        "input_names": list(encoder.input_names),
        "levels": {encoder.input_names[i]: list(levels) for i, levels in encoder.levels.items()},
        "dropped": list(encoder.dropped),
        "preparation": None if encoder.preparation is None else asdict(encoder.preparation),
    }


def feature_table(encoder: Encoder) -> pa.Table:
    """Make the table with a row an encoded feature."""
    import pyarrow as pa

    def level_of(feature: int) -> str | None:
        if encoder.kind[feature] != LEVEL:
            return None
        return encoder.levels[int(encoder.column[feature])][encoder.level[feature]]

    columns = {
        "name": pa.array(encoder.names, pa.string()),
        "column": pa.array([encoder.input_names[i] for i in encoder.column], pa.string()),
        "kind": pa.array([KINDS[int(kind)] for kind in encoder.kind], pa.string()),
        "level": pa.array([level_of(feature) for feature in range(encoder.n_features)], pa.string()),
        "exact": pa.array(encoder.exact, pa.bool_()),
        "points32": pa.LargeListArray.from_arrays(encoder.narrow_first, encoder.narrow),
        "points64": pa.LargeListArray.from_arrays(encoder.wide_first, encoder.wide),
    }
    if encoder.annotation is not None:
        sources = [encoder.input_names[i] for i in encoder.column]
        for name in ("symbol", "accession"):
            known = getattr(encoder.annotation, name)
            columns[name] = pa.array([known.get(source) for source in sources], pa.string())
    return pa.table(columns)


def encoder_to_arrow(encoder: Encoder) -> pa.Table:
    """See `Encoder.to_arrow`."""
    return feature_table(encoder).replace_schema_metadata({METADATA: json.dumps(describe(encoder)).encode()})


def encoder_from_arrow(table: pa.Table) -> Encoder:
    """See `Encoder.from_arrow`."""
    metadata = table.schema.metadata or {}
    if METADATA not in metadata:
        raise ValueError(f"not an encoder: the schema has no metadata {METADATA.decode()!r}")
    return assemble(json.loads(metadata[METADATA]), table)


def save_encoder(encoder: Encoder, folder: Path) -> None:
    """See `Encoder.save`."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    # Written beside and renamed: a reader never sees half a file.
    beside = folder / "encoder.parquet.part"
    pq.write_table(feature_table(encoder), beside)
    os.replace(beside, folder / "encoder.parquet")
    beside = folder / "encoder.json.part"
    beside.write_text(json.dumps(describe(encoder), indent=1), encoding="utf-8")
    os.replace(beside, folder / "encoder.json")


def load_encoder(folder: Path) -> Encoder:
    """See `Encoder.load`."""
    import pyarrow.parquet as pq

    for name in ("encoder.json", "encoder.parquet"):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"no encoder in {str(folder)!r}: {name} is missing")
    try:
        description = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    except json.JSONDecodeError as problem:
        raise ValueError(f"{str(folder / 'encoder.json')!r} is damaged: {problem}") from problem
    return assemble(description, pq.read_table(folder / "encoder.parquet"))


def assemble(description: dict[str, Any], table: pa.Table) -> Encoder:
    """Join the two halves of an encoder."""
    if description.get("format") != FORMAT:
        raise ValueError(f"not an encoder: its format is {description.get('format')!r}, not {FORMAT!r}")
    if description["version"] > VERSION:
        raise ValueError(
            f"the encoder has format version {description['version']}, this raytpnn reads up to {VERSION}; "
            "update raytpnn"
        )
    input_names = tuple(description["input_names"])
    position = {name: i for i, name in enumerate(input_names)}
    levels = {position[name]: tuple(of) for name, of in description["levels"].items()}
    column = np.array([position[name] for name in table["column"].to_pylist()], dtype=np.int32)
    code = {name: kind for kind, name in KINDS.items()}
    kind = np.array([code[name] for name in table["kind"].to_pylist()], dtype=np.uint8)
    level = np.zeros(len(column), dtype=np.int32)
    texts = table["level"].to_pylist()
    for feature in np.flatnonzero(kind == LEVEL):
        level[feature] = levels[int(column[feature])].index(texts[feature])
    narrow_first, narrow = ragged(table["points32"], np.float32)
    wide_first, wide = ragged(table["points64"], np.float64)
    return Encoder(
        input_names=input_names,
        named=bool(description["named"]),
        max_bins=int(description["max_bins"]),
        names=tuple(table["name"].to_pylist()),
        column=column,
        kind=kind,
        level=level,
        levels=levels,
        dropped=tuple(description["dropped"]),
        exact=table["exact"].to_numpy(),
        narrow_first=narrow_first,
        narrow=narrow,
        wide_first=wide_first,
        wide=wide,
        preparation=Preparation(**told) if (told := description.get("preparation")) else None,
        annotation=annotation_of(table),
    )


def annotation_of(table: pa.Table) -> Annotation | None:
    """Gene symbols and accessions that the table of features holds."""
    if "symbol" not in table.column_names:
        return None
    sources = table["column"].to_pylist()
    return Annotation(
        *(
            {source: text for source, text in zip(sources, table[name].to_pylist(), strict=True) if text}
            for name in ("symbol", "accession")
        )
    )


def ragged(column: Any, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and flat values of a list column."""
    lists = column.combine_chunks()
    offsets = np.array(lists.offsets.to_numpy(zero_copy_only=False), dtype=np.int64)
    return offsets - offsets[0], np.array(lists.flatten().to_numpy(zero_copy_only=False), dtype=dtype)
