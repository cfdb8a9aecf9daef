"""A saved run: the same posterior again, readable by others, and no silence about damage."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from support.posterior_cases import random_posterior
from support.run_cases import manifest_of

from raytpnn.draws.draws import Draws
from raytpnn.posterior import storage
from raytpnn.posterior.storage import RunError, load


@pytest.fixture
def saved(tmp_path):
    post, X = random_posterior(np.random.default_rng(51), "bernoulli", classes=("no", "yes"))
    post.save(tmp_path / "run")
    return post, X, tmp_path / "run"


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_load_gives_the_same_posterior(family, tmp_path):
    post, X = random_posterior(np.random.default_rng(52), family)
    post.save(str(tmp_path / "deep" / "run"))
    again = load(tmp_path / "deep" / "run")
    for field in fields(post.draws):
        mine, other = getattr(post.draws, field.name), getattr(again.draws, field.name)
        np.testing.assert_array_equal(mine, other)
        assert mine.dtype == other.dtype
    np.testing.assert_array_equal(post.predict(X), again.predict(X))
    np.testing.assert_array_equal(post.interval(X), again.interval(X))
    np.testing.assert_array_equal(post.y, again.y)
    np.testing.assert_array_equal(post.weight, again.weight)
    np.testing.assert_array_equal(post.offset, again.offset)
    pd.testing.assert_frame_equal(post.components(), again.components())
    pd.testing.assert_frame_equal(post.diagnostics(), again.diagnostics())
    assert again.family is post.family
    assert again.config == post.config
    assert repr(again) == repr(post)


def test_labels_survive(saved):
    _, X, run = saved
    again = load(run)
    assert again.classes == ("no", "yes")
    again.log_density(X, np.full(len(X), "yes"))


def test_chains_of_unequal_length_and_empty_draws(tmp_path):
    post, X = random_posterior(np.random.default_rng(53), terms=2, chains=2)
    short = np.flatnonzero((post.draws.chain == 0) | (post.draws.draw < 4))
    kept = Draws.concatenate([one_draw(post.draws, i) for i in short])
    assert np.any(kept.K == 0)
    thinner = type(post)(kept, post.encoder, post.bins, post.family, post.y)
    thinner.save(tmp_path / "run")
    np.testing.assert_array_equal(load(tmp_path / "run").predict(X), thinner.predict(X))


def one_draw(draws, i):
    """Draw i alone."""
    terms = slice(draws.term_start[i], draws.term_start[i + 1])
    variables = slice(draws.variable_start[terms.start], draws.variable_start[terms.stop])
    return Draws(
        **{
            name: getattr(draws, name)[i : i + 1]
            for name in ("chain", "draw", "loglik", "intercept", "nuisance", "b_gamma", "sigma_beta2")
        },
        term_start=draws.term_start[i : i + 2] - terms.start,
        beta=draws.beta[terms],
        variable_start=draws.variable_start[terms.start : terms.stop + 1] - variables.start,
        feature=draws.feature[variables],
        b=draws.b[variables],
        gamma=draws.gamma[variables],
    )


def test_draws_can_be_read_without_us(saved):
    post, _, run = saved
    table = pd.read_parquet(run / "draws")
    assert len(table) == post.draws.n_draws
    assert sorted(table["chain"].astype(int).unique()) == [0, 1, 2]
    names = json.loads((run / "manifest.json").read_text())["feature_names"]
    expected = post.terms()
    row = table.iloc[5]
    mine = expected[(expected["chain"] == int(row["chain"])) & (expected["draw"] == row["draw"])]
    assert [tuple(names[j] for j in term) for term in row["features"]] == list(mine["features"])
    np.testing.assert_array_equal(row["beta"], mine["beta"])
    assert [list(term) for term in row["gamma"]] == list(mine["gamma"])


def test_arrow_types_are_as_documented(saved):
    import pyarrow.parquet as pq

    schema = pq.read_schema(saved[2] / "draws" / "chain=0" / "block=0.parquet")
    types = {field.name: str(field.type).replace("element", "item") for field in schema}
    assert types["features"] == "list<item: list<item: int32>>"
    assert types["b"] == types["gamma"] == "list<item: list<item: double>>"
    assert types["beta"] == "list<item: double>"
    assert types["loglik"] == "double"
    assert types["draw"] == "int32"


def test_blocks_are_read_in_the_order_of_their_numbers(saved):
    import pyarrow.parquet as pq

    post, X, run = saved
    folder = run / "draws" / "chain=1"
    table = pq.ParquetFile(folder / "block=0.parquet").read()
    for number, block in ((0, table[:2]), (2, table[2:5]), (10, table[5:])):
        pq.write_table(block, folder / f"block={number}.parquet")
    manifest = manifest_of(run)
    for name in ("manifest.json", "begun.json"):
        (run / name).unlink()
    manifest["files"] = storage.checksums(run)
    (run / "manifest.json").write_text(json.dumps(manifest))
    again = load(run)
    np.testing.assert_array_equal(again.draws.draw, post.draws.draw)
    np.testing.assert_array_equal(again.predict(X), post.predict(X))


@pytest.mark.parametrize("name", ["data/codes.npy", "draws/chain=1/block=0.parquet", "encoder/encoder.json"])
def test_damaged_and_missing_files_are_named(saved, name):
    _, _, run = saved
    content = bytearray((run / name).read_bytes())
    content[len(content) // 2] ^= 1
    (run / name).write_bytes(content)
    with pytest.raises(RunError, match=f"{name} is damaged"):
        load(run)
    (run / name).unlink()
    with pytest.raises(RunError, match=f"{name} is missing"):
        load(run)


def test_newer_format_is_refused(saved):
    _, _, run = saved
    manifest = manifest_of(run)
    manifest["version"] = storage.VERSION + 1
    manifest["versions"]["raytpnn"] = "9.9"
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match=r"format 2, written by raytpnn 9\.9.*upgrade raytpnn"):
        load(run)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "has no manifest.json"),
        ("{", "manifest.json is damaged"),
        ("[]", "its format is not 'raytpnn run'"),
    ],
)
def test_folder_that_is_no_run(tmp_path, text, message):
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(RunError, match=message):
        load(tmp_path)


def test_existing_run_is_only_replaced_on_demand(saved):
    post, _, run = saved
    with pytest.raises(FileExistsError, match="overwrite=True"):
        post.save(run)
    other, X = random_posterior(np.random.default_rng(54), chains=1)
    other.save(run, overwrite=True)
    np.testing.assert_array_equal(load(run).predict(X), other.predict(X))
    assert [path.name for path in (run / "draws").iterdir()] == ["chain=0"]
    assert [path.name for path in run.parent.iterdir()] == ["run"]


def test_foreign_folder_is_never_replaced(saved, tmp_path):
    post, _, _ = saved
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.txt").write_text("text")
    with pytest.raises(FileExistsError, match="not a saved run"):
        post.save(foreign, overwrite=True)
    assert (foreign / "chapter.txt").read_text() == "text"


def test_failed_save_leaves_nothing(saved, tmp_path, monkeypatch):
    post, _, _ = saved
    monkeypatch.setattr(storage, "write_draws", lambda *args: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        post.save(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_config_of_numpy_and_nan_is_made_plain(tmp_path):
    post, _ = random_posterior(np.random.default_rng(55))
    post.config["steps"] = {"order 1": np.float32(0.5), "rates": np.array([0.1, np.nan]), "n": np.int64(3)}
    post.save(tmp_path / "run")
    steps = load(tmp_path / "run").config["steps"]
    assert steps == {"order 1": 0.5, "rates": [0.1, None], "n": 3}
