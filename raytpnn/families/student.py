"""Numbers with outliers: f is the middle of a Student t law, eta its squared scale."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, Family, standardisation
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import log
from raytpnn.numerics.jit import internal

__all__ = ["DEGREES", "Student"]

# The usual choice for robust regression: tails that forgive outliers, a variance that is finite.
DEGREES = 4.0


def kernel_of(degrees: float) -> Callable[..., None]:
    """Compile the rows of a law with so many degrees of freedom."""
    power = 0.5 * (degrees + 1.0)
    information = (degrees + 1.0) / (degrees + 3.0)

    @internal
    def rows(y, f, w, dispersion, score, curvature, loglik, need):
        """Score, expected information and log-likelihood of one block of rows."""
        spread = degrees * dispersion
        if need & DERIVATIVES:
            for i in range(len(y)):
                residual = y[i] - f[i]
                score[i] = w[i] * ((2.0 * power) * residual / (spread + residual * residual))
                curvature[i] = w[i] * (information / dispersion)
        if need & LIKELIHOOD:
            half_log = 0.5 * log(dispersion)
            for i in range(len(y)):
                residual = y[i] - f[i]
                loglik[i] = w[i] * (-power * log(1.0 + residual * residual / spread) - half_log)

    return rows


class Student(Family):
    """(Y - f) / sqrt(eta) has Student's t distribution.

    Minus the second derivative is negative far out: the expected information stands for it in proposals, and
    every acceptance ratio holds the proposal's density.

    Parameters
    ----------
    degrees : float
        Degrees of freedom, above 2 for a finite variance. The family "student" has 4. To fit another number,
        register it: `raytpnn.families.register(Student(8.0, "student8", 1008))`; `post.loo()` compares.
    name : str
        Of the family with that number.
    code : int
        Likewise.
    """

    name = "student"
    code = 3
    description = (
        "Numbers with heavy-tailed noise (student), which outliers do not rule. Effects add up to the mean "
        "response."
    )
    dispersion = True
    dispersion_in_rows = True
    dispersion_name = "squared scale of the noise"
    identity_mean = True
    tail = 1e-5

    def __init__(self, degrees: float = DEGREES, name: str = "student", code: int = 3):
        if not degrees > 2.0:
            raise ValueError(f"degrees must be above 2, so that the noise has a variance, got {degrees!r}")
        if (name == "student") != (degrees == DEGREES):
            raise ValueError(f"family 'student' has {DEGREES:g} degrees of freedom: {degrees:g} need a name")
        self.degrees, self.name, self.code = float(degrees), name, code
        self.kernel = kernel_of(self.degrees)

    def scaling(self, y):
        """Mean and standard deviation."""
        return standardisation(y)

    def start(self, y, offset):
        """Median."""
        return float(np.median(y - offset))

    def dispersion_start(self, variance):
        """Squared scale of a law of that variance."""
        return variance * (self.degrees - 2.0) / self.degrees

    def reference_rows(self, y, f, w, dispersion):
        """Weighted score, expected information and log-likelihood."""
        power = 0.5 * (self.degrees + 1.0)
        residual, spread = y - f, self.degrees * dispersion
        score = w * ((2.0 * power) * residual / (spread + residual * residual))
        half_log = 0.5 * elementary_numpy.log(dispersion)
        loglik = -power * elementary_numpy.log(1.0 + residual * residual / spread) - half_log
        information = (self.degrees + 1.0) / (self.degrees + 3.0)
        return score, w * (information / dispersion), w * loglik

    def information(self, f, dispersion=1.0):
        """Expected information."""
        return np.full_like(f, (self.degrees + 1.0) / ((self.degrees + 3.0) * dispersion))

    def log_constant(self, y, w):
        """Logarithm of the law's normalising constant, once a row."""
        from scipy.special import gammaln

        degrees = self.degrees
        constant = gammaln(0.5 * (degrees + 1.0)) - gammaln(0.5 * degrees) - 0.5 * np.log(np.pi * degrees)
        return float(w.sum()) * float(constant)

    def mean(self, f):
        """The middle."""
        return f

    def variance(self, f, nuisance=1.0):
        """Squared scale times degrees / (degrees - 2)."""
        return np.ones_like(f) * nuisance * (self.degrees / (self.degrees - 2.0))

    def link(self, mean):
        """Identity."""
        return mean

    def log_density(self, y, f, nuisance):
        """Student log density."""
        one = np.ones(1)
        spread = self.degrees * nuisance
        log_ratio = np.log1p((y - f) ** 2 / spread)
        return self.log_constant(one, one) - 0.5 * (self.degrees + 1.0) * log_ratio - 0.5 * np.log(nuisance)

    def cdf(self, y, f, nuisance):
        """Student distribution function."""
        from scipy.special import stdtr

        return stdtr(self.degrees, (y - f) / np.sqrt(nuisance))

    def quantile(self, u, f, nuisance):
        """Student quantile."""
        from scipy.special import stdtrit

        return f + np.sqrt(nuisance) * stdtrit(self.degrees, u)

    def sample(self, rng, f, nuisance):
        """Student draws."""
        shape = np.broadcast(f, nuisance).shape
        return f + np.sqrt(nuisance) * rng.standard_t(self.degrees, shape)

    def noise(self, nuisance):
        """Its scale."""
        return f"Noise, scale of a t law with {self.degrees:g} degrees of freedom", np.sqrt(nuisance)
