"""What a family of responses has to say."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

__all__ = ["DERIVATIVES", "LIKELIHOOD", "Family"]

# What a compiled `rows` kernel is asked for; the two may be added.
DERIVATIVES = 1
LIKELIHOOD = 2


class Family(ABC):
    """Exponential family q(y) = exp((f y - A(f)) / eta + S(y, eta)) in the natural parameter f.

    Each subclass stands in a file of its own, with a compiled kernel
    `rows(y, f, w, score, curvature, loglik, need)` that writes per row w (y - A'(f)), w A''(f) and the part
    of the log-likelihood that depends on f, times eta. `dispatch.py` names the kernels.

    Attributes
    ----------
    name : str
    code : int
        Number of the family in compiled code.
    has_nuisance : bool
        Whether eta is a parameter; otherwise it is 1.
    discrete : bool
        Whether responses are whole numbers.
    binary : bool
        Whether responses are 0 and 1: two classes.
    identity_mean : bool
        Whether the expected response is f itself.
    """

    name: str
    code: int
    has_nuisance: bool = False
    discrete: bool = False
    binary: bool = False
    identity_mean: bool = False

    @abstractmethod
    def mean(self, f: np.ndarray) -> np.ndarray:
        """A'(f): the expected response."""

    @abstractmethod
    def variance(self, f: np.ndarray) -> np.ndarray:
        """A''(f): the variance of the response divided by eta."""

    @abstractmethod
    def link(self, mean: float) -> float:
        """Natural parameter with the given mean."""

    @abstractmethod
    def row_loglik(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Eta * log q(y), up to what does not depend on f: the reference of the compiled kernel."""

    @abstractmethod
    def log_constant(self, y: np.ndarray, w: np.ndarray) -> float:
        """Weighted sum of what in the log-likelihood depends on y alone."""

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

    @abstractmethod
    def problem(self, y: np.ndarray) -> str | None:
        """What makes y impossible under this family, naming the first bad value; None if nothing does."""
