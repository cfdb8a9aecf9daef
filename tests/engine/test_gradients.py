"""Gradients and curvatures of a term against finite differences, orders 1 to 4, all families."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.chain_cases import make_case

from raytpnn.engine.moves import langevin, refit_factor
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import TEMPERATURE
from raytpnn.engine.reference.execution import evaluate, reference_of
from raytpnn.engine.rows.row_passes import MOMENTS
from raytpnn.families import FAMILIES
from raytpnn.families.base import DERIVATIVES, LIKELIHOOD
from raytpnn.model.basis import factor
from raytpnn.model.prior import Prior

ONE_OUTPUT = [name for name, family in FAMILIES.items() if family.outputs is None]
PRIOR = Prior(K_max=2, max_order=4, a_gamma=1.7, intercept_sd=0.5, sigma_beta2=0.4)


def place_term(case, d, rng):
    state = case.chain.state
    state.K = 1
    state.order[0] = d
    state.features[0, :d] = rng.choice(len(case.problem.codes), d, replace=False)
    state.b[0, :d] = rng.uniform(0.1, 0.9, d)
    state.gamma[0, :d] = rng.uniform(0.05, 0.5, d)
    state.beta[0] = rng.normal()
    state.scalar[:4] = [0.2, 0.7, 0.3, 0.4]
    return state


def log_posterior(case, bins, theta, features, log_gamma):
    """Log posterior of one term from first principles, in float64 and without tables."""
    d = len(features)
    b, gamma, beta = theta[:d], theta[d : 2 * d], theta[2 * d]
    gamma = np.exp(gamma) if log_gamma else gamma
    state = case.chain.state
    phi = np.ones(bins.n_rows)
    for j, feature in enumerate(features):
        table = factor(bins, int(feature), b[j], gamma[j])
        if case.settings.bounded:
            table = table / np.abs(table).max()
        phi *= table[bins_index(bins, feature)]
    fit = case.problem.offset + state.scalar[0] + beta * phi
    eta = state.scalar[1]
    value = np.sum(case.family.reference_rows(case.problem.y, fit, case.problem.w, eta)[2])
    value /= 1.0 if case.family.dispersion_in_rows else eta
    power = PRIOR.a_gamma if log_gamma else PRIOR.a_gamma - 1.0
    value += np.sum(power * np.log(gamma) - gamma / state.scalar[2])
    return value - 0.5 * beta**2 / state.scalar[3]


def bins_index(bins, feature):
    """Codes of a feature, missing as the entry after the last bin."""
    codes = bins.codes[feature].astype(int)
    return np.where(codes == bins.missing_code, len(bins.values_of(feature)), codes)


@pytest.mark.parametrize(
    ("family", "order"),
    # Of the order of a term a family knows nothing.
    [
        (family, order)
        for family in ONE_OUTPUT
        for order in ((1, 2, 3, 4) if family == "gaussian" else (1, 3))
    ],
)
@pytest.mark.parametrize("log_gamma", [True, False])
@pytest.mark.parametrize("bounded", [True, False])
def test_gradient_agrees_with_finite_differences(family, order, log_gamma, bounded):
    from support.chain_cases import random_bins

    moves, prior = Moves(log_gamma=log_gamma), replace(PRIOR, bounded=bounded)
    case = make_case(family, n=40, p=6, prior=prior, moves=moves, missing=0.1, backend="reference")
    bins = random_bins(40, 6, 0, missing=0.1)
    rng = np.random.default_rng(order)
    tables = reference_of(langevin.term_tables.unit)
    combine = reference_of(langevin.gradient_and_precision)
    for _ in range(5):
        state = place_term(case, order, rng)
        case.compute_fit()
        problem, settings, work = case.problem.record, case.settings, case.chain.work
        features = state.features[0]
        assert tables(problem, settings, work, features, state.b[0], state.gamma[0], order)
        need = DERIVATIVES + LIKELIHOOD + MOMENTS
        evaluate(problem, settings, state, work, work.fit, 0, 0.0, 0, 0.0, need, 0, features, order)
        gradient, precision = np.zeros(2 * order + 1), np.zeros(2 * order + 1)
        combine(settings, state, work.sums, state.gamma[0], state.beta[0], order, gradient, precision)
        gamma = state.gamma[0, :order]
        theta = np.concatenate([state.b[0, :order], np.log(gamma) if log_gamma else gamma, [state.beta[0]]])
        h = 1e-5
        numeric = [
            (
                log_posterior(case, bins, theta + h * e, features[:order], log_gamma)
                - log_posterior(case, bins, theta - h * e, features[:order], log_gamma)
            )
            / (2 * h)
            for e in np.eye(2 * order + 1)
        ]
        # Tables are float32, so gradients are right to about 1e-6 of the size of what they sum.
        scale = 1.0 + np.abs(numeric).max()
        np.testing.assert_allclose(gradient, numeric, atol=2e-5 * scale)
        assert np.all(precision > 0)


def test_a_gradient_without_the_height_would_be_seen():
    """The slope of a bounded factor is not that of an unbounded one divided by the height."""
    from support.chain_cases import random_bins

    bins = random_bins(40, 3, 0)
    b, gamma, h = 0.7, 0.2, 1e-6

    def bounded(at):
        table = factor(bins, 1, at, gamma)
        return table / np.abs(table).max()

    numeric = (bounded(b + h) - bounded(b - h)) / (2 * h)
    slope = (factor(bins, 1, b + h, gamma) - factor(bins, 1, b - h, gamma)) / (2 * h)
    forgotten = slope / np.abs(factor(bins, 1, b, gamma)).max()
    assert np.abs(numeric - forgotten).max() > 0.1


def test_a_wrong_gradient_would_be_seen():
    """The paper's d phi/d b lacks 1/c^2 in one term: the comparison above tells them apart."""
    from support.chain_cases import random_bins

    bins = random_bins(40, 3, 0)
    b, gamma, h = 0.4, 0.2, 1e-6
    numeric = (factor(bins, 1, b + h, gamma) - factor(bins, 1, b - h, gamma)) / (2 * h)
    value, weight = bins.values_of(1), bins.weights_of(1)
    s = 1 / (1 + np.exp(-(value - b) / gamma))
    c, t = weight @ s, s * (1 - s)
    right = t / (gamma * c) - s * (weight @ t) / (gamma * c**2)
    published = t / (gamma * c) - s * (weight @ t) / gamma
    np.testing.assert_allclose(numeric[:-1], right, atol=1e-7)
    assert np.abs(numeric[:-1] - published).max() > 0.1


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_evidence_of_a_factor_is_the_integral_over_its_coefficient(temperature):
    """Up to one constant for all moments: what the steps of a refit compare."""
    case = make_case("gaussian", prior=PRIOR)
    state = case.chain.state
    state.scalar[:4] = [0.2, 0.7, 0.3, 0.4]
    state.scalar[TEMPERATURE] = temperature
    moments = [(0.0, 0.5), (0.0, 40.0), (3.0, 5.0), (-8.0, 20.0)]
    beta = np.linspace(-12.0, 12.0, 40_001)
    told, true = [], []
    for dot, norm in moments:
        told.append(reference_of(refit_factor.log_evidence)(case.settings, state, dot, norm))
        log_density = temperature / 0.7 * (beta * dot - 0.5 * norm * beta**2) - 0.5 * beta**2 / 0.4
        true.append(np.log(np.trapezoid(np.exp(log_density), beta)))
    np.testing.assert_allclose(np.diff(told), np.diff(true), rtol=1e-9)
