"""What a family of responses has to say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["DERIVATIVES", "LIKELIHOOD", "MOST_OUTPUTS", "ExponentialFamily", "Family", "standardisation"]

# What a compiled `rows` kernel is asked for; the two may be added.
DERIVATIVES = 1
LIKELIHOOD = 2
# Functions of a row that a state has room for.
MOST_OUTPUTS = 128


class Family(ABC):
    """The law of a response y given the latent f and, if there is one, a dispersion eta.

    A dispersion divides the log-likelihood of a row,

        log q(y) = l(y, f) / eta - log(dispersion_unit * eta) / dispersion_exponent,

    and is drawn from its inverse gamma conditional; or it stands anywhere in l(y, f, eta)
    (`dispersion_in_rows`), which then holds all that depends on it, and is drawn by a Metropolis step.

    Attributes
    ----------
    name : str
        By which users ask for it; an identifier.
    code : int
        Number of the family in compiled code and in saved runs: never changed, never used twice.
    description : str
        What the response is and what effects add up to, for the report.
    kernel : compiled function
        `rows(y, f, w, dispersion, score, curvature, loglik, need)` writes for every row w dl/df, w times a
        positive curvature, -d2l/df2 or what stands for it in proposals, and w l. `need` says which of them:
        DERIVATIVES, LIKELIHOOD or both; `curvature` may be used as scratch space. Only + - x / sqrt and the
        functions of `raytpnn.numerics.elementary`, so that every execution rounds alike.
    cuda : Path or None
        Header with `NAME_row(y, f, w, dispersion, need)`, the same for CUDA; by default that of
        `kernels/families`. Without one, backend "cuda" is refused.
    quadratic : bool
        Whether l is quadratic in f with a curvature that does not depend on f: conditionals of
        coefficients are then normal, and drawn exactly.
    outputs : tuple of str or None
        Names of the functions of a row whose terms the law is made of: their `f` is an array of records with
        these fields. None: one function, whose f is an array of numbers. See `raytpnn.families.outputs`.
    shift_invariant : bool
        Whether one number added to all outputs changes nothing.
    dispersion : bool
        Whether eta is a parameter; otherwise it is 1.
    dispersion_in_rows : bool
        Whether it stands in the rows' log-likelihood instead of dividing it.
    dispersion_unit, dispersion_exponent : float
        See above; the unit of eta is that of the response to the power of the exponent.
    dispersion_name : str
    discrete : bool
        Whether responses are whole numbers.
    binary : bool
        Whether responses are 0 and 1: two classes.
    labelled : bool
        Whether responses are classes, numbered from 0: of labels that the user has given, perhaps.
    identity_mean : bool
        Whether the expected response is f itself.
    censored : bool
        Whether responses are times until an event, negative where they were cut short before it.
    in_intervals : bool
        Whether a row is one interval of a person's time: see `raytpnn.data.survival`.
    sigma_beta2, wide_sigma_beta2 : float
        Variance of a term's height by the default prior, on the internal scale of the response; and how many
        times larger it is where features outnumber rows.
    boosting_objective : str
        Of the XGBoost model behind `feature_weights="xgboost"`.
    scores : tuple of str
        Scores of held-out rows, the one that matters most first.
    statistics : tuple of str
        What a posterior predictive check compares.
    tail : float
        Probability left out on either side of the range over which a CRPS is integrated or summed; larger for
        heavy tails, whose range would be endless.
    guess_order : int
        When the family is tried by `guess`: the smallest first.
    add_mean : compiled function or None
        `add_mean(sums, intercept, offset, total)` adds the mean response of a group of draws to a total, see
        `raytpnn.forward.mean_response`; only a matter of speed.
    """

    name: str
    code: int
    description: str
    kernel: Callable[..., None]
    cuda: Path | None = None
    quadratic: bool = False
    outputs: tuple[str, ...] | None = None
    shift_invariant: bool = False
    dispersion: bool = False
    dispersion_in_rows: bool = False
    dispersion_unit: float = 1.0
    dispersion_exponent: float = 2.0
    dispersion_name: str = "dispersion"
    discrete: bool = False
    binary: bool = False
    labelled: bool = False
    identity_mean: bool = False
    censored: bool = False
    in_intervals: bool = False
    sigma_beta2: float = 0.03
    wide_sigma_beta2: float = 1.0
    boosting_objective: str = "reg:squarederror"
    scores: tuple[str, ...] = ("rmse", "nll", "crps")
    statistics: tuple[str, ...] = ("mean", "sd", "min", "max", "log_loss")
    tail: float = 1e-12
    guess_order: int = 100
    add_mean: Callable[..., None] | None = None

    # The response.

    def with_classes(self, classes: tuple[Any, ...] | None) -> Family:
        """The family of a response with these classes: the same, unless there is an output for each."""
        return self

    def problem(self, y: np.ndarray) -> str | None:
        """What makes y impossible under this family, naming the first bad value; None if nothing does."""
        return None

    def guess(self, values: np.ndarray, distinct: Any, numeric: bool) -> str | None:
        """Why a target of these known values suits this family; None if another one is to be taken."""
        return None

    def scaling(self, y: np.ndarray) -> tuple[float, float]:
        """Location and scale by which a response, net of its offset, is standardised inside."""
        return 0.0, 1.0

    # Where chains start.

    @property
    def n_outputs(self) -> int:
        """Number of functions of a row."""
        return 1 if self.outputs is None else len(self.outputs)

    @property
    def quadratic_outputs(self) -> tuple[bool, ...]:
        """By output, whether l is quadratic in it with a curvature that may depend on the others alone."""
        return (self.quadratic,) * self.n_outputs

    def starts(self, y: np.ndarray, offset: np.ndarray) -> tuple[float, ...]:
        """`start` of every output."""
        return (self.start(y, offset),)

    def null_curvatures(
        self, starts: tuple[float, ...], offset: np.ndarray, dispersion: float
    ) -> tuple[float, ...]:
        """Mean curvature of a row in every output where chains start; times eta if eta divides."""
        return (float(np.mean(self.information(starts[0] + offset, dispersion))),)

    def user_outputs(self, location: float, scale: float) -> tuple[tuple[float, float], ...]:
        """By output, (shift, factor) from the scale that chains see to the user's: shift + factor * f."""
        return ((location, scale),)

    @abstractmethod
    def start(self, y: np.ndarray, offset: np.ndarray) -> float:
        """Prior mean of the intercept, where chains start: about the link of the mean, net of the offset."""

    def pilot(self, y: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """What a linear fit is made to, to see how large a dispersion is and which features say something."""
        return y - offset

    def dispersion_start(self, variance: float) -> float:
        """Dispersion of rows whose `pilot` has that variance around its linear fit."""
        return variance

    # Likelihood and derivatives.

    @abstractmethod
    def reference_rows(
        self, y: np.ndarray, f: np.ndarray, w: np.ndarray, dispersion: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `kernel` writes (score, curvature, loglik), in NumPy and bit by bit: its reference."""

    @abstractmethod
    def information(self, f: np.ndarray, dispersion: float = 1.0) -> np.ndarray:
        """Information of a row about f, or what stands for it; times eta if eta divides."""

    def log_constant(self, y: np.ndarray, w: np.ndarray) -> float:
        """Weighted sum of what in the log-likelihood depends on y alone, and the kernel leaves out."""
        return 0.0

    def log_likelihood(
        self, rows: np.ndarray, nuisance: np.ndarray, weight_sum: float, scale: float
    ) -> np.ndarray:
        """Log-likelihood on the scale of the user's response, but for `log_constant`, from sums over rows."""
        if not self.dispersion or self.dispersion_in_rows:
            return rows - weight_sum * np.log(scale)
        spread = np.log(self.dispersion_unit * nuisance * scale**self.dispersion_exponent)
        return rows / nuisance - 1.0 / self.dispersion_exponent * weight_sum * spread

    def user_dispersion(self, nuisance: np.ndarray, scale: float) -> np.ndarray:
        """Dispersion of a response of that scale from that of the standardised one."""
        return nuisance * scale**self.dispersion_exponent

    # The predictive law.

    @abstractmethod
    def mean(self, f: np.ndarray) -> np.ndarray:
        """Expected response."""

    @abstractmethod
    def variance(self, f: np.ndarray, nuisance: np.ndarray | float = 1.0) -> np.ndarray:
        """Variance of the response."""

    @abstractmethod
    def link(self, mean: float) -> float:
        """The f of a given expected response."""

    @abstractmethod
    def log_density(self, y: np.ndarray, f: np.ndarray, nuisance: np.ndarray | float) -> np.ndarray:
        """Log q(y), broadcasting over all three arguments."""

    @abstractmethod
    def cdf(self, y: np.ndarray, f: np.ndarray, nuisance: np.ndarray | float) -> np.ndarray:
        """P(Y <= y)."""

    @abstractmethod
    def quantile(self, u: np.ndarray, f: np.ndarray, nuisance: np.ndarray | float) -> np.ndarray:
        """Smallest y with P(Y <= y) >= u."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, f: np.ndarray, nuisance: np.ndarray | float) -> np.ndarray:
        """Draw responses."""

    def point_score(self, y: np.ndarray, mean: np.ndarray) -> float:
        """Error of predicted means, the first of `scores`, of responses that are not classes."""
        return float(np.sqrt(np.mean((np.asarray(y) - np.asarray(mean)) ** 2)))

    def noise(self, nuisance: np.ndarray) -> tuple[str, np.ndarray]:
        """Dispersion as the report shows it: what it is, and its values."""
        return self.dispersion_name.capitalize(), nuisance


class ExponentialFamily(Family):
    """Density q(y) = exp((f y - A(f)) / eta + S(y, eta)) in the natural parameter f.

    The mean is A'(f) and the variance A''(f) eta, so that score and curvature follow from them.
    """

    @abstractmethod
    def row_loglik(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Eta * log q(y), up to what does not depend on f."""

    def reference_rows(self, y, f, w, dispersion):
        """Weighted y - A'(f), A''(f) and log-likelihood."""
        return w * (y - self.mean(f)), w * self.variance(f), w * self.row_loglik(y, f)

    def information(self, f, dispersion=1.0):
        """A''(f)."""
        return self.variance(f)


def standardisation(y: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of a response."""
    location = float(y.mean())
    scale = float(y.std())
    # Beyond float precision a spread is rounding noise: a constant response is left unscaled.
    if not scale > 1e-12 * max(1.0, abs(location)):
        scale = 1.0
    return location, scale
