"""Small files of expression data, sound and malformed."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd

SAMPLES = ("GSM1", "GSM2", "GSM3", "GSM4", "GSM5", "GSM6")
TITLES = ("tumour a", "Tumour b", "tumour c", "normal d", "normal e", "normal f")
ROWS = {
    "p1_at": (1, 2, 3, 40, 50, 60),
    "p2_at": (6, 5, 4, 3, 2, 1),
    "p3_at": (7.5, "null", 8, 9, "", 2),
    "p4_at": (100, 200, 300, 150, 250, 350),
    "p5_at": (3, 1, 2, 6, 5, 4),
}


def series_lines(rows=None, samples=SAMPLES):
    """Lines of a series matrix; the matrix begins in line 9, its first feature is in line 11."""
    quoted = ["\t".join(f'"{cell}"' for cell in cells) for cells in (samples, TITLES)]
    lines = [
        '!Series_title\t"A series"',
        "",
        f"!Sample_title\t{quoted[1]}",
        f"!Sample_geo_accession\t{quoted[0]}",
        '!Sample_characteristics_ch1\t"Gender:F"\t"Gender: F"\t"gender: M"\t"Gender:M"\t"Gender: M"'
        '\t"Gender:F "',
        '!Sample_characteristics_ch1\t"Age:22"\t"Age: 49"\t"Stage: II"\t"Age:30"\t"Age: 31"\t"Age:NA"',
        '!Sample_characteristics_ch1\t"Stage: I"\t""\t"Age: 40"\t"Stage: I"\t"healthy"\t"Stage: III"',
        '!Sample_data_row_count\t"5"\t"5"\t"5"\t"5"\t"5"\t"5"',
        "!series_matrix_table_begin",
        f'"ID_REF"\t{quoted[0]}',
    ]
    for name, cells in (rows or ROWS).items():
        lines.append("\t".join([f'"{name}"', *(str(cell) for cell in cells)]))
    return [*lines, "!series_matrix_table_end"]


def write_series(path, lines=None):
    """Write lines as a series matrix, packed if the name says so."""
    text = "\n".join(series_lines() if lines is None else lines) + "\n"
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def matrix(n=24, p=60, seed=0):
    """Log-normal values, (n, p); the first feature goes with the two classes, which come second."""
    rng = np.random.default_rng(seed)
    values = 2.0 ** rng.normal(8.0, 1.5, (n, p))
    label = (np.arange(n) % 2).astype(bool)
    values[:, 0] = np.where(label, 4000.0, 40.0) * 2.0 ** rng.normal(0.0, 0.4, n)
    return values.astype(np.float32), label


def write_two_classes(path, n=20, p=40):
    """Write a series matrix of patients and controls, told by their titles; p0_at tells them apart."""
    values, label = matrix(n, p)
    names = [f"GSM{i}" for i in range(n)]
    titles = [f'"{"patient" if one else "control"} {i}"' for i, one in enumerate(label)]
    lines = [
        "\t".join(["!Sample_title", *titles]),
        "\t".join(["!Sample_geo_accession", *(f'"{name}"' for name in names)]),
        "!series_matrix_table_begin",
        "\t".join(['"ID_REF"', *names]),
        *("\t".join([f"p{j}_at", *(f"{cell:.3f}" for cell in values[:, j])]) for j in range(p)),
        "!series_matrix_table_end",
    ]
    return write_series(path, lines)


def write_h5ad(path, values, ids, features, labels, kind="kind"):
    """An .h5ad file with X sparse, a dense layer, and obs of every kind."""
    import anndata
    from scipy import sparse

    n = len(ids)
    obs = pd.DataFrame(
        {
            kind: pd.Categorical([*labels[:-1], None]),
            "age": np.arange(n) * 1.5,
            "score": pd.array([None if i == 1 else i for i in range(n)], dtype="Int64"),
        },
        index=pd.Index(ids, dtype=object),
    )
    var = pd.DataFrame(
        {"gene_symbols": [f"SYM{i}" for i in range(len(features))]}, index=pd.Index(features, dtype=object)
    )
    data = anndata.AnnData(sparse.csr_matrix(values), obs=obs, var=var, layers={"dense": values})
    data.write_h5ad(path)
