"""Gene names and the table of genes: from draws, probes of a gene together, with the right direction."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from support.posterior_cases import random_bins, random_draws

import raytpnn
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.gene_symbols import Annotation
from raytpnn.expression.annotation import read_annotation
from raytpnn.families import get_family
from raytpnn.model.basis import phi
from raytpnn.posterior.effects import genes
from raytpnn.posterior.posterior import Posterior

P = 6
TOLD = Annotation(
    {"x0": "ABC", "x1": "ABC", "x2": "DDR1 /// MIR4640", "x3": "XYZ"}, {"x0": "U1", "x1": "U2", "x3": "NM_3"}
)


@pytest.fixture(scope="module")
def post():
    """Random draws on random bins; x0 and x1 are probes of one gene."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(80, P))
    encoder, bins = Encoder.fit(pd.DataFrame(values, columns=[f"x{j}" for j in range(P)]))
    draws = random_draws(rng, P, chains=2, length=20, terms=6, max_order=3)
    y = (rng.random(80) < 0.5).astype(float)
    return Posterior(draws, encoder, bins, get_family("bernoulli"), y).annotate(TOLD)


def by_hand(post):
    """Sets of genes with their function in every draw, {genes: (D, n)}, and their slopes."""
    gene = {j: TOLD.gene(f"x{j}") for j in range(P)}
    draws, bins = post.draws, post.bins
    found, slopes = {}, {}
    for t, d in enumerate(draws.draw_of_term):
        own = slice(draws.variable_start[t], draws.variable_start[t + 1])
        features = draws.feature[own]
        key = frozenset(gene[j] for j in features)
        f = draws.beta[t] * phi(bins, features, draws.b[own], draws.gamma[own])
        found.setdefault(key, np.zeros((draws.n_draws, bins.n_rows)))[d] += f
        slope = draws.beta[t]
        for j, b, gamma in zip(features, draws.b[own], draws.gamma[own], strict=True):
            table = phi_table(bins, j, b, gamma)
            v, w = bins.values_of(j), bins.weights_of(j)
            slope = slope * np.sum(w * (v - w @ v) * table)
        slopes.setdefault(key, np.zeros(draws.n_draws))[d] += slope
    return found, slopes


def phi_table(bins, j, b, gamma):
    s = 1 / (1 + np.exp(-(bins.values_of(j) - b) / gamma))
    return 1 - s / (bins.weights_of(j) @ s)


def test_table_of_genes_is_that_of_the_definition(post):
    table = post.genes()
    found, slopes = by_hand(post)
    assert list(table["rank"]) == list(range(1, len(table) + 1))
    assert np.all(np.diff(table["importance"]) <= 1e-12)
    assert len(table) == len(found)
    for row in table.itertuples():
        key = frozenset(row.gene.split(genes.BETWEEN))
        norm = np.sqrt(np.mean(found[key] ** 2, axis=1))
        assert row.order == len(key)
        assert row.importance == pytest.approx(norm.mean(), rel=1e-5)
        assert row.importance_high == pytest.approx(np.quantile(norm, 0.95), rel=1e-5)
        assert row.share_of_draws == pytest.approx(np.mean(norm > post.negligible))
        moved = slopes[key][slopes[key] != 0]
        if row.order <= 2 and len(moved):
            up = np.mean(moved > 0)
            word = {1: ("down", "up"), 2: ("opposite", "together")}[row.order][int(up >= 0.5)]
            assert row.direction == word
            assert row.direction_probability == pytest.approx(max(up, 1 - up))
        else:
            assert row.direction == ""


def test_probes_of_a_gene_are_added_up_in_draws_not_in_means(post):
    """The twin that adds up the means of probes is wrong where probes trade off."""
    table = post.genes().set_index("gene")
    single = post.components().set_index("component")["importance"]
    parts = sum(single[(label,)] for label in ("ABC (x0)", "ABC (x1)"))
    assert abs(table.loc["ABC", "importance"] - parts) > 0.01 * parts
    assert table.loc["ABC", "accession"] in ("U1; U2", "U2; U1")
    assert set(table.loc["ABC", "probes"].split("; ")) >= {"x0", "x1"}
    assert table.loc["x4", "accession"] == ""


def test_inclusion_anywhere(post):
    table = post.genes().set_index("gene")
    found, _ = by_hand(post)
    squares = sum(np.mean(f**2, axis=1) for key, f in found.items() if "ABC" in key)
    assert table.loc["ABC", "share_of_draws_any"] == pytest.approx(
        np.mean(np.sqrt(squares) > post.negligible)
    )
    assert table.loc["ABC", "share_of_draws_any"] >= table.loc["ABC", "share_of_draws"]


