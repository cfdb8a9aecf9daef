"""Encoders on disk and in Arrow."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.encoding_cases import mixed_frame

from raytpnn.data.encoding.encoder import Encoder

NAN = float("nan")


@pytest.fixture
def fitted():
    frame = mixed_frame(15)
    frame["constant"] = 1
    with pytest.warns(UserWarning, match="constant"):
        encoder, bins = Encoder.fit(frame, missing_indicators=True)
    return frame, encoder, bins


def assert_same_encoder(a, b):
    for field in ("input_names", "named", "max_bins", "names", "levels", "dropped"):
        assert getattr(a, field) == getattr(b, field)
    for field in ("column", "kind", "level", "exact", "narrow_first", "narrow", "wide_first", "wide"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
        assert getattr(a, field).dtype == getattr(b, field).dtype


def test_encoders_survive_disk_and_arrow(fitted, tmp_path):
    frame, encoder, bins = fitted
    assert len(encoder.narrow)
    assert len(encoder.wide)
    encoder.save(tmp_path / "run" / "encoder")
    loaded = Encoder.load(tmp_path / "run" / "encoder")
    assert_same_encoder(loaded, encoder)
    np.testing.assert_array_equal(loaded.transform(frame), bins.codes)
    table = encoder.to_arrow()
    assert_same_encoder(Encoder.from_arrow(table), encoder)
    twice = pa.concat_tables([table, table]).combine_chunks()
    assert_same_encoder(Encoder.from_arrow(twice.slice(len(table))), encoder)
    pq.write_table(table, tmp_path / "one.parquet", row_group_size=4)
    assert_same_encoder(Encoder.from_arrow(pq.read_table(tmp_path / "one.parquet")), encoder)
    unnamed, _ = Encoder.fit(np.eye(4))
    unnamed.save(str(tmp_path / "unnamed"))
    assert not Encoder.load(tmp_path / "unnamed").named
    assert sorted(path.name for path in (tmp_path / "unnamed").iterdir()) == [
        "encoder.json",
        "encoder.parquet",
    ]


def test_saved_encoders_can_be_applied_without_this_package(fitted, tmp_path):
    frame, encoder, bins = fitted
    encoder.save(tmp_path)
    whole = json.loads((tmp_path / "encoder.json").read_text())
    assert whole["dropped"] == ["constant"]
    for k, row in enumerate(pd.read_parquet(tmp_path / "encoder.parquet").itertuples()):
        column = frame[row.column]
        if row.kind == "missing":
            expected = column.isna().astype(int)
        elif row.kind == "level":
            expected = np.where(column.isna(), 255, column.astype(str) == row.level)
        else:
            points = np.asarray(row.points32 if len(row.points32) else row.points64, dtype=float)
            cuts = (points[:-1] + points[1:]) / 2 if row.exact else points[1:-1]
            x = column.to_numpy(float, na_value=NAN)
            expected = np.where(np.isnan(x), 255, (x[:, None] >= cuts).sum(axis=1))
        np.testing.assert_array_equal(bins.codes[k], expected, err_msg=row.name)


def test_damaged_and_foreign_encoders(fitted, tmp_path):
    _, encoder, _ = fitted
    with pytest.raises(FileNotFoundError, match=r"no encoder in .*: encoder\.json is missing"):
        Encoder.load(tmp_path)
    encoder.save(tmp_path)
    text = (tmp_path / "encoder.json").read_text()
    (tmp_path / "encoder.json").write_text(text.replace('"version": 1', '"version": 99'))
    with pytest.raises(ValueError, match="format version 99, this raytpnn reads up to 1"):
        Encoder.load(tmp_path)
    (tmp_path / "encoder.json").write_text(text[:40])
    with pytest.raises(ValueError, match=r"encoder\.json' is damaged"):
        Encoder.load(tmp_path)
    (tmp_path / "encoder.json").write_text("{}")
    with pytest.raises(ValueError, match="not an encoder: its format is None"):
        Encoder.load(tmp_path)
    with pytest.raises(ValueError, match="not an encoder"):
        Encoder.from_arrow(pa.table({"a": [1]}))
