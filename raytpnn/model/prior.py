"""The prior: many small, bounded terms; the paper's own; and a sampler of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lgamma
from typing import Any

import numpy as np

from raytpnn.families import get_family
from raytpnn.model.limits import MOST_TERMS, MOST_VARIABLES

__all__ = ["Prior", "PriorDraw", "PriorTerm", "sample"]

# Prior mean of a factor's scale, in ranks: with rows enough, and at most where features outnumber rows.
SHARP, SMOOTH = 0.12, 2.0
# Rows at which the mean scale of wide data has come down to 1; it falls with their square.
UNIT_ROWS = 70.0
# Shape of the scales' prior at SHARP, where very sharp steps are free, and at SMOOTH, where they are not.
SHARP_SHAPE, SMOOTH_SHAPE = 1.0, 5.0
# Features a row from which on data count as fully wide.
WIDE_RATIO = 10.0


LEFT_TO_THE_RULE = (
    "a_gamma",
    "b_gamma",
    "b_gamma_scale",
    "b_gamma_shape",
    "sigma_beta2",
    "sigma_beta2_scale",
    "sigma_beta2_shape",
)


@dataclass(frozen=True)
class Prior:
    """Prior of a Bayesian tensor product neural network, on the standardised response.

    A term is bounded: its prior is on its height, the most that it can add to the fit of any training row,
    not on the coefficient of a basis function that may be large on a few rows. Many small terms then do the
    work of a few large ones. Small terms are exchanged easily, so that chains meet. Terms may share their
    sets (`sharing`): then a component pays for its set once, however many terms it is made of, and a state
    holds few sets, but chains need longer to meet.

    Some numbers may be left to a rule in the numbers of rows n and features p (None; see `resolved`). With
    p >> n, factors are smooth. A step that sets a few of some tens of rows apart is found by chance among
    thousands of features; a slope over all ranks is not.

    Attributes
    ----------
    K_max : int
        Most terms a state may hold, at most 1,024.
    C0 : float
        Penalty on terms: the prior of K is proportional to exp(-C0 K log n).
    alpha_adding, gamma_adding : float
        A term of order d goes on to order d + 1 with probability alpha_adding (1 + d)^-gamma_adding.
    max_order : int
        Highest order of a term, at most 16.
    bounded : bool
        Whether `sigma_beta2` is the variance of a term's height (True) or of its coefficient (False).
    sharing : float
        A term's set is S with a probability proportional to P(S) + sharing times the number of other terms on
        S, where P is the prior of one set by itself. 0: sets are independent. With about 10 / p, features
        and interactions that are nothing but noise are seldom held by half of the draws.
    a_gamma : float or None
        Shape of the gamma prior of a factor's scale. None: by the rule, 1 (n >= p) to 5 (p >> n, n <= 50).
    b_gamma : float or None
        Scale of that prior. None: by the rule, 0.12 (n >= p) to 0.4 (p >> n, n <= 50); or learned, if
        `b_gamma_shape` is given.
    sigma_beta2 : float or None
        Variance of a term's height, or of its coefficient. None: by the rule, 0.03 for gaussian and poisson,
        0.1 for bernoulli, and up to 30 times as much for bernoulli with p >> n; or learned, if
        `sigma_beta2_shape` is given.
    v, q_lambda : float
        The noise variance is inverse gamma (v/2, v lambda/2), lambda such that it stays below the residual
        variance of a linear fit with probability q_lambda.
    intercept_sd : float
        Standard deviation of the normal prior of the intercept around link(mean y).
    b_gamma_shape, b_gamma_scale, sigma_beta2_shape, sigma_beta2_scale : float or None
        Of inverse gamma priors of b_gamma and sigma_beta2, which are learned if a shape is given. With a
        small shape they wander slowly, and sigma_beta2 runs off to few and large terms: chains take long to
        meet. Scale None: the mean is the rule's.
    """

    K_max: int = 100
    C0: float = 0.0
    alpha_adding: float = 0.95
    gamma_adding: float = 2.0
    max_order: int = 8
    bounded: bool = True
    sharing: float = 0.0
    a_gamma: float | None = None
    b_gamma: float | None = None
    sigma_beta2: float | None = None
    v: float = 3.0
    q_lambda: float = 0.95
    intercept_sd: float = 10.0
    b_gamma_shape: float | None = None
    b_gamma_scale: float | None = None
    sigma_beta2_shape: float | None = None
    sigma_beta2_scale: float | None = None

    def __post_init__(self) -> None:
        for name in ("K_max", "max_order"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"Prior.{name} must be a whole number from 1 on, got {value!r}")
        for name, most in (("K_max", MOST_TERMS), ("max_order", MOST_VARIABLES)):
            if getattr(self, name) > most:
                raise ValueError(f"Prior.{name} can be at most {most}, got {getattr(self, name)}")
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name == "bounded":
                if not isinstance(value, (bool, np.bool_)):
                    raise ValueError(f"Prior.bounded must be True or False, got {value!r}")
                continue
            if value is None and name in LEFT_TO_THE_RULE:
                continue
            at_least_zero = name in ("C0", "gamma_adding", "sharing")
            if not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
                raise ValueError(f"Prior.{name} must be a finite number, got {value!r}")
            if value < 0 or (value == 0 and not at_least_zero):
                raise ValueError(f"Prior.{name} must be positive, got {value!r}")
        for name in ("alpha_adding", "q_lambda"):
            if not getattr(self, name) < 1:
                raise ValueError(f"Prior.{name} must be below 1, got {getattr(self, name)!r}")
        for name in ("b_gamma", "sigma_beta2"):
            scale = getattr(self, f"{name}_scale")
            if scale is not None and getattr(self, f"{name}_shape") is None:
                raise ValueError(
                    f"Prior.{name}_scale={scale!r} is for a learned {name}: give {name}_shape, too, "
                    f"or a fixed {name} instead"
                )

    @classmethod
    def paper(cls) -> Prior:
        """The published prior: unbounded terms, independent sets, scales from the middle of its grid."""
        return cls(
            K_max=200, C0=0.005, bounded=False, sharing=0.0, a_gamma=2.0, b_gamma=0.005, sigma_beta2=0.001
        )

    def resolved(self, n_rows: int, n_features: int, family: str) -> Prior:
        """Prior with the rule's numbers where it leaves them open.

        The prior mean of a factor's scale is s = 0.12 for p <= n and clip((70 / n)^2, 0.12, 2) for p >= 10 n,
        in between on a line in log(p / n). With s go the shape a_gamma, on a line from 1 (s = 0.12) to 5
        (s = 2), and b_gamma = s / a_gamma. The variance of a height for bernoulli is 0.1 for p <= n and
        3 for p >= 10 n, in between on a line in the logarithms.

        A prior that leaves nothing open is returned as it is.
        """
        likelihood = get_family(family)
        mean = typical_scale(n_rows, n_features)
        smoothness = (mean - SHARP) / (SMOOTH - SHARP)
        shape = self.a_gamma
        if shape is None:
            shape = SHARP_SHAPE + (SMOOTH_SHAPE - SHARP_SHAPE) * smoothness
        rule = {
            # By the rule's own shape: a user's a_gamma changes the mean of a factor's scale.
            "b_gamma": mean / (SHARP_SHAPE + (SMOOTH_SHAPE - SHARP_SHAPE) * smoothness),
            "sigma_beta2": likelihood.sigma_beta2
            * likelihood.wide_sigma_beta2 ** wideness(n_rows, n_features),
        }
        changes: dict[str, Any] = {"a_gamma": shape}
        for name, value in rule.items():
            if self.learns(name):
                if getattr(self, f"{name}_scale") is None:
                    changes[f"{name}_scale"] = value * max(getattr(self, f"{name}_shape") - 1.0, 0.5)
            elif getattr(self, name) is None:
                changes[name] = value
        return replace(self, **changes)

    def learns(self, name: str) -> bool:
        """Whether b_gamma or sigma_beta2 is learned."""
        return getattr(self, name) is None and getattr(self, f"{name}_shape") is not None

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

    def start(self, name: str) -> float:
        """b_gamma or sigma_beta2 of a resolved prior; of a learned one its mean, where it starts."""
        if not self.learns(name):
            return float(getattr(self, name))
        return getattr(self, f"{name}_scale") / max(getattr(self, f"{name}_shape") - 1.0, 0.5)

    def noise_scale(self, residual_variance: float) -> float:
        """Lambda with P(eta <= residual_variance) = q_lambda."""
        from scipy.special import gammaincinv

        # eta <= r  <=>  gamma(v/2) >= v lambda / (2 r)
        quantile = float(gammaincinv(self.v / 2.0, 1.0 - self.q_lambda))
        return 2.0 * residual_variance * quantile / self.v


def wideness(n_rows: int, n_features: int) -> float:
    """How far features outnumber rows: 0 for p <= n, 1 for p >= 10 n, in between a line in log(p / n)."""
    ratio = max(n_features, 1) / max(n_rows, 1)
    return float(min(max(np.log(ratio) / np.log(WIDE_RATIO), 0.0), 1.0))


def typical_scale(n_rows: int, n_features: int) -> float:
    """Prior mean of a factor's scale by the rule of `Prior.resolved`."""
    wide = min(max((UNIT_ROWS / max(n_rows, 1)) ** 2, SHARP), SMOOTH)
    return float(SHARP + (wide - SHARP) * wideness(n_rows, n_features))


