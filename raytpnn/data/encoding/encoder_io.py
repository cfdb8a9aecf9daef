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
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.encoding.encoder import LEVEL, MISSING, NUMERIC, Encoder
from raytpnn.data.gene_symbols import Annotation
from raytpnn.data.preparation import FORMULAS, Preparation
from raytpnn.storage.checks import flag, item, list_of, mapping, named, parsed_json, text, whole
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.parquet_files import check_kind, read_columns, refuse_missing
from raytpnn.storage.places.place import Place
from raytpnn.storage.places.verified import verified_bytes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FORMAT",
    "VERSION",
    "encoder_from_arrow",
    "encoder_to_arrow",
    "load_encoder",
    "read_encoder_files",
    "read_run_encoder",
    "save_encoder",
]

FORMAT = "raytpnn encoder"
# Its files in the folder of a run.
FILES_OF_RUN = ("encoder/encoder.json", "encoder/encoder.parquet")
VERSION = 1
KINDS = {NUMERIC: "numeric", LEVEL: "level", MISSING: "missing"}
METADATA = b"raytpnn.encoder"
# What columns of the table hold, see `raytpnn.storage.formats.parquet_files`.
KINDS_OF_COLUMNS = {
    "name": "text",
    "column": "text",
    "kind": "text",
    "exact": "flag",
    "points32": "list number",
    "points64": "list number",
}
OPTIONAL_COLUMNS = {"level": "text", "symbol": "text", "accession": "text"}
MOST_FEATURES = 1 << 27
MOST_BYTES = 1 << 31


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
    description = parsed_json(metadata[METADATA])
    check_description(description, "the encoder")
    for name, kind in KINDS_OF_COLUMNS.items():
        check_kind(table.schema, name, kind)
        refuse_missing(table[name], name)
    return assemble(description, table)


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
    found = []
    for name in ("encoder.json", "encoder.parquet"):
        path = folder / name
        if not path.is_file():
            raise FileNotFoundError(f"no encoder in {str(folder)!r}: {name} is missing")
        if path.stat().st_size > MOST_BYTES:
            raise RunError(f"{str(path)!r} has more than {MOST_BYTES:,} bytes: that is no encoder")
        found.append((path.read_bytes(), repr(str(path))))
    return read_encoder_files(*found)


def read_run_encoder(place: Place, files: Mapping[str, str]) -> Encoder:
    """Encoder of a run whose files have these checksums."""
    whole_part, features = (
        (verified_bytes(place, name, files[name]), place.name_of(name)) for name in FILES_OF_RUN
    )
    return read_encoder_files(whole_part, features)


def read_encoder_files(whole_part: tuple[bytes, str], features: tuple[bytes, str]) -> Encoder:
    """Encoder of the content of its two files, each with how to speak of it.

    Raises
    ------
    RunError
        Naming the file that is damaged, or not of an encoder.
    """
    data, file = whole_part
    with named(file):
        description = parsed_json(data)
        check_description(description, file)
    table = read_columns(*features, KINDS_OF_COLUMNS, OPTIONAL_COLUMNS, MOST_FEATURES)
    with named(features[1]):
        return assemble(description, table)


def check_description(stored: Any, file: str) -> None:
    """Raise ValueError unless this is what belongs to the whole of an encoder that we can read."""
    mapping(stored, "the encoder")
    if stored.get("format") != FORMAT:
        raise ValueError(f"not an encoder: its format is {stored.get('format')!r:.60}, not {FORMAT!r}")
    if whole(item(stored, "version"), "version", 1, 1 << 31) > VERSION:
        raise RunError(
            f"{file}: the encoder has format version {stored['version']}, this raytpnn reads up to "
            f"{VERSION}; update raytpnn"
        )
    whole(item(stored, "max_bins"), "max_bins", 2, 65_535)
    flag(item(stored, "named"), "named")
    names = list_of(item(stored, "input_names"), "input_names", text, MOST_FEATURES)
    list_of(item(stored, "dropped"), "dropped", text, MOST_FEATURES)
    known = set(names)
    for name, levels in mapping(item(stored, "levels"), "levels").items():
        if name not in known:
            raise ValueError(f"levels has {name!r:.60}, which is no column")
        list_of(levels, f"levels[{name!r:.60}]", text, MOST_FEATURES)
    preparation = stored.get("preparation")
    if preparation is not None:
        mapping(preparation, "preparation")
        if preparation.get("scale") not in FORMULAS:
            raise ValueError(f"preparation.scale is {preparation.get('scale')!r:.60}, which is not known")
        Preparation(**preparation)


def assemble(description: dict[str, Any], table: pa.Table) -> Encoder:
    """Join the two halves of an encoder; ValueError if they do not go together."""
    input_names = tuple(description["input_names"])
    position = {name: i for i, name in enumerate(input_names)}
    levels = {position[name]: tuple(of) for name, of in description["levels"].items()}
    code = {name: kind for kind, name in KINDS.items()}
    sources, kinds = table["column"].to_pylist(), table["kind"].to_pylist()
    for i, (source, kind) in enumerate(zip(sources, kinds, strict=True)):
        if source not in position or kind not in code:
            raise ValueError(f"feature {i} is {kind!r:.60} of column {source!r:.60}, which is not known")
    column = np.array([position[source] for source in sources], dtype=np.int32)
    kind = np.array([code[name] for name in kinds], dtype=np.uint8)
    level = np.zeros(len(column), dtype=np.int32)
    texts = table["level"].to_pylist() if "level" in table.column_names else [None] * len(column)
    for feature in np.flatnonzero(kind == LEVEL):
        of = levels.get(int(column[feature]), ())
        if texts[feature] not in of:
            raise ValueError(f"feature {feature} is of level {texts[feature]!r:.60}, which its column lacks")
        level[feature] = of.index(texts[feature])
    narrow_first, narrow = ragged(table["points32"], np.float32)
    wide_first, wide = ragged(table["points64"], np.float64)
    encoder = Encoder(
        input_names=input_names,
        named=description["named"],
        max_bins=description["max_bins"],
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
        preparation=Preparation(**stored) if (stored := description.get("preparation")) else None,
        annotation=annotation_of(table),
    )
    check_points(encoder)
    return encoder


def check_points(encoder: Encoder) -> None:
    """Raise ValueError unless numeric features have points that ascend, and not too many."""
    narrow, wide = np.diff(encoder.narrow_first), np.diff(encoder.wide_first)
    numeric = encoder.kind == NUMERIC
    if np.any((narrow > 0) & (wide > 0)):
        raise ValueError("a feature has points32 and points64")
    bins = encoder.n_bins
    if np.any(numeric & ((bins < 1) | (bins > encoder.max_bins))):
        raise ValueError(f"a feature has no points, or more than max_bins={encoder.max_bins} allows")
    for first, points in ((encoder.narrow_first, encoder.narrow), (encoder.wide_first, encoder.wide)):
        within = np.ones(max(len(points) - 1, 0), bool)
        inner = first[1:-1]
        within[inner[(inner > 0) & (inner < len(points))] - 1] = False
        if not np.all(np.isfinite(points)) or np.any((np.diff(points) < 0) & within):
            raise ValueError("the points of a feature are not finite, or do not ascend")


def annotation_of(table: pa.Table) -> Annotation | None:
    """Gene symbols and accessions that the table of features holds."""
    if not {"symbol", "accession"} <= set(table.column_names):
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
