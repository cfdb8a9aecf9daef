"""Traps in expression data: words that look like missing, scales, platforms, types of features."""

import numpy as np
import pandas as pd
import pytest

from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.preparation import prepare
from raytpnn.expression.adjustment import Adjustment
from raytpnn.expression.expression import Expression, read_expression
from raytpnn.expression.sample_lines import as_cells, sample_table


def expression(values, names=None):
    names = names or [f"g{j}" for j in range(values.shape[1])]
    samples = pd.DataFrame(index=pd.Index([f"s{i}" for i in range(len(values))], name="sample"))
    return Expression(values.astype(np.float32), tuple(names), samples)


@pytest.mark.parametrize("word", ["none", "null", "unknown", "-", "--"])
def test_words_for_nothing_are_levels_among_text_and_missing_among_numbers(word):
    assert as_cells([word, "drug", word]).tolist() == [word, "drug", word]
    np.testing.assert_array_equal(as_cells([word, "2", "3"]), [np.nan, 2.0, 3.0])
    assert as_cells(["NA", "drug"]).tolist() == [None, "drug"]


def test_controls_of_a_series_are_kept():
    table = sample_table(
        [("characteristics_ch1", ["treatment: none", "treatment: drug"] * 3)], list("abcdef")
    )
    data = Expression(np.zeros((6, 1), np.float32), ("g",), table)
    y, usable, text = data.target("treatment", "drug")
    assert usable.all()
    assert y.classes == ("none", "drug")
    assert "drug (3 samples) against none (3 samples)" in text


def test_scores_are_not_called_logarithms():
    rng = np.random.default_rng(0)
    reason = prepare(expression(rng.normal(size=(30, 40)))).preparation.reason
    assert "z-scores or log ratios" in reason
    assert "look like logarithms" not in reason
    assert "look like logarithms" in prepare(expression(rng.uniform(2, 14, (30, 40)))).preparation.reason


def test_data_of_another_platform_predict_with_what_is_there():
    rng = np.random.default_rng(1)
    values = rng.normal(8, 1, (30, 5))
    encoder, bins = Encoder.fit(prepare(expression(values)))
    with pytest.warns(UserWarning, match="lack 2 of the 5 features that the model uses.*'g3', 'g4'"):
        codes = encoder.transform(expression(values[:, :3]))
    np.testing.assert_array_equal(codes[:3], bins.codes[:3])
    assert np.all(codes[3:] == encoder.missing_code)
    with pytest.raises(ValueError, match="lacks 5 column"):
        encoder.transform(expression(values, ["a", "b", "c", "d", "e"]))


def test_columns_of_an_ordinary_table_must_all_be_there():
    encoder, _ = Encoder.fit(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 5.0, 2.0]}))
    with pytest.raises(ValueError, match="lacks 1 column"):
        encoder.transform(pd.DataFrame({"a": [1.0]}))


def ten_x(path, kinds):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        p = len(kinds)
        group["shape"] = [p, 2]
        group["data"], group["indices"], group["indptr"] = [1, 2], [0, p - 1], [0, 1, 2]
        group["barcodes"] = [b"AA", b"CC"]
        features = group.create_group("features")
        features["id"] = [f"f{i}".encode() for i in range(p)]
        features["feature_type"] = [kind.encode() for kind in kinds]
    return path


def test_types_of_10x_features(tmp_path):
    path = ten_x(tmp_path / "x.h5", ["Gene Expression", "Gene Expression", "Antibody Capture"])
    genes = read_expression(path)
    assert genes.feature_ids == ("f0", "f1")
    assert len(genes.notes) == 1
    assert "took 2 features of type 'Gene Expression'; left out 1 of type 'Antibody Cap" in genes.notes[0]
    assert read_expression(path, layer="Antibody Capture").feature_ids == ("f2",)
    with pytest.raises(ValueError, match=r"types 'Antibody Capture', 'Gene Expression'.*not 'Guides'"):
        read_expression(path, layer="Guides")


def test_a_level_that_is_not_known_counts_as_average():
    frame = pd.DataFrame({"site": ["A"] * 30 + ["B"] * 10})
    y = np.where(frame["site"] == "A", 5.0, 1.0) + np.random.default_rng(2).normal(0, 0.1, 40)
    fitted = Adjustment.fit(frame, ["site"], y, "gaussian")
    mean = float(np.mean(fitted.offset(frame)))
    assert mean == pytest.approx(0.0, abs=1e-9)
    with pytest.warns(UserWarning, match="count as the average"):
        unknown = fitted.offset(pd.DataFrame({"site": ["C"]}))
    assert unknown[0] == pytest.approx(mean, abs=1e-9)
    again = Adjustment.from_json(fitted.as_json())
    assert again == fitted
