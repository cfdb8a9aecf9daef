"""Preparation of expression data: fitted on the samples given, applied to new ones; covariates; memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from support.expression_cases import matrix

import raytpnn
from raytpnn.data.encoding import buffers as growable
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.gene_symbols import Annotation
from raytpnn.data.preparation import Preparation, prepare
from raytpnn.data.tables.tables import ArrayTable
from raytpnn.expression.adjustment import Adjustment
from raytpnn.expression.expression import Expression

SHORT = {"chains": 1, "warmup": 30, "draws": 30, "family": "bernoulli"}


def expression(values, seed=0):
    n, p = values.shape
    samples = pd.DataFrame(index=[f"s{i}" for i in range(n)])
    return Expression(np.asfortranarray(values, np.float32), tuple(f"g{i}" for i in range(p)), samples)


@pytest.mark.parametrize(
    ("change", "log2", "scale"),
    [
        (lambda x: x, "auto", "log2"),
        (np.log2, "auto", "as it is"),
        (lambda x: x, "no", "as it is"),
        (np.log2, "yes", "log2"),
        (lambda x: np.where(x < 60, 0, x), "auto", "log2p1"),
        (lambda x: x - 100, "auto", "glog2"),
        (lambda x: np.where(x < 60, np.nan, x), "auto", "log2"),
    ],
)
def test_scale_is_chosen_and_keeps_the_ranks(change, log2, scale):
    data = expression(change(matrix()[0]))
    ready = prepare(data, log2=log2)
    assert ready.preparation.scale == scale
    assert ready.preparation.sentences()[0].startswith("scale: ")
    x, changed = data.as_table().block(range(60)), ready.block(range(60))
    np.testing.assert_array_equal(np.isnan(x), np.isnan(changed))
    # What is fitted does not change: ranks are the same.
    np.testing.assert_array_equal(Encoder.fit(ready)[1].codes, Encoder.fit(data)[1].codes)
    if scale == "log2":
        np.testing.assert_allclose(changed, np.log2(x), rtol=1e-6)


def test_new_values_below_the_range_go_to_the_first_bin():
    data = expression(matrix()[0])
    encoder, _ = Encoder.fit(prepare(data))
    new = data.values.copy()
    new[0], new[1], new[2] = 0.0, -5.0, np.nan
    codes = encoder.transform(expression(new))
    assert np.all(codes[:, :2] == 0)
    assert np.all(codes[:, 2] == encoder.missing_code)


def test_near_constant_features_are_left_out():
    values = matrix(100, 8)[0]
    values[:, 1] = 7.0
    values[:, 2] = 7.0
    values[5, 2] = 9.0
    values[:, 3] = 7.0
    values[[5, 6], 3] = (9.0, 1.0)
    values[:, 4] = 7.0
    values[[5, 6, 7], 4] = (9.0, 1.0, 9.0)
    values[:, 5] = np.nan
    values[:90, 6] = np.nan
    values[90:, 6] = 7.0
    ready = prepare(expression(values))
    assert ready.names == ("g0", "g4", "g7"), "g4 differs in three of a hundred samples"
    assert (ready.preparation.near_constant, ready.preparation.empty) == (4, 1)


def test_genes_of_a_rare_class_are_kept():
    values = np.zeros((700, 3))
    values[:, 0] = np.arange(700)
    values[:3, 1], values[:2, 2] = 5.0, 5.0
    assert prepare(expression(values)).names == ("g0", "g1")


def test_two_samples_are_no_reason_to_drop_all():
    assert len(prepare(expression(matrix(2, 5)[0])).names) == 5


def test_min_sd_is_on_the_log_scale():
    values = matrix(40, 6)[0]
    values[:, 2] = 1000.0 * 2.0 ** np.random.default_rng(0).normal(0, 0.05, 40)
    assert prepare(expression(values), min_sd=0.2).names == ("g0", "g1", "g3", "g4", "g5")
    # As given, 50 is no small standard deviation.
    assert "g2" in prepare(expression(values), min_sd=0.2, log2="no").names


def test_duplicates():
    values = matrix(20, 6)[0]
    values[:, 3] = 2.0 * values[:, 1] + 1.0
    values[:, 5] = -values[:, 1]
    assert prepare(expression(values), collapse="identical").names == ("g0", "g1", "g2", "g4", "g5")
    values = matrix(20, 6)[0]
    told = Annotation({"g1": "ABC", "g2": "ABC", "g4": "ABC", "g5": "XYZ"})
    by_mean = np.log2(values).mean(axis=0)
    best = max((1, 2, 4), key=lambda j: by_mean[j])
    ready = prepare(expression(values), collapse="gene", annotation=told)
    assert ready.names == tuple(f"g{j}" for j in sorted((0, best, 3, 5)))
    assert ready.preparation.collapsed == 2


def test_learned_from_the_samples_given_only():
    values = matrix(30, 5)[0]
    values[:20, 2] = 7.0
    values[:20, 4] = 1.0 + np.arange(20)
    data = expression(values)
    train = prepare(data.take(np.arange(20)))
    assert "g2" not in train.names
    assert "g2" in prepare(data).names, "the other samples would have kept it"


def test_options_are_checked():
    data = expression(matrix(6, 4)[0])
    for wrong in ({"log2": "maybe"}, {"collapse": "all"}, {"min_sd": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            prepare(data, **wrong)
    with pytest.raises(ValueError, match="no feature is left"):
        prepare(data, min_sd=100.0)
    with pytest.raises(ValueError, match="every cell is missing"):
        prepare(expression(np.full((4, 3), np.nan)))


def test_preparation_is_saved_with_the_run_and_applied_to_new_samples(tmp_path):
    values, label = matrix()
    data = expression(values)
    train, test = np.arange(16), np.arange(16, 24)
    post = raytpnn.sample(prepare(data.take(train)), label[train], out=tmp_path / "run", **SHORT)
    logs = raytpnn.sample(np.log2(values[train]).astype(np.float32), label[train], **SHORT)
    expected = logs.predict(np.log2(values[test]).astype(np.float32))
    for one in (post, raytpnn.load(tmp_path / "run")):
        assert isinstance(one.encoder.preparation, Preparation)
        np.testing.assert_allclose(one.predict(data.take(test)), expected, rtol=1e-12)
        frame = pd.DataFrame(values[test], columns=data.feature_ids)
        np.testing.assert_allclose(one.predict(frame), expected, rtol=1e-12)
    # The twin without preparation puts logarithms on the scale of the file.
    assert np.all(post.encoder.representatives("g0") < 20)


def test_other_scale_is_noticed():
    values, _ = matrix()
    encoder, _ = Encoder.fit(prepare(expression(values)))
    encoder.transform(expression(values))
    with pytest.warns(
        UserWarning, match="these values are far smaller than those of training.*may be logarithms"
    ):
        encoder.transform(expression(np.log2(values)))
    encoder, _ = Encoder.fit(prepare(expression(np.log2(values))))
    with pytest.warns(UserWarning, match="far larger than those of training"):
        encoder.transform(expression(values))


def test_sample_takes_expression_data_as_they_are():
    values, label = matrix()
    post = raytpnn.sample(expression(values), label, **SHORT)
    assert post.bins.names[:2] == ("g0", "g1")
    np.testing.assert_array_equal(
        post.predict(expression(values)), raytpnn.sample(values, label, **SHORT).predict(values)
    )


def test_points_on_disk_are_those_in_memory(monkeypatch, tmp_path):
    values = matrix(30, 200)[0]
    kept = Encoder.fit(values)[0]
    monkeypatch.setattr(growable, "SPILL_BYTES", 1000)
    spilled, bins = Encoder.fit(values)
    assert isinstance(spilled.narrow, np.memmap)
    np.testing.assert_array_equal(spilled.narrow, kept.narrow)
    np.testing.assert_array_equal(spilled.transform(values), bins.codes)
    spilled.save(tmp_path)
    np.testing.assert_array_equal(Encoder.load(tmp_path).narrow, kept.narrow)


def test_preparing_and_encoding_a_wide_table_takes_less_than_three_bytes_a_cell():
    n, p = 57, 54_675
    values = 2.0 ** np.random.default_rng(0).normal(8.0, 1.0, (p, n)).astype(np.float32)
    table = ArrayTable(values.T)
    table.names, table.named = tuple(f"g{i}" for i in range(p)), True
    Encoder.fit(prepare(expression(matrix()[0])))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        made = Encoder.fit(prepare(table))
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert made[1].codes.nbytes == n * p
    assert peak < 3.0 * n * p, f"{peak / (n * p):.2f}"


def covariates(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "batch": rng.integers(1, 4, n).astype(float),
            "age": rng.normal(50.0, 10.0, n),
            "site": rng.choice(["A", "B"], n),
        }
    )
    f = 2.0 * (frame["batch"] == 2) - 0.1 * (frame["age"] - 50.0)
    return frame, f.to_numpy(), rng


def test_adjustment_finds_the_effect_of_covariates():
    frame, f, rng = covariates(2000)
    truth = f - f.mean()
    for family, y in (
        ("bernoulli", (rng.random(2000) < 1 / (1 + np.exp(-f))).astype(float)),
        ("gaussian", 100.0 + 5.0 * f + rng.normal(size=2000)),
        ("poisson", rng.poisson(np.exp(f)).astype(float)),
    ):
        fitted = Adjustment.fit(frame, ["batch", "age", "site"], y, family)
        offset = fitted.offset(frame) / (5.0 if family == "gaussian" else 1.0)
        assert abs(offset.mean()) < 1e-9
        assert np.sqrt(np.mean((offset - truth) ** 2)) < 0.25 * truth.std(), family
        assert fitted.sentence().startswith("adjusting for batch (3 levels), age (number), site (2 levels)")
        again = Adjustment.from_json(fitted.as_json())
        np.testing.assert_array_equal(again.offset(frame.iloc[:7]), fitted.offset(frame.iloc[:7]))


def test_separation_and_unknown_levels_do_no_harm():
    frame, _, _ = covariates(40)
    y = (frame["site"] == "A").to_numpy(float)
    fitted = Adjustment.fit(frame, ["site"], y, "bernoulli")
    assert 0.5 < np.max(np.abs(fitted.offset(frame))) < 5.0, "the prior keeps it finite"
    new = frame.assign(site=["C", None, *frame["site"][2:]])
    with pytest.warns(UserWarning, match="'site' has levels that training did not have.*'C'"):
        offset = fitted.offset(new)
    assert offset[0] == pytest.approx(offset[1]) == pytest.approx(0.0), "the average of the training samples"
    with pytest.raises(ValueError, match="no target 'sex'"):
        Adjustment.fit(frame, ["sex"], y, "bernoulli")
    with pytest.raises(ValueError, match="same value in every sample"):
        Adjustment.fit(frame.assign(site="A"), ["site"], y, "bernoulli")
