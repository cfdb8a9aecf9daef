"""The prior of the paper, with learned scales, and a sampler of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lgamma

import numpy as np

__all__ = ["Prior", "PriorDraw", "PriorTerm", "sample"]

# Scale of the inverse gamma prior of sigma_beta2 by family, on the internal scale of the response.
SIGMA_BETA2_SCALE = {"gaussian": 0.05, "bernoulli": 0.3, "poisson": 0.05}
# Prior mean of a factor's scale, in ranks: with rows enough, and at most where features outnumber rows.
SHARP, SMOOTH = 0.06, 2.0
# Rows at which the mean scale of wide data has come down to 1; it falls with their square.
UNIT_ROWS = 70.0
# Shape of the scales' prior at SHARP, where very sharp steps are free, and at SMOOTH, where they are not.
SHARP_SHAPE, SMOOTH_SHAPE = 1.0, 5.0
# Features a row from which on data count as fully wide.
WIDE_RATIO = 10.0
# A factor of scale s spans about 1/(4 s) of a step: its coefficient must be larger by about this times s^2.
FLATTENING = 50.0


@dataclass(frozen=True)
class Prior:
    """Prior of a Bayesian tensor product neural network, on the standardised response.

    Three numbers may be left to a rule in the numbers of rows n and features p (None; see `resolved`): with
    as many rows as features or more, they are those of the design; with p >> n, factors are smooth. A step
    that sets a few of some tens of rows apart is found by chance among thousands of features; a slope over
    all ranks is not.

    Attributes
    ----------
    K_max : int
        Most terms a state may hold.
    C0 : float
        Penalty on terms: the prior of K is proportional to exp(-C0 K log n).
    alpha_adding, gamma_adding : float
        A term of order d goes on to order d + 1 with probability alpha_adding (1 + d)^-gamma_adding.
    max_order : int
        Highest order of a term.
    a_gamma : float or None
        Shape of the gamma prior of a factor's scale. None: by the rule, 1 (n >= p) to 5 (p >> n, n <= 50).
    b_gamma : float or None
        Scale of that prior. None: learned, inverse gamma with `b_gamma_shape` and `b_gamma_scale`.
    sigma_beta2 : float or None
        Variance of a coefficient. None: learned, inverse gamma with `sigma_beta2_shape` and
        `sigma_beta2_scale` (None: by the rule, 0.05 for gaussian and poisson, 0.3 for bernoulli, and up to
        201 times as much for p >> n, where factors are flat).
    v, q_lambda : float
        The noise variance is inverse gamma (v/2, v lambda/2), lambda such that it stays below the residual
        variance of a linear fit with probability q_lambda.
    intercept_sd : float
        Standard deviation of the normal prior of the intercept around link(mean y).
    b_gamma_shape, sigma_beta2_shape : float
        Hyperparameters of the learned scales.
    b_gamma_scale, sigma_beta2_scale : float or None
        See `b_gamma` and `sigma_beta2`. None: by the rule.
    """

    K_max: int = 100
    C0: float = 0.005
    alpha_adding: float = 0.95
    gamma_adding: float = 2.0
    max_order: int = 8
    a_gamma: float | None = None
    b_gamma: float | None = None
    sigma_beta2: float | None = None
    v: float = 3.0
    q_lambda: float = 0.95
    intercept_sd: float = 10.0
    b_gamma_shape: float = 2.0
    b_gamma_scale: float | None = None
    sigma_beta2_shape: float = 2.0
    sigma_beta2_scale: float | None = None

    def __post_init__(self) -> None:
        for name in ("K_max", "max_order"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"Prior.{name} must be a whole number from 1 on, got {value!r}")
        if self.max_order > 64:
            raise ValueError(f"Prior.max_order must be at most 64, got {self.max_order}")
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            may_be_none = name in ("a_gamma", "b_gamma", "b_gamma_scale", "sigma_beta2", "sigma_beta2_scale")
            if value is None and may_be_none:
                continue
            at_least_zero = name in ("C0", "gamma_adding")
            if not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
                raise ValueError(f"Prior.{name} must be a finite number, got {value!r}")
            if value < 0 or (value == 0 and not at_least_zero):
                raise ValueError(f"Prior.{name} must be positive, got {value!r}")
        for name in ("alpha_adding", "q_lambda"):
            if not getattr(self, name) < 1:
                raise ValueError(f"Prior.{name} must be below 1, got {getattr(self, name)!r}")

    def resolved(self, n_rows: int, n_features: int, family: str) -> Prior:
        """Prior with the rule's numbers where it leaves them open.

        The prior mean of a factor's scale is s = 0.06 for p <= n and clip((70 / n)^2, 0.06, 2) for p >= 10 n,
        in between on a line in log(p / n). With s go the shape a_gamma, on a line from 1 (s = 0.06) to 5
        (s = 2); b_gamma_scale = s / a_gamma; and sigma_beta2_scale, times 1 + 50 (s^2 - 0.06^2).

        A prior that leaves nothing open is returned as it is.
        """
        mean = typical_scale(n_rows, n_features)
        smoothness = (mean - SHARP) / (SMOOTH - SHARP)
        shape = self.a_gamma
        if shape is None:
            shape = SHARP_SHAPE + (SMOOTH_SHAPE - SHARP_SHAPE) * smoothness
        scale = self.b_gamma_scale
        if scale is None:
            # By the rule's own shape: a user's a_gamma changes the mean, as it does with a fixed scale.
            scale = mean / (SHARP_SHAPE + (SMOOTH_SHAPE - SHARP_SHAPE) * smoothness)
        variance = self.sigma_beta2_scale
        if variance is None:
            variance = SIGMA_BETA2_SCALE[family] * (1.0 + FLATTENING * (mean**2 - SHARP**2))
        return replace(self, a_gamma=shape, b_gamma_scale=scale, sigma_beta2_scale=variance)

    def order_weights(self, n_features: int) -> np.ndarray:
        """Prior probability of order d at index d - 1, over d <= min(p, max_order)."""
        orders = np.arange(1, min(n_features, self.max_order) + 1)
        adding = self.alpha_adding * (1.0 + orders) ** -self.gamma_adding
        before = np.concatenate([[1.0], np.cumprod(adding)[:-1]])
        weights = (1.0 - adding) * before
        return weights / weights.sum()

    def log_set_prior(self, n_features: int) -> np.ndarray:
        """Log prior probability of one particular set of d features at index d, minus infinity at 0."""
        weights = self.order_weights(n_features)
        log_sets = [
            lgamma(n_features + 1) - lgamma(d + 1) - lgamma(n_features - d + 1)
            for d in range(1, len(weights) + 1)
        ]
        return np.concatenate([[-np.inf], np.log(weights) - log_sets])

    def count_weights(self, n_rows: int) -> np.ndarray:
        """Prior probability of K = 0 ... K_max."""
        log_weights = -self.C0 * np.log(max(n_rows, 1)) * np.arange(self.K_max + 1)
        weights = np.exp(log_weights - log_weights.max())
        return weights / weights.sum()

    def beta_variance_scale(self, family: str) -> float:
        """Scale of the inverse gamma prior of sigma_beta2; that of n >= p if left to the rule."""
        return SIGMA_BETA2_SCALE[family] if self.sigma_beta2_scale is None else self.sigma_beta2_scale

    def fixed_b_gamma(self) -> float:
        """b_gamma, or the prior mean of a learned one: where it starts and where it is held."""
        if self.b_gamma is not None:
            return float(self.b_gamma)
        scale = SHARP / SHARP_SHAPE if self.b_gamma_scale is None else self.b_gamma_scale
        return scale / max(self.b_gamma_shape - 1.0, 0.5)

    def fixed_sigma_beta2(self, family: str) -> float:
        """sigma_beta2, or the prior mean of a learned one."""
        if self.sigma_beta2 is not None:
            return float(self.sigma_beta2)
        return self.beta_variance_scale(family) / max(self.sigma_beta2_shape - 1.0, 0.5)

    def noise_scale(self, residual_variance: float) -> float:
        """Lambda with P(eta <= residual_variance) = q_lambda."""
        from scipy.special import gammaincinv

        # eta <= r  <=>  gamma(v/2) >= v lambda / (2 r)
        quantile = float(gammaincinv(self.v / 2.0, 1.0 - self.q_lambda))
        return 2.0 * residual_variance * quantile / self.v


def typical_scale(n_rows: int, n_features: int) -> float:
    """Prior mean of a factor's scale by the rule of `Prior.resolved`."""
    n, p = max(n_rows, 1), max(n_features, 1)
    wideness = min(max(np.log(p / n) / np.log(WIDE_RATIO), 0.0), 1.0)
    wide = min(max((UNIT_ROWS / n) ** 2, SHARP), SMOOTH)
    return float(SHARP + (wide - SHARP) * wideness)