@pytest.fixture(scope="module")
def planted():
    """A fit in which one gene raises the response and another lowers it."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150, 5)), columns=[f"x{j}" for j in range(5)])
    y = 2.0 * X["x0"] - 2.0 * X["x3"] + 0.3 * rng.normal(size=150)
    return raytpnn.sample(X, y, chains=2, warmup=150, draws=100, seed=1).annotate(TOLD)


def test_direction_of_planted_effects(planted, monkeypatch):
    table = planted.genes().set_index("gene")
    assert table.loc["ABC", "direction"] == "up"
    assert table.loc["XYZ", "direction"] == "down"
    assert min(table.loc[["ABC", "XYZ"], "direction_probability"]) > 0.99
    # A twin that takes the sign of the coefficient, which is that of a falling sigmoid, is wrong.
    monkeypatch.setattr(genes, "term_slopes", lambda ensemble: ensemble.terms.beta)
    twin = planted.genes().set_index("gene")
    assert twin.loc["ABC", "direction"] == "down"


def test_names_are_everywhere(planted, tmp_path):
    label = "ABC (x0)"
    assert (label,) in set(planted.components()["component"])
    assert label in planted.shapley(np.zeros((2, 5)))
    assert label in {name for names in planted.terms()["features"] for name in names}
    assert any(label in quantity for quantity in planted.diagnostics()["quantity"])
    assert (label,) in set(planted.contributions(np.zeros((2, 5))))
    curve = planted.component(label)
    assert curve.columns[0] == label
    pd.testing.assert_frame_equal(planted.component("x0"), curve)
    grid = planted.component("x0", grid={"x0": [0.0, 1.0]})
    pd.testing.assert_frame_equal(planted.component("x0", grid={label: [0.0, 1.0]}), grid)
    planted.save(tmp_path / "run")
    again = raytpnn.load(tmp_path / "run")
    assert again.encoder.annotation.accession["x0"] == "U1"
    assert again.names == planted.names
    pd.testing.assert_frame_equal(again.genes(), planted.genes())
    assert raytpnn.load(tmp_path / "run").encoder.annotation.symbol["x2"] == "DDR1 /// MIR4640"


def test_names_are_in_the_report(planted):
    pytest.importorskip("matplotlib")
    from raytpnn.report.page.sections.importance import importance_section
    from raytpnn.report.plots.effects import plot_effect
    from raytpnn.report.plots.importance import plot_importance
    from raytpnn.report.plots.shapley import plot_shapley

    page = importance_section(planted)
    for text in ("ABC (x0)", "genes and combinations", "NM_3", "XYZ", "up (100%)", "down (100%)"):
        assert text in page
    assert "ABC (x0)" in plot_effect(planted, "ABC (x0)").get_title()
    for axes in (plot_importance(planted), plot_shapley(planted)):
        assert "ABC (x0)" in [tick.get_text() for tick in axes.get_yticklabels()]
    import matplotlib.pyplot as plt

    plt.close("all")


def test_without_annotation_names_are_those_of_the_columns():
    rng = np.random.default_rng(0)
    bins = random_bins(rng, p=4, missing=0.0)
    post = Posterior(random_draws(rng, 4), None, bins, get_family("gaussian"), rng.normal(size=300))
    assert post.names == bins.names


def test_annotation_files(tmp_path):
    rows = "1007_s_at,U48705,DDR1 /// MIR4640\n1053_at,M87338,RFC2\n117_at,---,\n"
    (tmp_path / "a.csv.gz").write_bytes(
        gzip.compress(f"probe_id,genbank_accession,gene_symbol\n{rows}".encode())
    )
    geo = "^PLATFORM = GPL1\n!Platform_title = x\n#ID = id\n!platform_table_begin\nID\tGB_ACC\tGene Symbol\n"
    (tmp_path / "GPL1.txt").write_text(geo + rows.replace(",", "\t"))
    for name in ("a.csv.gz", "GPL1.txt"):
        told = read_annotation(tmp_path / name)
        assert told.gene("1007_s_at") == "DDR1 /// MIR4640"
        assert told.label("1007_s_at") == "DDR1/MIR4640 (1007_s_at)"
        assert told.gene("117_at") == told.label("117_at") == "117_at"
        assert told.accession == {"1007_s_at": "U48705", "1053_at": "M87338"}
        assert told.label("1053_at (2)") == "RFC2 (1053_at (2))"
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"b.csv' needs a column of probe ids.*it has 'a', 'b'"):
        read_annotation(tmp_path / "b.csv")


def test_real_annotation(real_data):
    told = read_annotation(real_data / "gpl570_annotation.csv.gz")
    assert (len(told.symbol), len(told.accession)) == (45_782, 44_692)
    assert told.gene("1053_at") == "RFC2"
    assert told.accession["1053_at"] == "M87338"
