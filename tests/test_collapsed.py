"""The model with all coefficients integrated out, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from chain_cases import make_case

from raytpnn.engine.layout import NUISANCE, SIGMA_BETA2
from raytpnn.engine.moves import marginal
from raytpnn.engine.reference import reference_of
from raytpnn.model.prior import Prior

begin_marginal = reference_of(marginal.begin_marginal.unit)
gain_of_trial = reference_of(marginal.gain_of_trial.unit)
take_out = reference_of(marginal.take_out.unit)
put_in = reference_of(marginal.put_in.unit)
gain_of_term = reference_of(marginal.gain_of_term)


@pytest.fixture
def case():
    made = make_case(n=40, p=5, prior=Prior(K_max=8, max_order=3), missing=0.1)
    while made.chain.state.K < 4:
        made.load(made.prior_draw(), 0)
    made.problem.w[:] = np.random.default_rng(0).uniform(0.2, 2.0, 40)
    made.simulate_response()
    begin_marginal(*parts(made))
    return made


def parts(case):
    return case.problem.record, case.settings, case.chain.state, case.chain.work


def phi_of(case):
    """All rows of the phi matrix, (K_max + 1, n)."""
    return case.chain._arrays[0].astype(np.float64)


def dense(case, rows):
    """Covariance, mean and log marginal likelihood (up to a constant) of the terms in these rows of phi."""
    state, settings = case.chain.state, case.settings
    design = np.vstack([np.ones(len(case.problem.y)), phi_of(case)[rows]])
    scale = 1.0 / state.scalar[NUISANCE]
    prior = np.array([settings.intercept_precision, *[1.0 / state.scalar[SIGMA_BETA2]] * len(rows)])
    precision = scale * (design * case.problem.w) @ design.T + np.diag(prior)
    right = (
        scale * (design * case.problem.w) @ (case.problem.y - case.problem.offset - settings.intercept_mean)
    )
    mean = np.linalg.solve(precision, right)
    evidence = 0.5 * (np.log(prior).sum() - np.linalg.slogdet(precision)[1] + right @ mean)
    return np.linalg.inv(precision), mean, evidence


def covariance_of(case, size):
    work, side = case.chain.work, int(case.settings.K_max) + 1
    gram = next(a for a in case.chain._arrays if a.ctypes.data == work.gram)
    assert gram.shape == (side, side)
    return gram[:size, :size], work.vector[marginal.MEAN][:size]


def check(case, rows):
    covariance, mean, _ = dense(case, rows)
    found, found_mean = covariance_of(case, len(rows) + 1)
    np.testing.assert_allclose(found, covariance, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found_mean, mean, rtol=1e-8, atol=1e-10)


def test_covariance_and_mean_are_those_of_the_terms(case):
    check(case, list(range(case.chain.state.K)))


def test_gain_of_a_term_is_a_ratio_of_marginal_likelihoods(case):
    rows = list(range(case.chain.state.K))
    for k in rows:
        expected = dense(case, rows)[2] - dense(case, [r for r in rows if r != k])[2]
        assert gain_of_term(case.settings, case.chain.state, case.chain.work, k + 1) == pytest.approx(
            expected
        )


@pytest.mark.parametrize("skip", [0, 2])
def test_gain_of_a_trial_is_a_ratio_of_marginal_likelihoods(case, skip):
    K, trial = int(case.chain.state.K), int(case.settings.K_max)
    case.chain._arrays[0][trial] = np.random.default_rng(1).normal(size=40)
    others = [k for k in range(K) if k + 1 != skip]
    found = gain_of_trial(*parts(case), K + 1, skip)
    assert found == pytest.approx(dense(case, [*others, trial])[2] - dense(case, others)[2])


def test_a_term_put_in_and_taken_out_changes_what_it_should(case):
    K, trial = int(case.chain.state.K), int(case.settings.K_max)
    case.chain._arrays[0][trial] = np.random.default_rng(1).normal(size=40)
    records = (case.settings, case.chain.state, case.chain.work)
    gain_of_trial(*parts(case), K + 1, 2)
    take_out(*records, K + 1, 2)
    put_in(*records, K + 1, 2)
    check(case, [0, trial, *range(2, K)])
    take_out(*records, K + 1, K)
    check(case, [0, trial, *range(2, K - 1)])