@dataclass(frozen=True)
class PriorTerm:
    """One term: features (d,), b (d,), gamma (d,), beta."""

    features: np.ndarray
    b: np.ndarray
    gamma: np.ndarray
    beta: float


@dataclass(frozen=True)
class PriorDraw:
    """One state from the prior, on the internal scale of the response."""

    terms: tuple[PriorTerm, ...]
    intercept: float
    nuisance: float
    b_gamma: float
    sigma_beta2: float


def sample(
    prior: Prior,
    rng: np.random.Generator,
    n_rows: int,
    n_features: int,
    family: str = "gaussian",
    noise_scale: float = 1.0,
    intercept_mean: float = 0.0,
) -> PriorDraw:
    """Draw one state from the prior.

    Parameters
    ----------
    prior : Prior
    rng : numpy.random.Generator
    n_rows, n_features : int
        Rows (they enter the prior of K) and encoded features.
    family : str
        Decides the prior of sigma_beta2 and whether there is a nuisance.
    noise_scale : float
        Lambda of the noise variance's prior.
    intercept_mean : float
        Mean of the intercept's prior.
    """
    prior = prior.resolved(n_rows, n_features, family)
    assert prior.a_gamma is not None
    assert prior.b_gamma_scale is not None

    def inverse_gamma(shape: float, scale: float) -> float:
        return scale / rng.gamma(shape)

    b_gamma = prior.b_gamma
    if b_gamma is None:
        b_gamma = inverse_gamma(prior.b_gamma_shape, prior.b_gamma_scale)
    sigma_beta2 = prior.sigma_beta2
    if sigma_beta2 is None:
        sigma_beta2 = inverse_gamma(prior.sigma_beta2_shape, prior.beta_variance_scale(family))
    nuisance = inverse_gamma(prior.v / 2.0, prior.v * noise_scale / 2.0) if family == "gaussian" else 1.0
    orders = prior.order_weights(n_features)
    terms = []
    for _ in range(rng.choice(prior.K_max + 1, p=prior.count_weights(n_rows))):
        d = 1 + rng.choice(len(orders), p=orders)
        terms.append(
            PriorTerm(
                features=rng.choice(n_features, size=d, replace=False).astype(np.int32),
                b=rng.random(d),
                gamma=rng.gamma(prior.a_gamma, b_gamma, size=d),
                beta=float(rng.normal(0.0, np.sqrt(sigma_beta2))),
            )
        )
    intercept = float(rng.normal(intercept_mean, prior.intercept_sd))
    return PriorDraw(tuple(terms), intercept, float(nuisance), float(b_gamma), float(sigma_beta2))
