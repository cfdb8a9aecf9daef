"""Runs of earlier versions load, and can be read without this package, as FORMAT.md says."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from raytpnn.posterior.effects.components import by_importance
from raytpnn.posterior.storage import load

FIXTURES = Path(__file__).parents[1] / "fixtures"
RUNS = sorted(path for path in FIXTURES.glob("run-*") if path.is_dir())


@pytest.fixture(params=RUNS, ids=lambda path: path.name)
def run(request):
    expected = json.loads((FIXTURES / f"{request.param.name}-expected.json").read_text())
    return request.param, expected, pd.DataFrame(expected["X"], columns=expected["columns"])


def test_there_are_runs_of_the_first_version():
    assert {"run-0.1", "run-0.1-bernoulli", "run-0.1-poisson"} <= {path.name for path in RUNS}


def test_loads_and_predicts_what_it_did(run):
    folder, expected, X = run
    post = load(folder)
    offset = expected.get("offset")
    np.testing.assert_allclose(post.predict(X, offset), expected["mean"], rtol=1e-6)
    np.testing.assert_allclose(post.interval(X, 0.8, offset), expected["interval"], rtol=1e-6)
    held = post.norms.count[by_importance(post.norms)] / post.draws.n_draws
    rows = zip(post.components().head(5).itertuples(), held, expected["components"], strict=False)
    for row, share, (name, importance, holding) in rows:
        assert list(row.component) == name
        assert row.importance == pytest.approx(importance, rel=1e-5)
        assert share == pytest.approx(holding)
    np.testing.assert_array_equal(post.y, post.encode_response(expected["y"]))
    np.testing.assert_array_equal(post.weight, expected["weight"])
    np.testing.assert_array_equal(post.offset, expected.get("training_offset", np.zeros(len(post.y))))


def read(path):
    """Rows of one Parquet file as plain Python."""
    return pq.ParquetFile(path).read().to_pylist()


def bin_of(feature, cell, levels):
    """Bin of a cell, None if it is missing: the section "encoder" of FORMAT.md."""
    missing = cell is None or (isinstance(cell, float) and math.isnan(cell))
    if feature["kind"] == "missing":
        return int(missing)
    if missing:
        return None
    if feature["kind"] == "level":
        return int(cell == feature["level"]) if cell in levels or len(levels) > 2 else None
    points = feature["points32"] or feature["points64"]
    cuts = points[1:-1]
    if feature["exact"]:
        middles = [(a, b, 0.5 * a + 0.5 * b) for a, b in pairwise(points)]
        cuts = [b if middle == a else middle for a, b, middle in middles]
    return sum(cut <= cell for cut in cuts)


def test_can_be_read_by_arrow_alone(run):
    folder, expected, X = run
    manifest = json.loads((folder / "manifest.json").read_text())
    levels = json.loads((folder / "encoder" / "encoder.json").read_text())["levels"]
    encoder = read(folder / "encoder" / "encoder.parquet")
    features = read(folder / "data" / "features.parquet")
    marginals = read(folder / "data" / "marginals.parquet")
    draws = [row for file in sorted(folder.glob("draws/*/*.parquet")) for row in read(file)]
    assert [feature["name"] for feature in features] == manifest["feature_names"]
    assert len(draws) == manifest["n_draws"]
    response = {
        "gaussian": lambda f: f,
        "bernoulli": lambda f: 1 / (1 + math.exp(-f)),
        "poisson": math.exp,
    }[manifest["family"]]

    def factor(j, b, gamma, place):
        marginal = marginals[features[j]["marginal"]]
        s = [1 / (1 + math.exp(min((b - v) / gamma, 700.0))) for v in marginal["value"]]
        return 1 - s[place] / sum(w * x for w, x in zip(marginal["weight"], s, strict=True))

    for i, row in enumerate(X.to_dict("records")):
        places = [
            bin_of(feature, row[feature["column"]], levels.get(feature["column"])) for feature in encoder
        ]
        total = 0.0
        for draw in draws:
            f = draw["intercept"] + (expected["offset"][i] if expected.get("offset") else 0.0)
            for beta, term, b, gamma in zip(
                draw["beta"], draw["features"], draw["b"], draw["gamma"], strict=True
            ):
                known = all(places[j] is not None for j in term)
                f += (
                    beta * math.prod(factor(j, b[k], gamma[k], places[j]) for k, j in enumerate(term))
                    if known
                    else 0.0
                )
            total += response(f)
        assert total / len(draws) == pytest.approx(expected["mean"][i], rel=1e-5)


def test_training_rows_are_in_arrow_too(run):
    folder, expected, _ = run
    rows = read(folder / "data" / "rows.parquet")
    classes = json.loads((folder / "manifest.json").read_text())["classes"]
    assert [classes[int(row["y"])] if classes else row["y"] for row in rows] == expected["y"]
    assert [row["sample_weight"] for row in rows] == expected["weight"]
    assert [row["offset"] for row in rows] == expected.get("training_offset", [0.0] * len(rows))
