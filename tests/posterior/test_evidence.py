"""Log evidence of tempered replicas against integrals that need no sampling."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from support.ensemble_cases import SmallModel, mean_of_logs
from support.tempering_cases import likelihood_of_fit_alone, twin

from raytpnn.convergence.evidence import log_evidence
from raytpnn.engine.tempering.options import Tempering
from raytpnn.model.prior import Prior

SETS = ((0,), (1,), (0, 1))
# An error of z standard errors: about one in 16,000 by chance.
LIMIT = 4.0


def small_model(family: str, K_max: int) -> SmallModel:
    rng = np.random.default_rng(8)
    n = 14
    X = np.stack([np.arange(n) % 2, (np.arange(n) // 2) % 2], axis=1)
    X[0] = [1, 1]
    f = 1.5 * X[:, 0] - X[:, 0] * X[:, 1]
    y = {
        "gaussian": f + rng.normal(0, 0.5, n),
        "bernoulli": (rng.random(n) < 1 / (1 + np.exp(0.7 - f))).astype(float),
        "poisson": rng.poisson(np.exp(f)).astype(float),
    }[family]
    prior = Prior(K_max=K_max, C0=0.2, max_order=2, b_gamma=0.3, sigma_beta2=0.6, intercept_sd=1.5, v=4.0)
    return SmallModel(X, y, family, prior, noise_variance=0.4)


def shapes(model: SmallModel, nodes: int) -> dict[tuple[int, ...], np.ndarray]:
    """Basis functions of every set with about equal prior mass, (nodes, n).

    On binary features all basis functions of a set are multiples of one, so that few of them do.
    """
    found = {}
    for chosen in SETS:
        factors = [model.basis(j, 120) for j in chosen]
        pattern = np.prod([factor[0] / np.abs(factor[0]).max() for factor in factors], axis=0)
        heights = np.abs(factors[0]).max(axis=1)
        if len(factors) == 2:
            heights = np.outer(heights[::7], np.abs(factors[1]).max(axis=1)[::11]).ravel()
        parts = np.array_split(np.sort(heights), nodes)
        found[chosen] = np.array([np.sqrt(np.mean(part**2)) for part in parts])[:, None] * pattern
    return found


def gaussian_evidence(model: SmallModel, nodes: int = 20, power: float = 1.0) -> float:
    """Log of the integral of likelihood^power: coefficients in closed form, all else summed.

    A power of a normal density is one of a larger variance, up to a factor.
    """
    basis = shapes(model, nodes)
    n = len(model.y)
    set_prior = {s: np.exp(model.prior.log_set_prior(2)[len(s)]) for s in SETS}
    noise = model.noise_nodes(200)
    factor = 0.5 * n * ((1.0 - power) * np.log(2 * np.pi * noise) - np.log(power))
    total = []
    for K, weight in enumerate(model.prior.count_weights(n)):
        for chosen in combinations_with_replacement(SETS, K):
            ways = 1 if len(set(chosen)) == 1 or K < 2 else 2
            grids = np.meshgrid(*[np.arange(nodes)] * K, indexing="ij")
            columns = [basis[s][grid.ravel()] for s, grid in zip(chosen, grids, strict=True)]
            designs = np.stack(columns, axis=2) if K else np.zeros((1, n, 0))
            inside = mean_of_logs(model.gaussian_log_marginal(designs, noise / power) + factor)
            total.append(np.log(weight * ways) + sum(np.log(set_prior[s]) for s in chosen) + inside)
    return float(logsumexp(total))


def grid_of_states(model: SmallModel, nodes: int = 16, size: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Log prior mass and log-likelihood of states: at most one term, no noise variance."""
    basis = shapes(model, nodes)
    n = len(model.y)
    u = (np.arange(size) + 0.5) / size
    z = stats.norm.ppf(u)
    intercept = float(model.settings.intercept_mean) + model.prior.intercept_sd * z
    beta = np.sqrt(model.prior.sigma_beta2) * z
    mass, loglik = [], []
    for K, weight in enumerate(model.prior.count_weights(n)):
        for chosen in SETS if K else [None]:
            rows = np.zeros((1, n)) if chosen is None else basis[chosen]
            scale = np.zeros(1) if chosen is None else beta
            prior = 1.0 if chosen is None else np.exp(model.prior.log_set_prior(2)[len(chosen)])
            f = intercept[:, None, None, None] + scale[:, None, None] * rows
            value = model.likelihood.log_density(model.y, f, 1.0).sum(axis=-1).ravel()
            loglik.append(value)
            mass.append(np.full(value.size, np.log(weight * prior / value.size)))
    return np.concatenate(mass), np.concatenate(loglik)


