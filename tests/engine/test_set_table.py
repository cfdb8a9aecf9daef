"""Tables of sets for births: what is drawn has the probability that the ratio says."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from support.chain_cases import make_case, set_table

from raytpnn.engine.problem import with_set_table
from raytpnn.engine.reference.execution import reference_of
from raytpnn.engine.rows.set_table import draw_table_set, table_probability, weighted_probability
from raytpnn.model.prior import Prior

PRIOR = Prior(K_max=4, max_order=4, gamma_adding=0.1)


@pytest.fixture(scope="module")
def case():
    return make_case(p=6, prior=PRIOR, discovering=True)


def test_probabilities_of_a_table_are_its_weights(case):
    sets, weight = set_table(6)
    probability = reference_of(table_probability)
    held = {
        tuple(int(j) for j in row if j >= 0): w / weight.sum() for row, w in zip(sets, weight, strict=True)
    }
    rng = np.random.default_rng(0)
    for d in (1, 2, 3, 4):
        for S in combinations(range(6), d):
            mixed = rng.permutation(np.array(S, np.int32))
            assert probability(case.problem.record, mixed, d) == pytest.approx(held.get(S, 0.0)), S


def test_sets_are_drawn_by_their_weights(case):
    sets, weight = set_table(6)
    draw = reference_of(draw_table_set)
    counts = dict.fromkeys(map(tuple, sets.tolist()), 0)
    grid = (np.arange(4000) + 0.5) / 4000
    for u in grid:
        d = draw(case.problem.record, case.chain.work, u)
        drawn = (*case.chain.work.trial_features[0, :d].tolist(), -1, -1)[:3]
        counts[drawn] += 1
    expected = weight / weight.sum()
    assert np.abs(np.array(list(counts.values())) / 4000 - expected).max() < 1e-3


def test_probabilities_of_sets_drawn_by_weight_add_up(case):
    """Over all sets of an order they are the prior of the order; heavy features have more than others."""
    probability = reference_of(weighted_probability)
    orders = case.prior.order_weights(6)
    for d, share in enumerate(orders, start=1):
        values = {
            S: probability(case.problem.record, case.settings, np.array(S, np.int32), d)
            for S in combinations(range(6), d)
        }
        assert sum(values.values()) == pytest.approx(share)
        if d <= 3:
            assert values[tuple(range(6))[-d:]] > 2 * values[tuple(range(d))]


@pytest.mark.parametrize(
    ("sets", "weight", "share", "complaint"),
    [
        ([[0, 1, -1]], [0.0], 0.5, "not positive"),
        ([[1, 0, -1]], [1.0], 0.5, "no ascending set of 4"),
        ([[0, 4, -1]], [1.0], 0.5, "no ascending set of 4"),
        ([[0, -1, 2]], [1.0], 0.5, "no ascending set of 4"),
        ([[-1, -1, -1]], [1.0], 0.5, "no ascending set of 4"),
        ([[1, -1, -1], [0, -1, -1]], [1.0, 1.0], 0.5, "not in order"),
        ([[1, -1, -1], [1, -1, -1]], [1.0, 1.0], 0.5, "there twice"),
        ([[1, 2]], [1.0], 0.5, "sets \\(T, 3\\)"),
        ([[0, 1, -1]], [1.0], 1.0, "share must lie"),
    ],
)
def test_tables_that_cannot_be_drawn_from_are_refused(sets, weight, share, complaint):
    problem = make_case(p=4).problem
    with pytest.raises(ValueError, match=complaint):
        with_set_table(problem, np.array(sets), np.array(weight), share)
