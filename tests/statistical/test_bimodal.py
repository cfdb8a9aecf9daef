"""Two near-identical features and one term: tempering crosses from one to the other."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats
from support.ensemble_cases import SmallModel, mean_of_logs

from raytpnn.engine.backends import block_runner
from raytpnn.engine.chain import Chain
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import TEMPERATURE
from raytpnn.engine.tempering.options import Tempering
from raytpnn.model.prior import Prior

SEEDS = range(6)
WARMUP, DRAWS = 1000, 4000


@cache
def two_features(keeping: float = 0.0) -> SmallModel:
    """A step in x0; x1 has nearly the same order.

    `keeping` is the share of changes of a variable that keep its location and scale. They cross between such
    features by themselves, so that tempering is tested without them.
    """
    rng = np.random.default_rng(4)
    n = 80
    x = rng.permutation(n)
    ranks = [x, np.argsort(np.argsort(x + rng.normal(0, 0.7, n)))]
    X = (np.stack(ranks, axis=1) + 0.5) / n
    y = np.where(X[:, 0] > 0.4, 1.0, -1.0) + rng.normal(0, 0.35, n)
    scales = {"a_gamma": 1.0, "b_gamma": 0.1, "sigma_beta2": 1.0}
    prior = Prior(K_max=1, C0=0.005, max_order=1, **scales, intercept_sd=2.0, v=4.0)
    model = SmallModel(X, y, "gaussian", prior, noise_variance=0.3)
    model.settings.q_keep = keeping
    return model


def log_mass(feature: int, grid: int) -> float:
    """Log of prior times likelihood of the states with one term in `feature`, up to a constant.

    Coefficient and intercept in closed form: a basis function sums to zero over the rows, so that the two do
    not see each other. The rest is summed: b where the step is, gamma and the noise variance by quantiles.
    """
    model = two_features()
    prior, n = model.prior, len(model.y)
    b, gamma = np.meshgrid(
        0.25 + 0.3 * (np.arange(4 * grid) + 0.5) / (4 * grid),
        stats.gamma(prior.a_gamma, scale=prior.b_gamma).ppf((np.arange(grid) + 0.5) / grid),
    )
    argument = (model.value[feature] - b.ravel()[:, None]) / gamma.ravel()[:, None]
    s = 1.0 / (1.0 + np.exp(-np.clip(argument, -700, 700)))
    phi = (1.0 - s / s.mean(axis=1, keepdims=True))[:, model.codes[feature]]
    residual = model.y - float(model.settings.intercept_mean)
    total, dot, norm = residual.sum() ** 2, (phi @ residual) ** 2, np.sum(phi * phi, axis=1)
    parts = []
    for eta in model.noise_nodes(grid):
        value = -0.5 * (n * np.log(eta) + residual @ residual / eta)
        for spread, inner, product in ((prior.intercept_sd**2, n, total), (prior.sigma_beta2, norm, dot)):
            value = value - 0.5 * np.log(1.0 + spread * inner / eta)
            value = value + 0.5 * spread * product / (eta * (eta + spread * inner))
        parts.append(value)
    return mean_of_logs(np.array(parts))


def probability_of_second(grid: int = 120) -> float:
    """Posterior probability that the term uses x1."""
    return float(1.0 / (1.0 + np.exp(log_mass(0, grid) - log_mass(1, grid))))


def features_visited(tempering: Tempering | None, seed: int, keeping: float = 0.0) -> tuple[np.ndarray, int]:
    """Feature of the term in every draw of the cold chain, -1 without a term; and round trips."""
    model = two_features(keeping)
    replicas = model.ensemble(tempering or Tempering(2), seed)
    chain = replicas
    if tempering is None:
        # The first replica alone, at the posterior's temperature.
        replicas.states[0].scalar[TEMPERATURE] = 1.0
        chain = Chain(model.problem, model.settings, replicas.states[0], block_runner("numba"))
    record = chain.run(0, WARMUP + DRAWS, WARMUP, 1).record
    return np.where(record.K == 1, record.features[:, 0, 0], -1), replicas.status().round_trips


def switches_per_1000(feature: np.ndarray) -> float:
    seen = feature[feature >= 0]
    return 1000.0 * float(np.mean(seen[1:] != seen[:-1]))


def test_tempering_crosses_between_modes_in_the_right_proportion():
    exact = probability_of_second()
    assert exact == pytest.approx(probability_of_second(60), abs=0.01), "the integral is too coarse"
    assert 0.2 < exact < 0.8, "not bimodal"
    plain = [features_visited(None, seed)[0] for seed in SEEDS]
    tempered = [features_visited(Tempering(8), seed) for seed in SEEDS]
    # Without tempering a chain stays where it first arrived; counted over all seeds.
    assert max(switches_per_1000(feature) for feature in plain) < 2.0
    assert min(switches_per_1000(feature) for feature, _ in tempered) > 20.0
    assert min(trips for _, trips in tempered) >= 10
    shares = np.array([np.mean(feature == 1) for feature, _ in tempered])
    error = shares.std(ddof=1) / np.sqrt(len(shares))
    assert error < 0.06
    # Student's t with 5 degrees of freedom: beyond 5 once in 240 choices of seeds.
    assert abs(shares.mean() - exact) < 5.0 * error


def test_without_tempering_the_proportion_is_chance():
    shares = np.array([np.mean(features_visited(None, seed)[0] == 1) for seed in SEEDS])
    assert shares.std(ddof=1) / np.sqrt(len(shares)) > 0.1


def test_changes_that_keep_location_and_scale_cross_by_themselves():
    visited = [features_visited(None, seed, keeping=Moves().q_keep)[0] for seed in SEEDS]
    assert min(switches_per_1000(feature) for feature in visited) > 20.0
    shares = np.array([np.mean(feature == 1) for feature in visited])
    error = shares.std(ddof=1) / np.sqrt(len(shares))
    assert abs(shares.mean() - probability_of_second()) < 5.0 * error
