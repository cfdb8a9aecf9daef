"""Expression data from matrices, sample sheets and AnnData; targets."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from support.expression_cases import matrix, write_h5ad

from raytpnn.data.encoding.encoder import Encoder
from raytpnn.expression.expression import Expression, read_expression

h5py = pytest.importorskip("h5py")


@pytest.fixture
def parts(tmp_path):
    """Values, sample ids, a sheet in another order, and files of both orientations."""
    values, label = matrix(8, 12)
    ids = [str(i + 10) for i in range(8)]
    features = [f"g{i}" for i in range(12)]
    sheet = pd.DataFrame({"name": ids, "class": np.where(label, "ill", "well"), "age": np.arange(8) + 30.5})
    sheet.iloc[::-1].to_csv(tmp_path / "sheet.csv", index=False)
    by_feature = pd.DataFrame(values.T, index=pd.Index(features, name="gene"), columns=ids)
    by_sample = pd.DataFrame(values, index=pd.Index(ids, name="sample"), columns=features)
    return tmp_path, values, sheet, by_feature, by_sample


WRITERS = {
    "m.csv": lambda frame, path: frame.to_csv(path),
    "m.csv.gz": lambda frame, path: frame.to_csv(path),
    "m.tsv": lambda frame, path: frame.to_csv(path, sep="\t"),
    "m.txt": lambda frame, path: frame.rename_axis(None).to_csv(path, sep="\t"),
    "m.parquet": lambda frame, path: frame.to_parquet(path),
    "plain.parquet": lambda frame, path: frame.reset_index().to_parquet(path),
    "m.feather": lambda frame, path: frame.reset_index().to_feather(path),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("which", ["features", "samples"])
def test_both_orientations_are_told_by_the_sheet(parts, name, which):
    folder, values, sheet, by_feature, by_sample = parts
    WRITERS[name](by_feature if which == "features" else by_sample, folder / name)
    data = read_expression(folder / name, samples=folder / "sheet.csv")
    np.testing.assert_allclose(data.values, values, rtol=1e-6)
    assert data.sample_ids == list(sheet["name"]), "the matrix decides the order"
    assert list(data.samples["class"]) == list(sheet["class"]), "aligned by id"
    assert any("another order: aligned by sample id" in note for note in data.notes)
    assert data.feature_ids == tuple(by_sample.columns)


def test_without_a_sheet_the_look_of_the_table_decides(parts):
    folder, values, sheet, by_feature, by_sample = parts
    by_feature.to_csv(folder / "f.csv")
    by_sample.to_csv(folder / "s.csv")
    by_sample.assign(kind=list(sheet["class"])).to_csv(folder / "t.csv")
    for name, told in (("f.csv", "features"), ("s.csv", "samples"), ("t.csv", "samples")):
        data = read_expression(folder / name)
        assert f"rows of {name} are taken for {told}" in data.notes
        np.testing.assert_allclose(data.values, values, rtol=1e-6)
    assert list(data.samples["kind"]) == list(sheet["class"])
    turned = read_expression(folder / "s.csv", orientation="features")
    assert turned.n_samples == 12


def test_table_written_by_r(parts):
    folder, values, _, by_feature, _ = parts
    lines = by_feature.to_csv(sep="\t").splitlines()
    (folder / "r.txt").write_text("\n".join([lines[0].removeprefix("gene\t"), *lines[1:]]))
    np.testing.assert_allclose(
        read_expression(folder / "r.txt", samples=folder / "sheet.csv").values, values, rtol=1e-6
    )


def test_sheet_that_lacks_samples_or_repeats_them(parts):
    folder, values, sheet, by_feature, _ = parts
    by_feature.to_csv(folder / "f.csv")
    sheet.drop(index=2).to_csv(folder / "short.csv", index=False)
    data = read_expression(folder / "f.csv", samples=folder / "short.csv")
    np.testing.assert_allclose(data.values, np.delete(values, 2, axis=0), rtol=1e-6)
    assert "left out 1 sample(s) that the sample sheet short.csv lacks: '12'" in data.notes
    pd.concat([sheet, sheet.iloc[[3]]]).to_csv(folder / "twice.csv", index=False)
    with pytest.raises(ValueError, match=r"twice.csv', lines 5 and 10: sample '13' stands there twice"):
        read_expression(folder / "f.csv", samples=folder / "twice.csv")
    sheet.assign(name=[f"no{i}" for i in range(8)]).to_csv(folder / "other.csv", index=False)
    with pytest.raises(ValueError, match=r"other.csv' has no column with the ids of the samples"):
        read_expression(folder / "f.csv", samples=folder / "other.csv", orientation="features")
    # Which side the samples are on is not known then.
    with pytest.raises(ValueError, match=r"rows of the matrix, 'g0', .* or its columns, '10', '11'"):
        read_expression(folder / "f.csv", samples=folder / "other.csv")


@pytest.mark.parametrize("which", ["features", "samples"])
def test_a_line_with_too_few_values_is_named(parts, which):
    folder, _, _, by_feature, by_sample = parts
    lines = (by_feature if which == "features" else by_sample).to_csv().splitlines()
    told = rf"it has {len(lines[0].split(',')) - 2} values for {len(lines[0].split(','))} columns"
    spoiled = [*lines[:3], lines[3].rsplit(",", 2)[0], *lines[4:]]
    (folder / "f.csv").write_text("\n".join(spoiled) + "\n")
    with pytest.raises(ValueError, match=rf"f\.csv', line 4: {told}$"):
        read_expression(folder / "f.csv", samples=folder / "sheet.csv")
    (folder / "f.csv").write_text("\n".join([*lines[:-1], lines[-1].rsplit(",", 2)[0]]))
    with pytest.raises(
        ValueError, match=rf"line {len(lines)}: {told}, and the file ends there: it is cut short"
    ):
        read_expression(folder / "f.csv", samples=folder / "sheet.csv")


@pytest.mark.parametrize("which", ["features", "samples"])
def test_text_in_a_matrix_is_named(parts, which):
    folder, _, _, by_feature, by_sample = parts
    lines = (by_feature if which == "features" else by_sample).to_csv().splitlines()
    cells = lines[4].split(",")
    lines[4] = ",".join([*cells[:3], "high", *cells[4:]])
    (folder / "f.csv").write_text("\n".join(lines))
    with pytest.raises(
        ValueError, match=rf"f.csv', line 5: '{cells[0]}' of column '.*' is 'high', no number"
    ):
        read_expression(folder / "f.csv", samples=folder / "sheet.csv")


@pytest.mark.parametrize("name", ["m.csv.gz", "m.parquet"])
def test_truncated_matrix_is_named(parts, name):
    folder, _, _, by_feature, _ = parts
    WRITERS[name](pd.concat([by_feature] * 50), folder / name)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=rf"cannot read '.*{name}'"):
        read_expression(folder / name, samples=folder / "sheet.csv")


def test_repeated_sample_ids_are_refused(parts):
    folder, _, _, by_feature, _ = parts
    text = by_feature.to_csv().replace("gene,10,11", "gene,10,10", 1)
    (folder / "f.csv").write_text(text)
    with pytest.raises(ValueError, match=r"f.csv', line 1: sample ids must differ; '10'"):
        read_expression(folder / "f.csv", samples=folder / "sheet.csv")


@pytest.mark.parametrize("name", ["gse4107", "bladderbatch", "golub_leukemia", "alon_colon"])
def test_real_matrices(real_data, name):
    data = read_expression(real_data / f"{name}_expr.parquet", samples=real_data / f"{name}_samples.csv")
    sheet = pd.read_csv(real_data / f"{name}_samples.csv")
    frame = pd.read_parquet(real_data / f"{name}_expr.parquet").set_index("feature_id")
    np.testing.assert_array_equal(data.values, frame.to_numpy().T)
    one = sheet["target"].iloc[0]
    y, usable, _ = data.target("target", one)
    assert usable.all()
    np.testing.assert_array_equal(y.values == 1, sheet["target"] == one)


def test_real_h5ad(real_data):
    data = read_expression(real_data / "pbmc68k_reduced.h5ad")
    assert (data.n_samples, data.n_features) == (700, 765)
    y, _, _ = data.target("bulk_labels", "CD34+")
    assert y.values.sum() == 13
    assert y.classes == ("not CD34+", "CD34+")
    raw = read_expression(real_data / "pbmc68k_reduced.h5ad", layer="raw")
    assert sparse.issparse(raw.values)
    assert raw.feature_ids == data.feature_ids
    with pytest.raises(ValueError, match=r"no layer 'x'; it has 'raw'"):
        read_expression(real_data / "pbmc68k_reduced.h5ad", layer="x")


def test_h5ad_sparse_and_layers(tmp_path):
    values, label = matrix(9, 14)
    values[values < 300] = 0
    ids, features = [f"c{i}" for i in range(9)], [f"ENSG{i}" for i in range(14)]
    labels = list(np.where(label, "T", "B"))
    write_h5ad(tmp_path / "x.h5ad", values, ids, features, labels)
    data = read_expression(tmp_path / "x.h5ad")
    assert sparse.issparse(data.values)
    np.testing.assert_array_equal(data.values.toarray(), values)
    np.testing.assert_array_equal(read_expression(tmp_path / "x.h5ad", layer="dense").values, values)
    assert data.samples["kind"].fillna("?").tolist() == [*labels[:-1], "?"]
    assert data.annotation.gene("ENSG3") == "SYM3"
    np.testing.assert_array_equal(data.samples["score"], [0, np.nan, *range(2, 9)])
    _, usable, text = data.target("kind", "t")
    assert usable.sum() == 8
    assert "1 sample(s) left out whose kind is not known" in text
    # Sparse and dense, whole and in part, are encoded alike.
    sparse_bins = Encoder.fit(data.take(usable))[1]
    dense_bins = Encoder.fit(values[usable])[1]
    np.testing.assert_array_equal(sparse_bins.codes, dense_bins.codes)
    bad = tmp_path / "bad.h5ad"
    bad.write_bytes((tmp_path / "x.h5ad").read_bytes()[:900])
    with pytest.raises(ValueError, match=r"bad.h5ad"):
        read_expression(bad)


def test_10x_h5(tmp_path):
    counts = np.random.default_rng(0).poisson(0.5, (5, 7))
    cells = sparse.csr_matrix(counts)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        group = file.create_group("matrix")
        group["data"], group["indices"], group["indptr"] = cells.data, cells.indices, cells.indptr
        group["shape"] = [7, 5]
        group["barcodes"] = np.array([f"AA{i}-1" for i in range(5)], "S")
        group["features/id"] = np.array([f"ENSG{i}" for i in range(7)], "S")
        group["features/name"] = np.array([f"SYM{i}" for i in range(7)], "S")
    data = read_expression(tmp_path / "x.h5")
    np.testing.assert_array_equal(data.values.toarray(), counts)
    assert data.sample_ids[0] == "AA0-1"
    assert data.annotation.label("ENSG2") == "SYM2 (ENSG2)"


def test_anndata_object():
    values, label = matrix(6, 5)
    obs = pd.DataFrame({"kind": np.where(label, "T", "B")}, index=[f"c{i}" for i in range(6)])
    var = pd.DataFrame(index=[f"g{i}" for i in range(5)])
    like = SimpleNamespace(X=sparse.csr_matrix(values), obs=obs, var=var, layers={}, raw=None)
    data = read_expression(like)
    np.testing.assert_array_equal(data.values.toarray(), values)
    assert data.target("kind")[0].classes == ("B", "T")
    with pytest.raises(ValueError, match="no layer 'counts'"):
        read_expression(like, layer="counts")
    with pytest.raises(TypeError, match="not dict"):
        read_expression({})


def test_take_keeps_features_together():
    values, _ = matrix(6, 5)
    frame = pd.DataFrame(index=[f"c{i}" for i in range(6)])
    data = Expression(np.asfortranarray(values), tuple("abcde"), frame)
    part = data.take([4, 1])
    np.testing.assert_array_equal(part.values, values[[4, 1]])
    assert part.values.flags.f_contiguous
    assert part.sample_ids == ["c4", "c1"]
    assert data.take(np.ones(6, bool)) is data
    with pytest.raises(ValueError, match="mask has 3 values for 6 samples"):
        data.take(np.ones(3, bool))


@pytest.fixture
def known():
    values, _ = matrix(6, 3)
    samples = pd.DataFrame(
        {
            "title": ["a Patient 1", "patient 2", "control 1", "control 2", "patient 3", "control 3"],
            "grade": ["I", "ii", "II", "III", " I", None],
            "age": [30.0, 40, 50, 60, np.nan, 20],
            "dose": [0.0, 1, 1, 0, 0, 1],
        },
        index=[f"s{i}" for i in range(6)],
    )
    return Expression(values, tuple("abc"), samples)


def test_targets(known):
    y, usable, _ = known.target("title", "~^.?.?patient")
    np.testing.assert_array_equal(y.values, [1, 1, 0, 0, 1, 0])
    y, usable, _ = known.target("Grade", "i ")
    np.testing.assert_array_equal(usable, [True] * 5 + [False])
    np.testing.assert_array_equal(y.values, [1, 0, 0, 0, 1])
    assert y.classes == ("not I", "I")
    np.testing.assert_array_equal(known.target("grade:II")[0].values, [0, 1, 1, 0, 0])
    y, usable, text = known.target("age")
    assert y.classes is None
    np.testing.assert_array_equal(y.values, [30, 40, 50, 60, 20])
    assert "1 sample(s) left out" in text
    assert known.target("dose")[0].classes == ("0", "1")
    np.testing.assert_array_equal(known.target("dose", 0)[0].values, [1, 0, 0, 1, 1, 0])


@pytest.mark.parametrize(
    ("target", "positive", "message"),
    [
        ("stage", None, r"no target 'stage'.*'title', 'grade', 'age', 'dose'"),
        ("grade", None, r"has 3 levels \('I' \(2\), 'ii' \(2\), 'III' \(1\)\).*--positive LEVEL"),
        ("grade", "IV", r"'IV' is no level of target 'grade': these are 'I' \(2\)"),
        ("grade", "~[", r"is no regular expression"),
        ("title", "~xyz", r"takes in no sample of target 'title'"),
        ("title", "~o|a", r"takes in every sample"),
        ("grade:I", "II", r"names a level already"),
    ],
)
def test_targets_that_cannot_be_taken_name_the_choices(known, target, positive, message):
    with pytest.raises(ValueError, match=message):
        known.target(target, positive)