@dataclass(frozen=True)
class PriorTerm:
    """One term: features (d,), b (d,), gamma (d,), beta; with a bounded prior, beta is its height."""

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

    def inverse_gamma(shape: float, scale: float) -> float:
        return scale / rng.gamma(shape)

    def scale_of(name: str) -> float:
        if not prior.learns(name):
            return float(getattr(prior, name))
        return inverse_gamma(getattr(prior, f"{name}_shape"), getattr(prior, f"{name}_scale"))

    b_gamma, sigma_beta2 = scale_of("b_gamma"), scale_of("sigma_beta2")
    dispersion = get_family(family).dispersion
    nuisance = inverse_gamma(prior.v / 2.0, prior.v * noise_scale / 2.0) if dispersion else 1.0
    orders = prior.order_weights(n_features)
    terms: list[PriorTerm] = []
    for k in range(rng.choice(prior.K_max + 1, p=prior.count_weights(n_rows))):
        if rng.random() * (1.0 + prior.sharing * k) < prior.sharing * k:
            features = terms[rng.integers(k)].features
        else:
            d = 1 + rng.choice(len(orders), p=orders)
            features = rng.choice(n_features, size=d, replace=False).astype(np.int32)
        d = len(features)
        terms.append(
            PriorTerm(
                features=features,
                b=rng.random(d),
                gamma=rng.gamma(prior.a_gamma, b_gamma, size=d),
                beta=float(rng.normal(0.0, np.sqrt(sigma_beta2))),
            )
        )
    intercept = float(rng.normal(intercept_mean, prior.intercept_sd))
    return PriorDraw(tuple(terms), intercept, float(nuisance), float(b_gamma), float(sigma_beta2))
