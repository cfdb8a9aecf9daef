"""Small ensembles of replicas, and integrals over small models to hold them against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import logsumexp
from support.chain_cases import Case, make_case

from raytpnn.data.encoding.bins import Bins
from raytpnn.engine.backends import EnsembleRunner, ensemble_runner
from raytpnn.engine.chain import new_state
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.problem import build_problem, build_settings
from raytpnn.engine.rows.factor_tables import SMALLEST_HEIGHT, SMALLEST_MEAN
from raytpnn.engine.tempering.options import Tempering
from raytpnn.engine.tempering.replicas import ReplicaSet
from raytpnn.families import get_family
from raytpnn.model.prior import Prior


def make_ensemble(
    case: Case,
    tempering: Tempering,
    backend: str = "numba",
    threads: int = 1,
    runner: EnsembleRunner | None = None,
) -> ReplicaSet:
    """Replicas that start where the case's chain is."""
    chosen = runner or ensemble_runner(backend)
    start = case.chain.state
    return ReplicaSet(case.problem, case.settings, start, tempering, chosen, threads, case.chain.watched)


def flat_case(family: str = "gaussian", **options) -> Case:
    """A case without information: all weights are 0."""
    return make_case(family, n=6, p=4, weight=0.0, **options)


@dataclass
class SmallModel:
    """Features of few values, at most a few terms of order 1 or 2, fixed scales."""

    X: np.ndarray  # (n, 2) 0 or 1
    y: np.ndarray
    family: str
    prior: Prior
    noise_variance: float = 1.0

    def __post_init__(self) -> None:
        n, p = self.X.shape
        self.prior = self.prior.resolved(n, p, self.family)
        levels = [np.unique(self.X[:, j], return_inverse=True, return_counts=True) for j in range(p)]
        self.codes = np.array([level[1] for level in levels], np.uint8)
        self.weight = [level[2] / n for level in levels]
        self.value = [level[0].astype(float) for level in levels]
        bins = Bins(
            codes=self.codes,
            names=tuple(f"x{j}" for j in range(p)),
            marginal=np.arange(p, dtype=np.int32),
            first=np.concatenate([[0], np.cumsum([len(v) for v in self.value])]).astype(np.int64),
            value=np.concatenate(self.value),
            weight=np.concatenate(self.weight),
        )
        self.likelihood = get_family(self.family)
        self.problem = build_problem(bins, self.y, np.ones(n), np.zeros(n), np.full(p, 1.0 / p))
        self.settings = build_settings(
            self.problem, self.likelihood, self.prior, Moves(), self.noise_variance
        )

    def ensemble(
        self, tempering: Tempering, chain: int, seed: int = 0, runner: EnsembleRunner | None = None
    ) -> ReplicaSet:
        state = new_state(
            self.settings,
            seed,
            chain,
            Moves().step_size,
            1.0,
            self.prior.start("b_gamma"),
            self.prior.start("sigma_beta2"),
        )
        return ReplicaSet(self.problem, self.settings, state, tempering, runner or ensemble_runner("numba"))

    def basis(self, feature: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Basis functions on a grid of (b, gamma), (size^2, n), with equal prior mass."""
        u = (np.arange(size) + 0.5) / size
        b, gamma = np.meshgrid(u, stats.gamma(self.prior.a_gamma, scale=self.prior.b_gamma).ppf(u))
        argument = (self.value[feature] - b.ravel()[:, None]) / gamma.ravel()[:, None]
        s = 1.0 / (1.0 + np.exp(-np.clip(argument, -700, 700)))
        c = s @ self.weight[feature]
        inside = c > SMALLEST_MEAN
        factor = 1.0 - s[inside] / c[inside, None]
        if self.prior.bounded:
            height = np.abs(factor).max(axis=1, keepdims=True)
            has_mass = height[:, 0] >= SMALLEST_HEIGHT
            factor = factor[has_mass] / height[has_mass]
        return factor[:, self.codes[feature]]

    def noise_nodes(self, size: int) -> np.ndarray:
        """Noise variances of equal prior mass."""
        if not self.likelihood.dispersion:
            return np.ones(1)
        u = (np.arange(size) + 0.5) / size
        return stats.invgamma(self.prior.v / 2, scale=float(self.settings.v_lambda) / 2).ppf(u)

    def gaussian_log_marginal(self, designs: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """log p(y | basis functions, noise variance), coefficients and intercept integrated out.

        `designs` is (m, n, K); the result is (m, len(noise)).
        """
        m, n, K = designs.shape
        spread = np.append(self.prior.intercept_sd**2, np.full(K, self.prior.sigma_beta2))
        design = np.concatenate([np.ones((m, n, 1)), designs], axis=2)
        residual = self.y - float(self.settings.intercept_mean)
        gram = np.einsum("mni,mnj->mij", design, design)
        dot = np.einsum("mni,n->mi", design, residual)
        inner = np.eye(K + 1) / spread[:, None] + gram[:, None] / noise[:, None, None]
        right = dot[:, None] / noise[:, None]
        quadratic = residual @ residual / noise - np.einsum(
            "mki,mki->mk", right, np.linalg.solve(inner, right[..., None])[..., 0]
        )
        log_det = n * np.log(noise) + np.log(spread).sum() + np.linalg.slogdet(inner)[1]
        return -0.5 * (n * np.log(2 * np.pi) + log_det + quadratic)


def mean_of_logs(values: np.ndarray) -> float:
    return float(logsumexp(values) - np.log(values.size))
