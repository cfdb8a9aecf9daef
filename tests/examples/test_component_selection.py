"""The score of the component selection example, against scikit-learn over all subsets."""

from __future__ import annotations

import importlib.util
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from raytpnn.data.synthetic import DESIGNS

EXAMPLE = Path(__file__).parents[2] / "examples" / "component_selection.py"


def load_example():
    spec = importlib.util.spec_from_file_location("component_selection", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("order", [1, 2, 3])
def test_auroc_counts_subsets_that_no_draw_holds(order):
    selection_auroc = load_example().selection_auroc
    rng = np.random.default_rng(order)
    names = [f"x{i}" for i in range(1, 10)]
    subsets = list(combinations(names, order))
    for held in (0, 1, len(subsets) // 2, len(subsets)):
        # Some values are equal, so that ties between held subsets occur.
        chosen = rng.permutation(len(subsets))[:held]
        importance = {subsets[i]: float(rng.choice([0.1, 0.2, rng.random()])) for i in chosen}
        truth = {subsets[i] for i in rng.permutation(len(subsets))[: 1 + len(subsets) // 4]}
        expected = roc_auc_score([S in truth for S in subsets], [importance.get(S, 0.0) for S in subsets])
        others = {("x1", "x2", "x3", "x4")}
        assert selection_auroc(importance, truth | others, len(names), order) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["f1", "f2", "f3"])
def test_norms_of_true_components_add_up_to_the_variance(name):
    example = load_example()
    design = DESIGNS[name]
    norms = example.true_norms(name)
    # Components are orthogonal. The square root in f3 has a kink that the quadrature sees to 0.1 % only.
    assert sum(size**2 for size in norms.values()) == pytest.approx(design.variance, rel=2e-3)
    # What the data module lists is what is there.
    assert {S for S, size in norms.items() if size > 1e-9} == set(design.components)


def test_the_oracle_is_that_of_a_simulated_test():
    example = load_example()
    rng = np.random.default_rng(0)
    for name, order in (("f1", 2), ("f3", 3)):
        design, norms = DESIGNS[name], example.true_norms(name)
        error = np.sqrt(design.variance / 5 / 5000)
        z = np.array([norms[S] / error for S in design.components if len(S) == order])
        present, absent = rng.normal(size=(40_000, len(z))) + z, rng.normal(size=(40_000, len(z)))
        assert example.oracle_auroc(name, 5000, order) == pytest.approx(np.mean(present > absent), abs=0.003)
        assert example.oracle_auroc(name, 10**12, order) == pytest.approx(1.0, abs=1e-3)


def test_a_quick_run_prints_the_paper_beside(capsys, monkeypatch):
    example = load_example()
    size = ["--n", "200", "--chains", "2", "--warmup", "50", "--draws", "20", "--seeds", "0"]
    monkeypatch.setattr("sys.argv", ["x", "--functions", "f2", *size, "--feature-weights", "uniform"])
    example.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[2:]] == [["f2", "1"], ["f2", "2"], ["f2", "3"]]
    assert [line.split()[6] for line in lines[2:]] == ["0.831", "0.985", "0.966"]
