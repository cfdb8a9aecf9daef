"""Expression data on the command line: inspect, fit, predict, genes."""

from __future__ import annotations

import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from support.cli_cases import COMMAND, SHORT, call, surroundings
from support.expression_cases import matrix, series_lines, write_series

import raytpnn


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A series matrix, the same as a matrix with a sample sheet, and an annotation."""
    folder = tmp_path_factory.mktemp("expression")
    values, label = matrix(24, 60)
    ids = [f"GSM{i}" for i in range(24)]
    features = [f"p{j}_at" for j in range(60)]
    titles = [f"{i} {'patient' if one else 'control'}" for i, one in enumerate(label)]
    cells = {
        "title": titles,
        "characteristics_ch1": [f"batch: {i // 8}" for i in range(24)],
        "data_row_count": ["60"] * 24,
    }
    lines = ['!Series_title\t"A series"']
    lines += ["\t".join([f"!Sample_{name}", *(f'"{cell}"' for cell in row)]) for name, row in cells.items()]
    lines += ["!series_matrix_table_begin", "\t".join(['"ID_REF"', *(f'"{i}"' for i in ids)])]
    lines += ["\t".join([f'"{features[j]}"', *(repr(float(v)) for v in values[:, j])]) for j in range(60)]
    write_series(folder / "GSE1_series_matrix.txt.gz", [*lines, "!series_matrix_table_end"])
    frame = pd.DataFrame(values.T, index=pd.Index(features, name="feature_id"), columns=ids)
    frame.reset_index().to_parquet(folder / "expr.parquet")
    sheet = pd.DataFrame({"sample_id": ids, "batch": np.arange(24) // 8, "age": np.arange(24) * 1.5 + 20})
    sheet["class"] = np.where(label, "ill", "well")
    sheet.to_csv(folder / "sheet.csv", index=False)
    symbols = pd.DataFrame({"probe_id": features, "gene_symbol": [f"GENE{j // 2}" for j in range(60)]})
    symbols.assign(genbank_accession="U1").to_csv(folder / "annotation.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(folder):
    """A fit of the series matrix."""
    out = folder / "run"
    done = call(
        *("fit", folder / "GSE1_series_matrix.txt.gz", "--target", "title", "--positive", "~patient"),
        *("--annotation", folder / "annotation.csv", *SHORT, "--out", out),
    )
    assert done.returncode == 0, done.stderr
    return out, done


def test_inspect(folder):
    done = call("inspect", folder / "GSE1_series_matrix.txt.gz")
    assert done.returncode == 0, done.stderr
    for text in ("24 samples x 60 features", "log2(x)", "free text", "batch", "0 (8), 1 (8), 2 (8)"):
        assert text in done.stdout
    assert "raytpnn fit" in done.stdout
    done = call("inspect", folder / "expr.parquet", "--samples", folder / "sheet.csv")
    assert "ill (12), well (12)" in done.stdout
    assert "--samples" in done.stdout


def test_fit_says_what_was_taken(fitted):
    out, done = fitted
    for text in (
        "24 samples, 60 features",
        "target title: patient (12 samples) against not patient (12 samples)",
        "scale: log2(x), since 99% of values",
        "60 features have a gene symbol",
        "modelling the probability of title = patient",
    ):
        assert text in done.stderr
    assert "GENE0 (p0_at)" in done.stdout
    post = raytpnn.load(out)
    assert post.classes == ("not patient", "patient")
    assert post.encoder.preparation.scale == "log2"


def test_predict_prepares_as_the_fit_did(folder, fitted):
    out, _ = fitted
    for name in ("GSE1_series_matrix.txt.gz", "expr.parquet"):
        done = call("predict", out, folder / name, "--out", folder / "p.csv")
        assert done.returncode == 0, done.stderr
        table = pd.read_csv(folder / "p.csv")
        ends = ["probability_patient_low", "probability_patient_high"]
        named = ["probability_not patient", "probability_patient", *ends]
        assert list(table.columns) == ["sample", *named, "class"]
        expected = raytpnn.load(out).predict(raytpnn.read_expression(folder / name))
        np.testing.assert_allclose(table["probability_patient"], expected, rtol=1e-12)
        assert np.mean(table["class"] == np.where(matrix()[1], "patient", "not patient")) > 0.9
    # Samples as rows, without a sheet: told by the names of the features.
    frame = pd.read_parquet(folder / "expr.parquet").set_index("feature_id").T.rename_axis("sample")
    frame.to_csv(folder / "turned.csv")
    done = call("predict", out, folder / "turned.csv", "--out", folder / "q.csv")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(
        pd.read_csv(folder / "q.csv")["probability_patient"], table["probability_patient"], rtol=1e-6
    )


def test_genes(folder, fitted):
    out, _ = fitted
    done = call("genes", out, "--out", folder / "genes.csv")
    assert done.returncode == 0, done.stderr
    assert "GENE0" in done.stdout
    assert "up: the probability of patient rises with expression" in done.stdout
    table = pd.read_csv(folder / "genes.csv")
    assert table["gene"][0] == "GENE0"
    assert table["direction"][0] == "up"
    assert call("genes", out, "--out", folder / "genes.parquet").returncode == 0
    again = pd.read_parquet(folder / "genes.parquet")
    assert list(again.columns) == list(table.columns)
    assert call("genes", out, "--out", folder / "genes.txt").returncode == 2


def test_genes_are_written_though_nobody_reads_what_is_shown(folder, fitted):
    reader, writer = os.pipe()
    os.close(reader)
    file = folder / "unread.csv"
    with os.fdopen(writer, "wb") as closed:
        command = [*COMMAND, "genes", str(fitted[0]), "--out", str(file)]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, env=surroundings(), check=False)
    assert b"Traceback" not in done.stderr
    assert pd.read_csv(file)["gene"][0] == "GENE0"


def test_covariates_are_an_offset_and_no_features(folder):
    out = folder / "adjusted"
    where = (folder / "expr.parquet", "--samples", folder / "sheet.csv")
    done = call(
        *("fit", *where, "--target", "class", "--positive", "ill", "--covariates", "age,batch", *SHORT),
        *("--out", out),
    )
    assert done.returncode == 0, done.stderr
    assert "adjusting for age (number), batch (3 levels)" in done.stderr
    post = raytpnn.load(out)
    assert np.any(post.offset != 0)
    assert not {"age", "batch"} & set(post.encoder.input_names)
    assert json.loads((out / "command.json").read_text())["adjustment"]["covariates"][0]["name"] == "age"
    done = call("predict", out, *where, "--out", folder / "a.csv", "--keep", "batch")
    assert done.returncode == 0, done.stderr
    expression = raytpnn.read_expression(where[0], samples=where[2])
    np.testing.assert_allclose(
        pd.read_csv(folder / "a.csv")["probability_ill"], post.predict(expression, post.offset), rtol=1e-9
    )
    done = call("fit", *where, "--target", "class", "--covariates", "class", *SHORT, "--out", folder / "no")
    assert done.returncode == 1
    assert "'class' is the target" in done.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--target", "titel"), "there is no target 'titel'"),
        (("--target", "title"), "has 24 levels"),
        (("--target", "batch", "--positive", "7"), "'7' is no level of target 'batch'"),
        (("--target", "batch", "--log2", "perhaps"), "unknown log2 'perhaps'; choose one of auto, yes, no"),
        (("--target", "title", "--positive", "~patient", "--family", "poisson"), "has two classes"),
    ],
)
def test_wrong_use_names_the_choices(folder, more, message):
    done = call("fit", folder / "GSE1_series_matrix.txt.gz", *more, *SHORT, "--out", folder / "wrong")
    assert done.returncode == 1
    assert message in done.stderr
    assert not (folder / "wrong").exists()


def test_malformed_file_on_the_command_line(tmp_path):
    path = write_series(tmp_path / "cut.txt", series_lines()[:-1])
    for command in (("inspect", path), ("fit", path, "--target", "Gender", "--out", tmp_path / "run")):
        done = call(*command)
        assert done.returncode == 1
        assert "cut.txt' ends at line 15 without !series_matrix_table_end" in done.stderr


def test_flags_of_expression_data_are_refused_for_tables(tmp_path):
    pd.DataFrame({"a": [1.0, 2, 3], "y": [1.0, 2, 3]}).to_csv(tmp_path / "t.csv", index=False)
    done = call("fit", tmp_path / "t.csv", "--target", "y", "--log2", "yes", "--out", tmp_path / "run")
    assert done.returncode == 1
    assert "--log2 is for expression data" in done.stderr


def test_numbers_as_target(folder):
    out = folder / "age"
    where = (folder / "expr.parquet", "--samples", folder / "sheet.csv")
    done = call("fit", *where, "--target", "age", *SHORT, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "family gaussian" in done.stderr
    done = call("predict", out, *where, "--out", folder / "age.csv")
    assert list(pd.read_csv(folder / "age.csv").columns) == ["sample", "mean", "low", "high"]


def test_effects_are_shown_with_their_rate_and_written(folder, fitted):
    run, _ = fitted
    out = folder / "effects.csv"
    done = call("effects", run, "--fdr", "0.2", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "real at a rate of 20%" in " ".join(done.stdout.split())
    assert "Did it converge?" in done.stdout
    assert "independent rows" in " ".join(done.stdout.split())
    table = pd.read_csv(out)
    assert list(table.columns[:4]) == ["rank", "gene", "probes", "order"]
    assert np.all(table["q_value"] <= 0.2)
    everything = call("effects", run, "--fdr", "1", "--out", folder / "all.parquet")
    assert everything.returncode == 0, everything.stderr
    assert len(pd.read_parquet(folder / "all.parquet")) == 2
    assert len(table) <= 2
    assert "q" in everything.stdout
    assert call("effects", run, "--fdr", "0").returncode == 1
    assert call("effects", run, "--out", "effects.xlsx").returncode == 2
