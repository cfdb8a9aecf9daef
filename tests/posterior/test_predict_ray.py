"""Prediction as Ray tasks: the same file as without Ray."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.posterior_cases import random_frame, random_posterior

from raytpnn.parallel.threads import at_most, run_all, usable_cores
from raytpnn.posterior.tables import predict_ray
from raytpnn.posterior.tables.table_pieces import Piece, pieces

ROWS = 400


@pytest.fixture
def source(tmp_path):
    """One file of many small row groups, and a folder with the same rows in three files."""
    X = random_frame(np.random.default_rng(131), ROWS)
    X["id"] = np.arange(ROWS)
    X["log exposure"] = np.linspace(-1.0, 1.0, ROWS)
    X.to_parquet(tmp_path / "one.parquet", row_group_size=30)
    folder = tmp_path / "folder"
    folder.mkdir()
    for i, rows in enumerate((slice(0, 150), slice(150, 160), slice(160, ROWS))):
        X[rows].to_parquet(folder / f"part-{i}.parquet", row_group_size=40)
    return tmp_path


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
@pytest.mark.parametrize("name", ["one.parquet", "folder"])
def test_same_file_as_without_ray(cluster, source, family, name):
    post, _ = random_posterior(np.random.default_rng(132), family)
    options = {"level": 0.8, "keep": ["id"], "offset": "log exposure", "batch_rows": 50}
    alone, spread = source / "alone.parquet", source / "spread.parquet"
    assert post.predict_table(source / name, alone, executor="threads", **options) == ROWS
    assert post.predict_table(source / name, spread, executor="ray", **options) == ROWS
    assert pq.read_table(spread)["id"].to_pylist() == list(range(ROWS))
    assert spread.read_bytes() == alone.read_bytes()


def test_auto_takes_ray_when_connected(cluster, source, monkeypatch):
    post, _ = random_posterior(np.random.default_rng(133))
    used = []
    whole = predict_ray.predict_pieces
    monkeypatch.setattr(predict_ray, "predict_pieces", lambda *given: used.append(given) or whole(*given))
    post.predict_table(source / "one.parquet", source / "out.parquet", level=None, batch_rows=100)
    assert len(used) == 1
    # One piece: nothing to share.
    post.predict_table(source / "one.parquet", source / "out.parquet", level=None)
    assert len(used) == 1


def test_posterior_is_put_once_without_training_rows(cluster, source, monkeypatch):
    post, _ = random_posterior(np.random.default_rng(134))
    stored = []
    put = cluster.put
    monkeypatch.setattr(cluster, "put", lambda value: stored.append(value) or put(value))
    post.predict_table(source / "one.parquet", source / "out.parquet", level=None, batch_rows=30)
    assert [value.args[0].bins.n_rows for value in stored] == [0]


def test_few_results_wait(cluster, source, monkeypatch):
    """Tasks are started as results are written, not all at once."""
    post, _ = random_posterior(np.random.default_rng(135))
    monkeypatch.setattr(predict_ray, "TASKS_PER_CORE", 1)
    running, most = set(), []
    get = cluster.get

    def noted(reference, *rest):
        running.discard(reference)
        return get(reference, *rest)

    remote = cluster.remote

    def counting(**options):
        def wrap(function):
            task = remote(**options)(function)

            class Task:
                def remote(self, *given):
                    reference = task.remote(*given)
                    running.add(reference)
                    most.append(len(running))
                    return reference

            return Task()

        return wrap

    monkeypatch.setattr(cluster, "remote", counting)
    monkeypatch.setattr(cluster, "get", noted)
    post.predict_table(source / "one.parquet", source / "out.parquet", level=None, batch_rows=30)
    assert len(most) > 10
    assert max(most) == 2


def test_errors_of_tasks_are_plain(cluster, source):
    post, X = random_posterior(np.random.default_rng(136))
    X.drop(columns=["age", "rooms"]).to_parquet(source / "folder" / "part-3.parquet")
    with pytest.raises(ValueError, match=r"^'.*part-3\.parquet' lacks 2 column\(s\).*'age', 'rooms'$"):
        post.predict_table(source / "folder", source / "out.parquet", batch_rows=50, executor="ray")
    assert not list(source.glob("*out*"))


def test_a_node_that_does_not_see_the_file(cluster, source):
    post, _ = random_posterior(np.random.default_rng(137))
    wanted = predict_ray.Wanted(None, (), None, 50)
    gone = [Piece(source / "gone.parquet", 0, 1)]
    with pytest.raises(FileNotFoundError, match=r"node \S+ does not see .*gone\.parquet'"):
        list(predict_ray.predict_pieces(post, gone, wanted))


def test_pieces_hold_every_row_group_once(source):
    for batch_rows in (1, 35, 100, 10_000):
        cut = pieces([source / "one.parquet"], batch_rows)
        groups = [group for piece in cut for group in range(piece.first, piece.last)]
        assert groups == list(range(pq.ParquetFile(source / "one.parquet").num_row_groups))
    assert len(cut) == 1


def test_without_ray():
    """Ray is not imported to find out that it is not connected."""
    look = "import sys; from raytpnn.parallel.ordered_map import on_ray"
    code = f"{look}; sys.exit(on_ray('auto') or 'ray' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ray_must_be_connected(source, monkeypatch):
    post, _ = random_posterior(np.random.default_rng(138))
    monkeypatch.setattr("raytpnn.parallel.ray_tasks.ray_is_connected", lambda: False)
    with pytest.raises(ValueError, match="needs a connection to Ray"):
        post.predict_table(source / "one.parquet", source / "out.parquet", executor="ray")
    with pytest.raises(ValueError, match="unknown executor 'dask'"):
        post.predict_table(source / "one.parquet", source / "out.parquet", executor="dask")


def test_cores_can_be_limited():
    before = usable_cores()
    with at_most(1):
        assert usable_cores() == 1
        assert run_all(lambda i: i * i, range(4)) == [0, 1, 4, 9]
    assert usable_cores() == before