def mean_log_likelihood(model: SmallModel, power: float) -> float:
    """Mean under prior * likelihood^power."""
    if model.family == "gaussian":
        step = 1e-4 * power
        change = gaussian_evidence(model, power=power + step) - gaussian_evidence(model, power=power - step)
        return change / (2.0 * step)
    mass, loglik = grid_of_states(model)
    weight = mass + power * loglik
    return float(np.exp(weight - logsumexp(weight)) @ loglik)


def run(model: SmallModel, ensembles: int = 4, draws: int = 2000, runner=None, replicas: int = 6):
    logliks, ladders = [], []
    constant = model.likelihood.log_constant(model.y, np.ones(len(model.y)))
    for chain in range(ensembles):
        block = model.ensemble(Tempering(replicas), chain, runner=runner).run(0, 400 + draws, 400, 1)
        logliks.append(block.level_loglik + constant)
        ladders.append(block.temperature)
    return logliks, ladders


@pytest.mark.parametrize("K_max", [1, 2])
def test_gaussian_evidence_agrees_with_the_integral(K_max):
    model = small_model("gaussian", K_max)
    exact = gaussian_evidence(model)
    assert gaussian_evidence(model, 10) == pytest.approx(exact, abs=0.01), "the integral is too coarse"
    found = log_evidence(*run(model))
    assert found.note == ""
    assert found.error < 0.05
    assert abs(found.log_evidence - exact) < LIMIT * found.error + 0.005


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_evidence_agrees_with_the_integral(family):
    model = small_model(family, 1)
    mass, loglik = grid_of_states(model)
    exact = float(logsumexp(mass + loglik))
    found = log_evidence(*run(model))
    assert found.error < 0.05
    assert abs(found.log_evidence - exact) < LIMIT * found.error + 0.01


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_every_level_has_its_own_mean_log_likelihood(family):
    """Power posteriors between prior and posterior, the noise variance's among them."""
    model = small_model(family, 1)
    logliks, ladders = run(model, ensembles=1, draws=4000)
    for level in range(1, 6):
        exact = mean_log_likelihood(model, ladders[0][level])
        series = logliks[0][:, level]
        batches = series.reshape(40, -1).mean(axis=1)
        error = batches.std(ddof=1) / np.sqrt(40)
        assert abs(series.mean() - exact) < LIMIT * error + 0.02, level


def test_evidence_without_the_noise_variance_in_swaps_is_wrong():
    model = small_model("gaussian", 1)
    exact = gaussian_evidence(model)
    broken = twin(full_log_likelihood=likelihood_of_fit_alone)
    found = log_evidence(*run(model, ensembles=2, runner=broken))
    assert abs(found.log_evidence - exact) > LIMIT * found.error + 0.1


def test_a_bridge_between_known_normals_has_the_known_ratio():
    """l = -x^2/2 under N(0, 1) as prior: the constant at T is (1 + T)^(-1/2)."""
    rng = np.random.default_rng(0)
    ladder = np.array([0.0, 0.3, 1.0])
    loglik = -0.5 * rng.normal(size=(20_000, 3)) ** 2 / (1.0 + ladder)
    found = log_evidence([loglik], [ladder])
    exact = -0.5 * np.log(2.0)
    assert found.error < 0.01
    for value in (found.log_evidence, found.forward, found.backward):
        assert abs(value - exact) < 4 * found.error


def test_disagreeing_ensembles_raise_the_error():
    rng = np.random.default_rng(1)
    ladder = np.array([0.0, 1.0])
    one = rng.normal(-10.0, 0.1, size=(500, 2))
    apart = log_evidence([one, one + 3.0], [ladder, ladder])
    assert apart.error > 1.0
    assert np.ptp(apart.by_ensemble) == pytest.approx(3.0)


def test_what_cannot_be_estimated_is_nan_with_a_reason():
    loglik = np.random.default_rng(2).normal(size=(100, 3))
    ladder = np.array([0.0, 0.5, 1.0])
    hot = log_evidence([loglik], [np.array([0.2, 0.5, 1.0])])
    assert np.isnan(hot.log_evidence)
    assert "starts at inverse temperature 0.2" in hot.note
    few = log_evidence([loglik[:10]], [ladder])
    assert "10 draws an ensemble are too few" in few.note
    bad = log_evidence([np.where(loglik > 2, -np.inf, loglik)], [ladder])
    assert "not finite" in bad.note
    with pytest.raises(ValueError, match="1 arrays of log-likelihoods and 2 ladders"):
        log_evidence([loglik], [ladder, ladder])


def test_a_constant_log_likelihood_has_no_error():
    found = log_evidence([np.full((50, 4), -7.5)], [np.linspace(0, 1, 4)])
    assert found.log_evidence == pytest.approx(-7.5)
    assert found.error == 0.0
