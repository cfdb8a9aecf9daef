"""Parquet in, Parquet out: the same predictions, few columns read, memory that does not grow with rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.posterior_cases import random_draws, random_frame, random_posterior

from raytpnn.data.encoding.encoder import Encoder
from raytpnn.families import get_family
from raytpnn.posterior.posterior import Posterior


@pytest.fixture
def files(tmp_path):
    """Two files of 130 rows in small row groups, with an identifier and an offset."""
    X = random_frame(np.random.default_rng(121), 260)
    X["id"] = [f"row {i}" for i in range(260)]
    X["log exposure"] = np.linspace(-1.0, 1.0, 260)
    for part in (0, 1):
        X[130 * part : 130 * (part + 1)].to_parquet(tmp_path / f"part-{part}.parquet", row_group_size=50)
    return X, tmp_path


@pytest.mark.parametrize("family", ["gaussian", "poisson", "bernoulli"])
def test_equals_prediction_in_memory(family, files):
    X, folder = files
    post, _ = random_posterior(np.random.default_rng(122), family)
    target = folder / "out" / "predicted.parquet"
    n = post.predict_table(
        folder, target, level=0.8, keep=["id", "city"], offset="log exposure", batch_rows=33
    )
    assert n == 260
    table = pd.read_parquet(target)
    interval = ["low", "high"]
    assert list(table.columns) == ["id", "city", "mean", *interval]
    assert list(table["id"]) == list(X["id"])
    shift = X["log exposure"]
    np.testing.assert_allclose(table["mean"], post.predict(X, shift), rtol=1e-12)
    np.testing.assert_allclose(table[interval], post.interval(X, 0.8, shift), rtol=1e-6)
    assert [path.name for path in target.parent.iterdir()] == ["predicted.parquet"]
    assert pq.ParquetFile(target).metadata.num_row_groups > 1


def test_only_columns_in_use_are_read(files, monkeypatch):
    X, folder = files
    post, _ = random_posterior(np.random.default_rng(2), terms=1, chains=1, length=2)
    used = {post.encoder.source(int(feature)) for feature in post.draws.used_features()}
    assert 0 < len(used) < 5
    asked = []
    whole = pq.ParquetFile.iter_batches

    def noted(self, batch_size, row_groups, columns, **options):
        asked.append(set(columns))
        return whole(self, batch_size, row_groups, columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)
    post.predict_table(folder, folder / "out" / "a.parquet", level=None, keep=["id"])
    assert asked == [used | {"id"}] * 2
    X[sorted(used)].to_parquet(folder / "few.parquet")
    post.predict_table(folder / "few.parquet", folder / "a.parquet", level=None)
    np.testing.assert_allclose(pd.read_parquet(folder / "a.parquet")["mean"], post.predict(X), rtol=1e-12)


def test_batches_are_bounded(files, monkeypatch):
    X, folder = files
    post, _ = random_posterior(np.random.default_rng(123))
    rows, columns = [], []
    whole = Encoder.transform

    def counted(self, table, features=None):
        rows.append(table.n_rows)
        columns.append(set(table.inner.names))
        return whole(self, table, features)

    monkeypatch.setattr(Encoder, "transform", counted)
    post.predict_table(folder, folder / "a.parquet", batch_rows=40, level=None)
    assert max(rows) <= 40
    assert sum(rows) == len(X)
    assert all(names <= {"age", "income", "rooms", "owner", "city"} for names in columns)


def test_memory_does_not_grow_with_rows(tmp_path):
    post, _ = random_posterior(np.random.default_rng(124), length=3)
    frame = random_frame(np.random.default_rng(125), 20_000, missing=0.0)
    batch = pa.Table.from_pandas(frame, preserve_index=False)
    peaks, out = [], tmp_path / "out.parquet"
    for times in (1, 6):
        source = tmp_path / f"{times}.parquet"
        with pq.ParquetWriter(source, batch.schema) as writer:
            for _ in range(times):
                writer.write_table(batch, row_group_size=5_000)
        peaks.append(peak_memory(lambda source=source: post.predict_table(source, out, batch_rows=5_000)))
    # Six times the rows: the peak may not follow.
    assert peaks[1] < 1.3 * peaks[0]
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.num_rows == 120_000


def peak_memory(run):
    """Most bytes that NumPy, Python and Arrow held."""
    import tracemalloc

    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


def unnamed_posterior(rng):
    """A posterior fitted to an array."""
    encoder, bins = Encoder.fit(rng.normal(size=(100, 3)))
    draws = random_draws(rng, 3, chains=1, length=4, terms=3)
    return Posterior(draws, encoder, bins, get_family("gaussian"), np.zeros(100))


def test_columns_without_names_go_by_position(tmp_path):
    rng = np.random.default_rng(126)
    post = unnamed_posterior(rng)
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=["c", "b", "a"]).assign(id=range(30))
    X.to_parquet(tmp_path / "x.parquet")
    post.predict_table(tmp_path / "x.parquet", tmp_path / "out.parquet", keep=["id"])
    expected = post.predict(X[["c", "b", "a"]].to_numpy())
    np.testing.assert_allclose(pd.read_parquet(tmp_path / "out.parquet")["mean"], expected)
    with pytest.raises(ValueError, match="has 4 columns beside those kept, training had 3"):
        post.predict_table(tmp_path / "x.parquet", tmp_path / "out.parquet")


def test_draws_without_terms_still_count_rows(files):
    _, folder = files
    post, _ = random_posterior(np.random.default_rng(127), terms=0)
    assert post.predict_table(folder, folder / "out" / "a.parquet") == 260
    table = pd.read_parquet(folder / "out" / "a.parquet")
    np.testing.assert_allclose(table["mean"], post.intercept_mean)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"source": "nothing.parquet"}, FileNotFoundError, "no file"),
        ({"keep": ["height"]}, ValueError, "no column 'height'"),
        ({"offset": "height"}, ValueError, "no column 'height'"),
        ({"offset": "id"}, ValueError, "offset holds the text 'row 0'"),
        ({"keep": ["mean"]}, ValueError, "called 'mean'"),
        ({"level": 1.5}, ValueError, r"level must lie between 0 and 1, not 1\.5"),
        ({"batch_rows": 0}, ValueError, "batch_rows must be a number of rows, 1 or more, not 0"),
        ({"target": "part-0.parquet"}, ValueError, "is one of the source files"),
    ],
)
def test_bad_input(files, options, error, message):
    _, folder = files
    post, _ = random_posterior(np.random.default_rng(128))
    source = folder / options.pop("source", "part-0.parquet")
    target = folder / options.pop("target", "out.parquet")
    with pytest.raises(error, match=message):
        post.predict_table(source, target, **options)
    assert sorted(path.name for path in folder.iterdir()) == ["part-0.parquet", "part-1.parquet"]


def test_bad_files(files):
    X, folder = files
    post, _ = random_posterior(np.random.default_rng(129))
    X.drop(columns=["age", "rooms"]).to_parquet(folder / "part-2.parquet")
    with pytest.raises(ValueError, match=r"part-2\.parquet' lacks 2 column\(s\).*'age', 'rooms'"):
        post.predict_table(folder, folder / "out.parquet")
    X[:0].to_parquet(folder / "empty.parquet")
    with pytest.raises(ValueError, match="there is no row"):
        post.predict_table(folder / "empty.parquet", folder / "out.parquet")
    (folder / "text.parquet").write_text("age,income\n1,2\n")
    with pytest.raises(ValueError, match=r"cannot read .*text\.parquet' as Parquet"):
        post.predict_table(folder / "text.parquet", folder / "out.parquet")
    assert not list(folder.glob("*partial")) + list(folder.glob("out*"))
    (folder / "none").mkdir()
    with pytest.raises(FileNotFoundError, match="no Parquet file in"):
        post.predict_table(folder / "none", folder / "out.parquet")
